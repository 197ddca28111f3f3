#include "kith/io/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = size_t{1} << 20;
constexpr size_t kMaxRank = 64;  // NumPy's own limit
constexpr std::string_view kSupported =
    "'<f2', '<f4', '<f8', '<i4', '<i8', '|u1', '|b1'";

constexpr std::array<std::pair<std::string_view, DType>, 7> kDescriptors = {{
    {"<f2", DType::kF16},
    {"<f4", DType::kF32},
    {"<f8", DType::kF64},
    {"<i4", DType::kI32},
    {"<i8", DType::kI64},
    {"|u1", DType::kU8},
    {"|b1", DType::kBool},
}};

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Reads the header, a Python dict literal with exactly three keys:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path)
      : text_(text), path_(path) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      parse_item();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (at_ != text_.size()) fail("text after the dict");
    if (!header_.descr) fail("no 'descr'");
    if (!header_.fortran_order) fail("no 'fortran_order'");
    if (!header_.shape) fail("no 'shape'");
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(path_ + ": bad npy header: " + what + " at byte " +
                    std::to_string(at_));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) !=
                                     std::string_view::npos) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail("expected " + quote(std::string_view(&c, 1)));
  }

  void parse_item() {
    const std::string key = parse_string();
    expect(':');
    skip_space();
    if (key == "descr" && !header_.descr) {
      if (peek() == '[') {
        throw DataError(path_ +
                        ": structured npy arrays are not supported; save one "
                        "plain array per file");
      }
      header_.descr = parse_string();
    } else if (key == "fortran_order" && !header_.fortran_order) {
      header_.fortran_order = parse_bool();
    } else if (key == "shape" && !header_.shape) {
      header_.shape = parse_shape();
    } else {
      fail("unknown or repeated key " + quote(key));
    }
  }

  std::string parse_string() {
    skip_space();
    const char mark = peek();
    if (mark != '\'' && mark != '"') fail("expected a string");
    const size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) fail("unterminated string");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find('\\') != std::string_view::npos) fail("escape in a string");
    at_ = end + 1;
    return std::string(value);
  }

  bool parse_bool() {
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail("expected True or False");
  }

  // (), (3,), (3, 4) or (3, 4,); a lone (3) is an int in Python, not a tuple.
  std::vector<int64_t> parse_shape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxRank) fail("more than 64 dimensions");
      shape.push_back(parse_dim());
      if (accept(',')) continue;
      if (shape.size() == 1) fail("expected ',' in the shape");
      expect(')');
      break;
    }
    return shape;
  }

  int64_t parse_dim() {
    skip_space();
    if (peek() == '-') fail("negative dimension");
    constexpr size_t kMaxDigits = 18;  // always fits in an int64_t
    const size_t begin = at_;
    int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      if (at_ - begin == kMaxDigits) fail("dimension too large");
      value = value * 10 + (peek() - '0');
      ++at_;
    }
    if (at_ == begin) fail("expected a dimension");
    return value;
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
  Header header_;
};

DType parse_descr(const std::string& descr, const std::string& path) {
  for (const auto& [text, dtype] : kDescriptors) {
    if (descr == text) return dtype;
  }
  if (descr.starts_with('>')) {
    throw DataError(path + ": big-endian npy data " + quote(descr) +
                    " is not supported; save a.astype(a.dtype.newbyteorder("
                    "'<'))");
  }
  if (descr.starts_with("|O")) {
    throw DataError(path +
                    ": npy object arrays hold pickled data and are not "
                    "supported; save a numeric array, e.g. "
                    "a.astype(np.float32)");
  }
  throw DataError(path + ": npy type " + quote(descr) +
                  " is not supported; convert with a.astype to one of " +
                  std::string(kSupported));
}

struct HeaderText {
  std::string text;
  uint64_t data_offset = 0;
};

