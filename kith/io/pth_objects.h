#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/io/pickle.h"
#include "kith/io/pth.h"

namespace kith::detail {

/// A storage as the pickle of torch.save names it.
struct PthStorage {
  std::string_view key;       ///< Text of the pickle.
  uint64_t size = 0;          ///< Bytes.
  uint64_t element_size = 1;  ///< Bytes.
};

/// Every storage that the pickle names, some more than once. DataError with
/// `path` for an id that is not one of a storage, and where ids and long keys
/// are so numerous that reading them all would take long.
std::vector<PthStorage> pth_storages(const Pickle& pickle,
                                     const std::string& path);

/// Every tensor in the dicts, lists and tuples of the pickle, as it describes
/// itself; nothing is checked against the file.
std::vector<PthTensor> pth_tensors(const Pickle& pickle,
                                   const std::string& path);

}  // namespace kith::detail
