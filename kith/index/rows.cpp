#include "kith/index/rows.h"

#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/npy.h"
#include "kith/core/tensor_io.h"
#include "kith/index/row_blocks.h"
#include "kith/ops/pairwise.h"

namespace kith {

class Rows::Source {
 public:
  Source(int64_t rows, int64_t columns, c10::Device where)
      : count(rows), dim(columns), device(where) {}
  virtual ~Source() = default;

  virtual Tensor read(int64_t first, int64_t rows) const = 0;
  virtual Tensor in_memory() const { return {}; }
  virtual std::shared_ptr<const Source> on(c10::Device where) const = 0;

  const int64_t count;
  const int64_t dim;
  const c10::Device device;
};

namespace {

class TensorRows final : public Rows::Source {
 public:
  explicit TensorRows(const Tensor& rows)
      : Source(rows.size(0), rows.size(1), rows.device()),
        rows_(rows.detach().to(at::kFloat).contiguous()) {}

  Tensor read(int64_t first, int64_t rows) const override {
    return rows_.narrow(0, first, rows);
  }
  Tensor in_memory() const override { return rows_; }
  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<TensorRows>(rows_.to(where));
  }

 private:
  Tensor rows_;
};

/// A matrix of floating point numbers that is read as unit rows.
class FileRows final : public Rows::Source {
 public:
  FileRows(std::shared_ptr<const NpyFile> file, c10::Device where)
      : Source(file->shape()[0], file->shape()[1], where),
        file_(std::move(file)) {}

  Tensor read(int64_t first, int64_t rows) const override {
    Tensor block = torch::empty({rows, dim}, scalar_type(file_->dtype()));
    file_->read_rows(first, rows, block.data_ptr());
    block = block.to(at::kFloat);
    check_finite(block, file_->path(), first);
    return normalize_rows(block).to(device);
  }

  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<FileRows>(file_, where);
  }

 private:
  std::shared_ptr<const NpyFile> file_;
};

class FunctionRows final : public Rows::Source {
 public:
  using Read = std::function<Tensor(int64_t, int64_t)>;

  FunctionRows(int64_t rows, int64_t columns, Read read, c10::Device where)
      : Source(rows, columns, where), read_(std::move(read)) {}

  Tensor read(int64_t first, int64_t rows) const override {
    return read_(first, rows).to(device);
  }
  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<FunctionRows>(count, dim, read_, where);
  }

 private:
  Read read_;
};

}  // namespace

Rows::Rows(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

Rows::Rows(const Tensor& rows) {
  if (!rows.defined()) return;
  TORCH_CHECK_VALUE(rows.dim() == 2, "rows must be [N, D], got ", rows.sizes());
  source_ = std::make_shared<TensorRows>(rows);
}

int64_t Rows::count() const { return source_->count; }
int64_t Rows::dim() const { return source_->dim; }
c10::Device Rows::device() const { return source_->device; }

Tensor Rows::read(int64_t first, int64_t count) const {
  return source_->read(first, count);
}

Tensor Rows::in_memory() const { return source_->in_memory(); }

Rows Rows::on(c10::Device device) const { return Rows(source_->on(device)); }

Rows unit_rows(const std::string& path, int64_t memory_mb, c10::Device device) {
  const auto file = std::make_shared<const NpyFile>(path);
  const DType type = file->dtype();
  const bool is_float =
      type == DType::kF16 || type == DType::kF32 || type == DType::kF64;
  if (file->shape().size() != 2 || file->byte_size() == 0 || !is_float) {
    throw DataError(path + ": embeddings must be floating point [N, D], got " +
                    file->description());
  }
  const bool small = file->byte_size() <= memory_mb * (int64_t{1} << 20);
  const Rows rows(std::make_shared<FileRows>(file, device));
  return small ? Rows(rows.read(0, rows.count())) : rows;
}

Rows rows_from(int64_t count, int64_t dim,
               std::function<Tensor(int64_t, int64_t)> read) {
  return Rows(std::make_shared<FunctionRows>(count, dim, std::move(read),
                                             c10::Device(at::kCPU)));
}

Rows joined_rows(const Rows& first, const Rows& second) {
  TORCH_CHECK_VALUE(first.dim() == second.dim(), "rows of ", first.dim(),
                    " and of ", second.dim(), " numbers cannot be joined");
  const int64_t border = first.count();
  const auto read = [first, second, border](int64_t begin, int64_t count) {
    const int64_t end = begin + count;
    if (end <= border) return first.read(begin, count).cpu();
    if (begin >= border) return second.read(begin - border, count).cpu();
    return torch::cat({first.read(begin, border - begin).cpu(),
                       second.read(0, end - border).cpu()});
  };
  return rows_from(border + second.count(), first.dim(), read);
}

Tensor rows_at(const Rows& rows, const std::vector<int64_t>& positions) {
  constexpr int64_t kBlockNumbers = 1 << 20;
  return gather_rows(rows, positions,
                     std::max<int64_t>(kBlockNumbers / rows.dim(), 1))
      .cpu();
}

bool all_finite(const Tensor& rows) {
  if (rows.numel() == 0) return true;
  const auto [least, most] = torch::aminmax(rows);  // NaN if there is one
  return std::isfinite(least.item<double>()) &&
         std::isfinite(most.item<double>());
}

void check_finite(const Tensor& rows, const std::string& path, int64_t first) {
  if (all_finite(rows)) return;
  const Tensor bad = torch::isfinite(rows).all(1).logical_not().nonzero();
  throw DataError(path + ": row " +
                  std::to_string(first + bad[0][0].item<int64_t>()) +
                  " has a NaN or infinite value");
}

}  // namespace kith