HeaderText read_header(const FileReader& file) {
  std::array<unsigned char, 12> start{};
  const uint64_t size = file.size();
  file.read_at(0, start.data(), std::min<uint64_t>(size, start.size()));
  if (size < 10 || std::memcmp(start.data(), kMagic.data(), 6) != 0) {
    throw DataError(file.path() + ": not an npy file (no \\x93NUMPY header)");
  }
  const int major = start[6];
  if (major < 1 || major > 3 || start[7] != 0) {
    throw DataError(file.path() + ": npy format version " +
                    std::to_string(major) + "." + std::to_string(start[7]) +
                    " is not supported; versions 1.0, 2.0 and 3.0 are");
  }
  const uint64_t prefix = major == 1 ? 10 : 12;
  uint64_t length = start[8] + (uint64_t{start[9]} << 8);
  if (major > 1) {
    length += (uint64_t{start[10]} << 16) + (uint64_t{start[11]} << 24);
  }
  if (prefix > size || length > size - prefix) {
    throw DataError(file.path() + ": truncated npy file: the header claims " +
                    std::to_string(length) + " bytes, the file has " +
                    std::to_string(size));
  }
  if (length > kMaxHeaderBytes) {
    throw DataError(file.path() + ": npy header of " + std::to_string(length) +
                    " bytes is too long");
  }
  HeaderText header{std::string(length, '\0'), prefix + length};
  file.read_at(prefix, header.text.data(), header.text.size());
  return header;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string make_header(const std::vector<int64_t>& shape,
                        std::string_view descr) {
  constexpr size_t kPrefix = 10;
  constexpr size_t kAlignment = 64;
  std::string dict =
      "{'descr': '" + std::string(descr) +
      "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  const size_t used = kPrefix + dict.size() + 1;
  dict.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff),
             static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace

NpyFile::NpyFile(const std::string& path) : file_(path) {
  const HeaderText text = read_header(file_);
  Header header = HeaderParser(text.text, path).parse();
  dtype_ = parse_descr(*header.descr, path);
  shape_ = std::move(*header.shape);
  data_offset_ = text.data_offset;
  if (*header.fortran_order && shape_.size() > 1) {
    throw DataError(path +
                    ": npy data in Fortran order is not supported; save "
                    "np.ascontiguousarray(a)");
  }
  const auto bytes = checked_byte_size(dtype_, shape_);
  const uint64_t present = file_.size() - data_offset_;
  if (!bytes || static_cast<uint64_t>(*bytes) != present) {
    const bool is_short = !bytes || static_cast<uint64_t>(*bytes) > present;
    throw DataError(path + ": npy shape " + shape_text(shape_) + " of " +
                    std::string(dtype_name(dtype_)) + " does not match the " +
                    std::to_string(present) + " bytes of data: the file " +
                    (is_short ? "is truncated" : "has trailing bytes"));
  }
  byte_size_ = *bytes;
}

void NpyFile::read_rows(int64_t first, int64_t count, void* out) const {
  KITH_ASSERT(!shape_.empty() && first >= 0 && count >= 0 &&
              count <= shape_[0] - first);
  if (count == 0 || byte_size_ == 0) return;
  const auto row = static_cast<uint64_t>(byte_size_ / shape_[0]);
  file_.read_at(data_offset_ + static_cast<uint64_t>(first) * row, out,
                static_cast<size_t>(count) * row);
}

std::string NpyFile::description() const {
  return std::string(dtype_name(dtype_)) + " " + shape_text(shape_);
}

void NpyFile::read(void* out) const {
  file_.read_at(data_offset_, out, static_cast<size_t>(byte_size_));
}

Array read_npy(const std::string& path) {
  const NpyFile file(path);
  Array array = make_array(file.dtype(), file.shape());
  file.read(array.bytes.data());
  return array;
}

void write_npy(const std::string& path, DType dtype,
               const std::vector<int64_t>& shape,
               const std::function<void(FileWriter&)>& fill) {
  const auto* found =
      std::find_if(kDescriptors.begin(), kDescriptors.end(),
                   [&](const auto& entry) { return entry.second == dtype; });
  if (found == kDescriptors.end()) {
    throw DataError(path + ": npy cannot hold " +
                    std::string(dtype_name(dtype)) + "; convert to f32 first");
  }
  KITH_ASSERT(shape.size() <= kMaxRank);
  write_file_atomically(path, [&](FileWriter& writer) {
    writer.write(make_header(shape, found->first));
    fill(writer);
  });
}

void write_npy(const std::string& path, const ArrayView& array) {
  const auto bytes = static_cast<size_t>(array.byte_size());
  write_npy(path, array.dtype, array.shape,
            [&](FileWriter& writer) { writer.write(array.data, bytes); });
}

}  // namespace kith
