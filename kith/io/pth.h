#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kith/core/file.h"
#include "kith/io/array.h"
#include "kith/io/zip.h"

namespace kith {

/// One tensor of a file of torch.save: a view of a storage, which other tensors
/// may share.
struct PthTensor {
  /// Keys from the outermost dict (or list) inwards: {"state_dict", "fc.bias"}.
  std::vector<std::string> path;
  std::string name;  ///< The path with "/" between: "state_dict/fc.bias".
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  ///< In elements, as many as dimensions.
  int64_t offset = 0;            ///< In elements, from the storage's start.
  std::string storage;           ///< Its key.
  /// Why it cannot be read (a sparse tensor, complex numbers); else empty.
  std::string problem;
};

/// A file of torch.save open for reading: the zip format of PyTorch 1.6 and
/// later, or the one before; or an archive of torch.jit.save, whose modules are
/// read as dicts and whose program is not read. The constructor reads the
/// pickle as data (see read_pickle), finds the tensors in its dicts, lists,
/// tuples and modules, and checks
/// that all lie within their storages and these within the file. Tensors are
/// read one at a time: a large file is never in memory as a whole.
class PthFile {
 public:
  /// DataError naming the file, and the tensor where there is one.
  explicit PthFile(const std::string& path);

  const std::string& path() const { return file_.path(); }

  /// In the order of the pickle; names are unique.
  const std::vector<PthTensor>& tensors() const { return tensors_; }

  /// nullptr if there is no such tensor.
  const PthTensor* find(const std::string& name) const;

  /// In C order, whatever the strides. DataError if there is no such tensor.
  Array read(const std::string& name) const;
  Array read(const PthTensor& tensor) const;

 private:
  struct Storage {
    uint64_t size = 0;    ///< Bytes.
    uint64_t offset = 0;  ///< In the file, for the older format.
    const ZipEntry* entry = nullptr;
  };

  void open_zip();
  void open_legacy();
  void index_tensors();
  void check_tensor(const PthTensor& tensor) const;
  void read_storage(const Storage& storage, uint64_t begin, size_t size,
                    void* out) const;

  FileReader file_;
  std::optional<ZipFile> zip_;
  std::unordered_map<std::string, Storage> storages_;
  std::vector<PthTensor> tensors_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace kith
