#include <algorithm>
#include <filesystem>

#include <torch/torch.h>

#include "kith/index/flat_file.h"
#include "kith/index/kinds.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

/// Rows that are copied at a time when an index is saved: 4 Mi numbers.
int64_t block_rows(int64_t dim) {
  return std::max<int64_t>((int64_t{1} << 22) / dim, 1);
}

}  // namespace

ExactIndex::ExactIndex(int64_t dim) : dim_(dim) {
  TORCH_CHECK_VALUE(dim_ > 0, "an index needs a dimension, got ", dim_);
}

ExactIndex::ExactIndex(const std::string& path, int64_t memory_mb,
                       c10::Device device, const FileSums& sums)
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

int64_t ExactIndex::count() const {
  return (read_.defined() ? read_.count() : 0) + used_;
}

void ExactIndex::add(const Tensor& rows) {
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

void ExactIndex::add_rows(const Rows& rows) {
  TORCH_CHECK_VALUE(rows.dim() == dim_, "rows of this index must be [N, ", dim_,
                    "], got N of ", rows.dim());
  if (used_ > 0 || rows.in_memory().defined()) {
    VectorIndex::add_rows(rows);
    return;
  }
  read_ = read_.defined() ? joined_rows(read_, rows) : rows;
  file_.clear();
}

Neighbours ExactIndex::search(const Tensor& queries, int64_t k) const {
  const Tensor rows = check_index_rows(queries, dim_);
  if (count() == 0) {
    return {torch::empty({rows.size(0), 0}, at::kLong),
            torch::empty({rows.size(0), 0}, at::kFloat)};
  }
  SearchOptions options;
  options.k = k;
  return exact_search(rows.to(device_), this->rows(), {}, options);
}

Rows ExactIndex::rows() const {
  if (!read_.defined()) return in_memory();
  return (used_ == 0 ? read_ : joined_rows(read_, in_memory())).on(device_);
}

void ExactIndex::save(const std::string& path) const {
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

Tensor ExactIndex::in_memory() const {
  if (!room_.defined()) return torch::empty({0, dim_}, device_);
  return room_.narrow(0, 0, used_);
}

KITH_REGISTER(vector_index_registry(), "exact", ExactIndex);

}  // namespace kith
