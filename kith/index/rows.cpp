#include "kith/index/rows.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/row_blocks.h"
#include "kith/index/row_source.h"
#include "kith/io/npy.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/finite.h"
#include "kith/ops/pairwise.h"

namespace kith {

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
    Tensor result = torch::empty({rows, dim}, at::kFloat);
    // A part at a time, for in float64 and while it is scaled a row takes
    // several times the room.
    const int64_t most = std::max<int64_t>((int64_t{1} << 20) / dim, 1);
    for (int64_t begin = 0; begin < rows; begin += most) {
      const int64_t some = std::min(most, rows - begin);
      result.narrow(0, begin, some).copy_(read_part(first + begin, some));
    }
    return result.to(device);
  }

  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<FileRows>(file_, where);
  }

 private:
  /// Scaled in the file's type, which may hold what float32 cannot.
  Tensor read_part(int64_t first, int64_t rows) const {
    Tensor part = torch::empty({rows, dim}, scalar_type(file_->dtype()));
    file_->read_rows(first, rows, part.data_ptr());
    if (part.scalar_type() == at::kHalf) part = part.to(at::kFloat);
    part = normalize_rows(part);
    check_unit(part, file_->path(), first);
    return part;
  }

  std::shared_ptr<const NpyFile> file_;
};

class FunctionRows final : public Rows::Source {
 public:
  using Read = std::function<Tensor(int64_t, int64_t)>;

  FunctionRows(int64_t rows, int64_t columns, Read read, c10::Device where)
      : Source(rows, columns, where), read_(std::move(read)) {}

  Tensor read(int64_t first, int64_t rows) const override {
    const Tensor block = read_(first, rows);
    check_finite(block, "embeddings", first);
    return block.to(device);
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
  // Blocks of rows are as large as D numbers a row allow.
  TORCH_CHECK_VALUE(rows.dim() == 2 && (rows.size(1) > 0 || rows.size(0) == 0),
                    "rows must be [N, D] with at least one number each, got ",
                    rows.sizes());
  source_ = std::make_shared<TensorRows>(rows);
}

Tensor row_numbers(const Tensor& numbers, int64_t count, const char* what) {
  if (!numbers.defined()) return {};
  TORCH_CHECK_VALUE(numbers.dim() == 1 && numbers.size(0) == count &&
                        numbers.scalar_type() == at::kLong,
                    what, " must be int64 [", count, "], got ",
                    numbers.scalar_type(), " ", numbers.sizes());
  return numbers.cpu().contiguous();
}

Tensor row_positions(const Tensor& positions, int64_t count, int64_t rows,
                     const char* what) {
  const Tensor numbers = row_numbers(positions, count, what);
  if (!numbers.defined()) return numbers;
  const int64_t* position = numbers.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    TORCH_CHECK_VALUE(position[i] >= -1 && position[i] < rows, what,
                      " must be positions of the gallery, 0 to ", rows - 1,
                      ", or -1 for none, got ", position[i], " for query ", i);
  }
  return numbers;
}

int64_t Rows::count() const { return source_->count; }
int64_t Rows::dim() const { return source_->dim; }
c10::Device Rows::device() const { return source_->device; }

Tensor Rows::read(int64_t first, int64_t count) const {
  return source_->read(first, count);
}

Tensor Rows::in_memory() const { return source_->in_memory(); }

const RowShard* Rows::shard() const { return source_->shard(); }

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

void check_finite(const Tensor& rows, const std::string& path, int64_t first) {
  const int64_t bad = first_bad_row(rows);
  if (bad < 0) return;
  throw DataError(path + ": row " + std::to_string(first + bad) +
                  " has a NaN or infinite value");
}

void check_unit(const Tensor& rows, const std::string& path, int64_t first) {
  if (rows.numel() == 0) return;
  constexpr double kRounding = 0.01;  // of half precision, and to spare
  const Tensor lengths = rows.norm(2, {1});
  const Tensor right = (lengths - 1).abs() <= kRounding;  // not if it is NaN
  if (right.all().item<bool>()) return;
  const int64_t bad = right.logical_not().nonzero()[0][0].item<int64_t>();
  const std::string row = path + ": row " + std::to_string(first + bad);
  if (!all_finite(rows[bad])) {
    throw DataError(row + " has a NaN or infinite value");
  }
  const double length = lengths[bad].item<double>();
  if (length < kRounding) {
    throw DataError(row +
                    " has no direction to compare: its numbers are all zero, "
                    "or below the least that its type holds in full; leave "
                    "the row out");
  }
  throw DataError(row + " is not of length 1 but of " + std::to_string(length) +
                  ": scale the rows first");
}

}  // namespace kith
