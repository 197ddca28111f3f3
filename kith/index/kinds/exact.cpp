#include "kith/index/kinds/exact.h"

#include <algorithm>
#include <filesystem>

#include <torch/torch.h>

#include "kith/index/flat_file.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

/// Rows that are copied at a time when an index is saved: 4 Mi numbers.
int64_t block_rows(int64_t dim) {
  return std::max<int64_t>((int64_t{1} << 22) / dim, 1);
}

/// All vectors as they are: the first read from where they are, if that is not
/// memory, the others in the memory of the device that searches.
class ExactIndex final : public VectorIndex {
 public:
  static constexpr const char* kSummary =
      "all vectors as they are; finds exactly the nearest";
  static constexpr PartFacts kFacts = {
      .formula = "s(q, x) = <q, x>",
      .cost = "4 D bytes a vector; a search reads all of them"};
  using Options = NoOptions;

  ExactIndex(const Options&, const VectorIndexInput& input) : dim_(input.dim) {
    TORCH_CHECK_VALUE(dim_ > 0, "an index needs a dimension, got ", dim_);
  }

  /// The vectors of a file.
  ExactIndex(const std::string& path, int64_t memory_mb, c10::Device device,
             const FileSums& sums)
      : device_(device) {
    const auto file = std::make_shared<const FlatFile>(path, sums);
    dim_ = file->dim();
    if (file->byte_size() <= memory_mb * (int64_t{1} << 20)) {
      room_ = file->read_all(device);
      used_ = file->count();
      return;
    }
    read_ = rows_from(file->count(), dim_, [file](int64_t first, int64_t rows) {
      return file->read(first, rows);
    });
    file_ = path;
  }

  int64_t count() const override {
    return (read_.defined() ? read_.count() : 0) + used_;
  }
  int64_t dim() const override { return dim_; }
  bool exact() const override { return true; }

  void add(const Tensor& rows) override {
    const Tensor block = check_index_rows(rows, dim_);
    const int64_t needed = used_ + block.size(0);
    const int64_t room = room_.defined() ? room_.size(0) : 0;
    if (needed > room) {
      // Half as much again, so that a row is copied a few times at most.
      Tensor larger =
          torch::empty({std::max(needed, room + room / 2), dim_}, device_);
      if (used_ > 0) larger.narrow(0, 0, used_).copy_(in_memory());
      room_ = larger;
    }
    room_.narrow(0, used_, block.size(0)).copy_(block);
    used_ = needed;
  }

  /// Rows that are not in memory stay where they are.
  void add_rows(const Rows& rows) override {
    TORCH_CHECK_VALUE(rows.dim() == dim_, "rows of this index must be [N, ",
                      dim_, "], got N of ", rows.dim());
    if (used_ > 0 || rows.in_memory().defined()) {
      VectorIndex::add_rows(rows);
      return;
    }
    read_ = read_.defined() ? joined_rows(read_, rows) : rows;
    file_.clear();
  }

  Neighbours search(const Tensor& queries, int64_t k) const override {
    const Tensor rows = check_index_rows(queries, dim_);
    if (count() == 0) {
      return {torch::empty({rows.size(0), 0}, at::kLong),
              torch::empty({rows.size(0), 0}, at::kFloat)};
    }
    SearchOptions options;
    options.k = k;
    return exact_search(rows.to(device_), this->rows(), {}, options);
  }

  Rows rows() const override {
    if (!read_.defined()) return in_memory();
    return (used_ == 0 ? read_ : joined_rows(read_, in_memory())).on(device_);
  }

  void save(const std::string& path) const override {
    std::error_code none;
    if (used_ == 0 && !file_.empty() &&
        std::filesystem::equivalent(file_, path, none)) {
      return;  // it is the file
    }
    write_flat_file(path, dim_, [this](FlatFileWriter& writer) {
      for_each_block(
          rows(), block_rows(dim_),
          [&writer](int64_t, const Tensor& block) { writer.add(block.cpu()); });
    });
  }

 private:
  /// [used, dim]
  Tensor in_memory() const {
    if (!room_.defined()) return torch::empty({0, dim_}, device_);
    return room_.narrow(0, 0, used_);
  }

  c10::Device device_ = at::kCPU;
  int64_t dim_ = 0;
  Rows read_;         ///< The first vectors; undefined if all are in memory.
  std::string file_;  ///< The file that holds just these, or empty.
  Tensor room_;  ///< [capacity, dim], of which the first `used_` are vectors.
  int64_t used_ = 0;
};

}  // namespace

std::unique_ptr<VectorIndex> load_exact_index(const std::string& path,
                                              int64_t memory_mb,
                                              c10::Device device,
                                              const FileSums& sums) {
  return std::make_unique<ExactIndex>(path, memory_mb, device, sums);
}

KITH_REGISTER(vector_index_registry(), "exact", ExactIndex);

}  // namespace kith
