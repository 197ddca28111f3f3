#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/core/registry.h"
#include "kith/data/image_list.h"
#include "kith/eval/scored.h"

namespace kith {

/// Who is searched among whom, as positions in the data set's list, rising.
struct EvalTask {
  std::string name;  ///< "medium"; empty if the protocol has one task.
  std::vector<int64_t> queries;
  std::vector<int64_t> gallery;
  RelevanceLists lists = {};  ///< Positions in `gallery`; empty: by labels.
};

/// A named way to evaluate a data set.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Tasks of the same name are draws of one: their results are averaged.
  /// Throws DataError if the data set does not have what the protocol needs.
  virtual std::vector<EvalTask> tasks(const ImageList& list,
                                      Split split) const = 0;

  /// The metrics the protocol is published with; empty: the data set's usual
  /// ones.
  virtual std::vector<std::string> metrics() const { return {}; }
};

/// Images marked is_query searched among those marked is_gallery. DataError if
/// the list has no such marks; `protocol` is the one that wants them.
EvalTask query_gallery_task(const ImageList& list, Split split,
                            const std::string& protocol);

/// The right or junk answers of a query as positions in the gallery, which are
/// rising positions in the list. DataError if one is not there.
std::vector<int64_t> in_gallery(const std::vector<int64_t>& answers,
                                int64_t query,
                                const std::vector<int64_t>& gallery,
                                const ImageList& list);

/// The tasks of a split. Throws DataError if one has no queries or no gallery.
std::vector<EvalTask> eval_tasks(const Protocol& protocol,
                                 const ImageList& list, Split split);

/// The metrics of an evaluation that names none: the protocol's; or Recall@k,
/// with the k of the data set's publications, MAP@R and precision@1.
/// ConfigError for an unknown protocol.
std::vector<std::string> usual_metrics(const std::string& protocol,
                                       const std::string& data_set);

using ProtocolRegistry = Registry<Protocol>;
ProtocolRegistry& protocol_registry();

}  // namespace kith
