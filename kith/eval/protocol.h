#pragma once

#include <memory>
#include <vector>

#include "kith/core/registry.h"
#include "kith/data/image_list.h"

namespace kith {

/// Who is searched among whom, as positions in the data set's list.
struct QuerySets {
  std::vector<int64_t> queries;
  std::vector<int64_t> gallery;
};

/// A named way to evaluate a data set.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Throws DataError if the data set does not have what the protocol needs.
  virtual QuerySets sets(const ImageList& list, Split split) const = 0;
};

/// The sets of a split. Throws DataError if one is empty.
QuerySets query_sets(const Protocol& protocol, const ImageList& list,
                     Split split);

using ProtocolRegistry = Registry<Protocol>;
ProtocolRegistry& protocol_registry();

}  // namespace kith
