#include "kith/index/flat_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/vector_index.h"

namespace kith {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the file is little-endian, and read and written as it is");

constexpr char kMark[] = "IxFI";
constexpr uint64_t kHeaderBytes = 45;
constexpr int64_t kCountAt = 8;
constexpr int64_t kNumbersAt = 37;
constexpr int64_t kBlockNumbers = 1 << 22;  ///< That are checked at a time.
/// What faiss writes where older versions had other fields.
constexpr int64_t kUnused = 1 << 20;

template <class T>
T field(const char* header, size_t offset) {
  T value;
  std::memcpy(&value, header + offset, sizeof(T));
  return value;
}

template <class T>
void put(char* header, size_t offset, T value) {
  std::memcpy(header + offset, &value, sizeof(T));
}

[[noreturn]] void refuse(const FileReader& file, const std::string& why) {
  throw DataError(file.path() + ": " + why);
}

/// "IxF2" and "IxFl" are flat too, but of Euclidean distance.
void check_mark(const FileReader& file, const std::string& mark) {
  if (mark == kMark) return;
  if (mark == "IxF2" || mark == "IxFl") {
    refuse(file,
           "a flat index of Euclidean distances; kith searches by inner "
           "product: make it with IndexFlatIP of unit vectors");
  }
  refuse(file,
         "not an index that kith reads: expected one of faiss's IndexFlatIP, "
         "IndexScalarQuantizer, IndexIVFPQ or IndexHNSWFlat");
}

}  // namespace

FlatHeader read_flat_header(const FileReader& file, uint64_t offset) {
  char bytes[kHeaderBytes] = {};
  if (offset > file.size() || file.size() - offset < kHeaderBytes) {
    refuse(file, "too short for a flat index of faiss");
  }
  file.read_at(offset, bytes, kHeaderBytes);
  check_mark(file, std::string(bytes, 4));
  FlatHeader header;
  header.dim = field<int32_t>(bytes, 4);
  header.count = field<int64_t>(bytes, 8);
  const auto metric = field<int32_t>(bytes, 33);
  const auto numbers = field<uint64_t>(bytes, kNumbersAt);
  if (metric != 0) {
    refuse(file, "metric " + std::to_string(metric) +
                     "; kith searches by inner product (0)");
  }
  header.data = offset + kHeaderBytes;
  const uint64_t room = (file.size() - header.data) / sizeof(float);
  if (header.dim < 1 || header.dim > kMaxIndexDim || header.count < 0) {
    refuse(file, "damaged header: " + std::to_string(header.count) +
                     " vectors of " + std::to_string(header.dim) + " numbers");
  }
  const auto dim = static_cast<uint64_t>(header.dim);
  if (numbers > room || numbers % dim != 0 ||
      numbers / dim != static_cast<uint64_t>(header.count)) {
    refuse(file, "truncated or damaged: the header says " +
                     std::to_string(header.count) + " vectors of " +
                     std::to_string(header.dim) + " numbers, the file has " +
                     std::to_string(room) + " numbers");
  }
  header.end = header.data + numbers * sizeof(float);
  return header;
}

FlatFile::FlatFile(const std::string& path, const FileSums& sums)
    : file_(path), check_(file_, sums) {
  char header[kHeaderBytes];
  if (file_.size() >= kHeaderBytes) {
    check_.read_at(file_, 0, header, kHeaderBytes);
  }
  header_ = read_flat_header(file_, 0);
  if (header_.end != file_.size()) {
    refuse(file_, "damaged: " + std::to_string(file_.size() - header_.end) +
                      " bytes too many behind the vectors");
  }
}

Tensor FlatFile::read(int64_t first, int64_t count) const {
  KITH_ASSERT(first >= 0 && count >= 0 && first + count <= header_.count);
  Tensor rows = torch::empty({count, dim()}, at::kFloat);
  const uint64_t row_bytes = sizeof(float) * static_cast<uint64_t>(dim());
  const uint64_t offset =
      header_.data + static_cast<uint64_t>(first) * row_bytes;
  const uint64_t bytes = static_cast<uint64_t>(count) * row_bytes;
  check_.read_at(file_, offset, rows.data_ptr(), static_cast<size_t>(bytes));
  check_finite(rows, path(), first);
  return rows;
}

Tensor FlatFile::read_all(c10::Device device) const {
  Tensor rows = torch::empty({count(), dim()}, device);
  const int64_t step = std::max<int64_t>(kBlockNumbers / dim(), 1);
  for (int64_t i = 0; i < count(); i += step) {
    const int64_t some = std::min(step, count() - i);
    rows.narrow(0, i, some).copy_(read(i, some));
  }
  return rows;
}

FlatFileWriter::FlatFileWriter(FileWriter& file, int64_t dim)
    : file_(file), dim_(dim) {
  TORCH_CHECK_VALUE(dim > 0 && dim <= kMaxIndexDim,
                    "an index has vectors of 1 to ", kMaxIndexDim,
                    " numbers, got ", dim);
  char header[kHeaderBytes] = {};
  std::memcpy(header, kMark, 4);
  put(header, 4, static_cast<int32_t>(dim));
  put(header, 16, kUnused);
  put(header, 24, kUnused);
  put(header, 32, uint8_t{1});
  file_.write(header, kHeaderBytes);
}

void FlatFileWriter::add(const Tensor& rows) {
  const Tensor block = check_index_rows(rows, dim_);
  file_.write(block.data_ptr(),
              sizeof(float) * static_cast<size_t>(block.numel()));
  count_ += block.size(0);
}

void FlatFileWriter::write_count() {
  const auto numbers = static_cast<uint64_t>(count_ * dim_);
  file_.write_over(kCountAt, &count_, sizeof(count_));
  file_.write_over(kNumbersAt, &numbers, sizeof(numbers));
}

void write_flat_file(const std::string& path, int64_t dim,
                     const std::function<void(FlatFileWriter&)>& fill) {
  write_file_atomically(path, [&](FileWriter& file) {
    FlatFileWriter writer(file, dim);
    fill(writer);
    writer.write_count();
  });
}

}  // namespace kith
