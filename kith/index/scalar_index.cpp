#include "kith/index/scalar_index.h"

#include <algorithm>
#include <filesystem>

#include <torch/torch.h>

#include "kith/index/scalar_file.h"

namespace kith {

ScalarIndex::ScalarIndex(int64_t dim) : dim_(dim) {
  TORCH_CHECK_VALUE(dim_ > 0, "an index needs a dimension, got ", dim_);
}

ScalarIndex::ScalarIndex(const std::string& path, int64_t memory_mb,
                         c10::Device device, const FileSums& sums)
    : device_(device) {
  const auto file = std::make_shared<const ScalarFile>(path, sums);
  code_ = file->code();
  dim_ = code_->dim();
  if (file->byte_size() <= memory_mb * (int64_t{1} << 20)) {
    room_ = file->read_all(device);
    used_ = file->count();
    return;
  }
  read_ = rows_from(file->count(), dim_, [file](int64_t first, int64_t rows) {
    return file->code().decode(file->read(first, rows));
  });
  file_ = path;
}

const ScalarCode& ScalarIndex::code() const {
  TORCH_CHECK_VALUE(code_.has_value(),
                    "this index has no vectors before train(), which comes "
                    "before the first add()");
  return *code_;
}

int64_t ScalarIndex::count() const {
  return (read_.defined() ? read_.count() : 0) + used_;
}

void ScalarIndex::add(const Tensor& rows) {
  const Tensor codes = code().encode(check_index_rows(rows, dim_));
  const int64_t needed = used_ + codes.size(0);
  const int64_t room = room_.defined() ? room_.size(0) : 0;
  if (needed > room) {
    // Half as much again, so that a code is copied a few times at most.
    Tensor larger =
        torch::empty({std::max(needed, room + room / 2), codes.size(1)},
                     codes.options().device(device_));
    if (used_ > 0) {
      larger.narrow(0, 0, used_).copy_(room_.narrow(0, 0, used_));
    }
    room_ = larger;
  }
  room_.narrow(0, used_, codes.size(0)).copy_(codes);
  used_ = needed;
}

void ScalarIndex::add_rows(const Rows& rows) {
  TORCH_CHECK_VALUE(rows.dim() == dim_, "rows of this index must be [N, ", dim_,
                    "], got N of ", rows.dim());
  if (used_ > 0 || rows.in_memory().defined()) {
    VectorIndex::add_rows(rows);
    return;
  }
  const Rows rounded = rows_from(
      rows.count(), dim_, [rows, own = code()](int64_t first, int64_t count) {
        return own.decode(own.encode(rows.read(first, count)));
      });
  read_ = read_.defined() ? joined_rows(read_, rounded) : rounded;
  file_.clear();
}

Neighbours ScalarIndex::search(const Tensor& queries, int64_t k) const {
  const Tensor rows = check_index_rows(queries, dim_);
  if (count() == 0) {
    return {torch::empty({rows.size(0), 0}, at::kLong),
            torch::empty({rows.size(0), 0}, at::kFloat)};
  }
  SearchOptions options;
  options.k = k;
  return exact_search(rows.to(device_), this->rows(), {}, options);
}

Rows ScalarIndex::in_memory() const {
  if (used_ == 0) return torch::empty({0, dim_}, device_);
  const Tensor codes = room_.narrow(0, 0, used_);
  return rows_from(used_, dim_,
                   [codes, own = code()](int64_t first, int64_t count) {
                     return own.decode(codes.narrow(0, first, count));
                   })
      .on(device_);
}

Rows ScalarIndex::rows() const {
  if (!read_.defined()) return in_memory();
  return (used_ == 0 ? read_ : joined_rows(read_, in_memory())).on(device_);
}

void ScalarIndex::save(const std::string& path) const {
  std::error_code none;
  if (used_ == 0 && !file_.empty() &&
      std::filesystem::equivalent(file_, path, none)) {
    return;  // it is the file
  }
  // What codes stand for has these codes again.
  write_scalar_file(path, code(), rows());
}

}  // namespace kith
