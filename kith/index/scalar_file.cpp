#include "kith/index/scalar_file.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/flat_file.h"
#include "kith/index/row_blocks.h"
#include "kith/index/vector_index.h"
#include "kith/ops/finite.h"

namespace kith {
namespace {

constexpr char kScalarMark[] = "IxSQ";
constexpr int32_t kEightBits = 0;
constexpr int32_t kHalfPrecision = 4;
/// Of codes that are copied at a time.
constexpr int64_t kBlockBytes = 1 << 24;

[[noreturn]] void refuse_scalar(const FileReader& file,
                                const std::string& why) {
  throw DataError(file.path() + ": " + why);
}

/// Reads the header, one value after another.
class HeaderReader {
 public:
  HeaderReader(const FileReader& file, const FileCheck& check)
      : file_(file), check_(check) {}

  template <class T>
  T next() {
    T value{};
    read(&value, sizeof(T));
    return value;
  }

  void read(void* out, uint64_t bytes) {
    if (bytes == 0) return;
    if (bytes > file_.size() - at_) {
      refuse_scalar(file_, "truncated: it ends within its header");
    }
    check_.read_at(file_, at_, out, bytes);
    at_ += bytes;
  }

  uint64_t at() const { return at_; }

 private:
  const FileReader& file_;
  const FileCheck& check_;
  uint64_t at_ = 0;
};

class HeaderWriter {
 public:
  explicit HeaderWriter(FileWriter& file) : file_(file) {}

  template <class T>
  HeaderWriter& put(T value) {
    file_.write(&value, sizeof(T));
    return *this;
  }
  void put_all(const Tensor& numbers) {
    file_.write(numbers.data_ptr(), numbers.nbytes());
  }

 private:
  FileWriter& file_;
};

void write_header(FileWriter& file, const ScalarCode& code, int64_t count) {
  HeaderWriter out(file);
  file.write(kScalarMark, 4);
  constexpr int64_t kNotUsed = 1 << 20;  // by any faiss there is
  out.put(static_cast<int32_t>(code.dim())).put(count);
  out.put(kNotUsed).put(kNotUsed).put(uint8_t{1}).put(int32_t{0});
  out.put(code.is_float16() ? kHalfPrecision : kEightBits);
  out.put(int32_t{0}).put(0.0F);  // from the least to the largest number
  out.put(static_cast<uint64_t>(code.dim()));
  out.put(static_cast<uint64_t>(code.row_bytes()));
  out.put(static_cast<uint64_t>(code.is_float16() ? 0 : 2 * code.dim()));
  if (!code.is_float16()) {
    out.put_all(code.low());
    out.put_all(code.width());
  }
  out.put(static_cast<uint64_t>(count * code.row_bytes()));
}

}  // namespace

ScalarFile::ScalarFile(const std::string& path, const FileSums& sums)
    : file_(path), check_(file_, sums), code_(read_header()) {}

ScalarCode ScalarFile::read_header() {
  HeaderReader in(file_, check_);
  const auto expect = [&](bool is_right, const std::string& otherwise) {
    if (!is_right) refuse_scalar(file_, otherwise);
  };
  char mark[4] = {};
  in.read(mark, 4);
  expect(std::memcmp(mark, kScalarMark, 4) == 0,
         "not an index of faiss's IndexScalarQuantizer");
  const int64_t dim = in.next<int32_t>();
  count_ = in.next<int64_t>();
  in.next<int64_t>();
  in.next<int64_t>();
  const auto trained = in.next<uint8_t>();
  const auto metric = in.next<int32_t>();
  const auto type = in.next<int32_t>();
  in.next<int32_t>();
  in.next<float>();
  const auto code_dim = in.next<uint64_t>();
  const auto code_bytes = in.next<uint64_t>();
  const auto ranges = in.next<uint64_t>();
  expect(metric == 0, "metric " + std::to_string(metric) +
                          "; kith searches by inner product (0)");
  expect(type == kEightBits || type == kHalfPrecision,
         "a scalar quantizer of type " + std::to_string(type) +
             "; kith reads those of 8 bits (0) and float16 (4)");
  const int64_t row_bytes = type == kHalfPrecision ? 2 * dim : dim;
  const bool fits =
      dim > 0 && dim <= kMaxIndexDim && count_ >= 0 && trained == 1 &&
      code_dim == static_cast<uint64_t>(dim) &&
      code_bytes == static_cast<uint64_t>(row_bytes) &&
      ranges == static_cast<uint64_t>(type == kHalfPrecision ? 0 : 2 * dim);
  expect(fits, "damaged header: " + std::to_string(count_) + " vectors of " +
                   std::to_string(dim) + " numbers");
  Tensor range = torch::empty({static_cast<int64_t>(ranges)}, at::kFloat);
  in.read(range.data_ptr(), range.nbytes());
  expect(
      all_finite(range) && (type == kHalfPrecision ||
                            range.narrow(0, dim, dim).ge(0).all().item<bool>()),
      "damaged: the range of a number is not finite or not positive");
  const auto bytes = in.next<uint64_t>();
  data_ = in.at();
  const uint64_t room = file_.size() - data_;
  expect(bytes == room && bytes % code_bytes == 0 &&
             bytes / code_bytes == static_cast<uint64_t>(count_),
         "truncated or damaged: the header says " + std::to_string(count_) +
             " vectors of " + std::to_string(code_bytes) +
             " bytes, the file has " + std::to_string(room) + " bytes");
  if (type == kHalfPrecision) return ScalarCode::float16(dim);
  return ScalarCode::int8(range.narrow(0, 0, dim).clone(),
                          range.narrow(0, dim, dim).clone());
}

Tensor ScalarFile::read(int64_t first, int64_t count) const {
  KITH_ASSERT(first >= 0 && count >= 0 && first + count <= count_);
  Tensor codes = torch::empty({count, code_.row_bytes()}, at::kByte);
  const auto row_bytes = static_cast<uint64_t>(code_.row_bytes());
  check_.read_at(file_, data_ + static_cast<uint64_t>(first) * row_bytes,
                 codes.data_ptr(), codes.nbytes());
  if (code_.is_float16()) check_finite(code_.decode(codes), path(), first);
  return codes;
}

Tensor ScalarFile::read_all(c10::Device device) const {
  Tensor codes = torch::empty({count_, code_.row_bytes()},
                              torch::dtype(at::kByte).device(device));
  const int64_t step = std::max<int64_t>(kBlockBytes / code_.row_bytes(), 1);
  for (int64_t i = 0; i < count_; i += step) {
    const int64_t some = std::min(step, count_ - i);
    codes.narrow(0, i, some).copy_(read(i, some));
  }
  return codes;
}

void write_scalar_file(const std::string& path, const ScalarCode& code,
                       const Rows& rows) {
  write_file_atomically(path, [&](FileWriter& file) {
    write_header(file, code, rows.count());
    const int64_t step = std::max<int64_t>(kBlockBytes / code.row_bytes(), 1);
    for_each_block(rows, step, [&](int64_t, const Tensor& block) {
      const Tensor codes =
          code.encode(check_index_rows(block.cpu(), code.dim())).contiguous();
      file.write(codes.data_ptr(), codes.nbytes());
    });
  });
}

}  // namespace kith
