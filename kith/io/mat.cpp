#include "kith/io/mat.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/io/mat_elements.h"

namespace kith {
namespace {

using namespace mat;  // NOLINT(google-build-using-namespace)

enum ArrayClass : uint32_t {
  kCellClass = 1,
  kStructClass = 2,
  kCharClass = 4,
  kFirstNumberClass = 6,  // double, single, int8, ..., uint64
  kLastNumberClass = 15,
  kOpaqueClass = 17
};

constexpr size_t kHeaderBytes = 128;
constexpr int kMaxDepth = 16;

class MatParser {
 public:
  MatParser(const std::string& file, const std::vector<std::string>& names,
            const MatLimits& limits)
      : file_(file), names_(names), limits_(limits) {}

  std::map<std::string, MatValue> parse(std::string_view bytes) {
    check_header(bytes);
    Elements elements(bytes.substr(kHeaderBytes), file_);
    while (!elements.done()) {
      const Element element = elements.next();
      if (element.type == kCompressed) {
        const std::string unpacked = inflate_bytes(
            element.data, most_unpacked(bytes.size()) - unpacked_bytes_, file_);
        unpacked_bytes_ += unpacked.size();
        add_variable(Elements(unpacked, file_).next());
      } else {
        add_variable(element);
      }
    }
    return std::move(variables_);
  }

 private:
  /// Bytes that a file of this size may unpack to. Annotations shrink by 15
  /// times or so; a file made of one repeated byte by 1000 times, and as arrays
  /// would take 20 times as much again.
  uint64_t most_unpacked(uint64_t file_bytes) const {
    constexpr uint64_t kAlways = uint64_t{1} << 20;
    constexpr uint64_t kTimes = 100;
    return std::min(limits_.max_bytes, kAlways + kTimes * file_bytes);
  }

  /// What precedes the contents of an array.
  struct Header {
    uint32_t array_class = 0;
    bool complex = false;
    std::vector<int64_t> shape;
    std::string name;
    uint64_t count = 1;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(file_ + ": " + what);
  }
  [[noreturn]] void corrupt(const std::string& what) const {
    fail("corrupt MATLAB file (" + what + "); get it again");
  }

  void check_header(std::string_view bytes) const {
    const bool hdf5 = bytes.starts_with("\x89HDF") ||
                      bytes.starts_with("MATLAB 7.3 MAT-file");
    if (hdf5) fail("is a MATLAB 7.3 (HDF5) file; save it with -v7");
    if (bytes.size() < kHeaderBytes) {
      fail("not a MATLAB 5 file: shorter than its header of 128 bytes");
    }
    const std::string_view order = bytes.substr(126, 2);
    if (order == "MI") fail("big-endian MATLAB files are not read");
    if (order != "IM" || load<uint16_t>(bytes, 124) != 0x0100) {
      fail("not a MATLAB 5 file; save it with -v7");
    }
  }

  void add_variable(const Element& element) {
    if (element.type != kMatrix) {
      corrupt("an element of type " + std::to_string(element.type) +
              " where a variable should be");
    }
    Elements parts(element.data, file_);
    const Header header = read_header(parts);
    if (!std::count(names_.begin(), names_.end(), header.name)) return;
    variable_ = header.name;
    variables_[header.name] = read_contents(header, parts, 0);
  }

  Header read_header(Elements& parts) const {
    Header header;
    const Element flags = parts.next();
    if (flags.type != kUInt32 || flags.data.size() != 8) corrupt("array flags");
    header.array_class = load<uint32_t>(flags.data, 0) & 0xff;
    header.complex = (load<uint32_t>(flags.data, 0) & 0x800) != 0;
    if (header.array_class != kOpaqueClass) read_shape(parts.next(), header);
    const Element name = parts.next();
    if (name.type != kInt8) corrupt("array name");
    header.name = std::string(name.data);
    return header;
  }

  void read_shape(const Element& dims, Header& header) const {
    if (dims.type != kInt32 || dims.data.size() % 4 != 0) corrupt("array size");
    const uint64_t most = std::max(limits_.max_numbers, limits_.max_values);
    for (size_t i = 0; i < dims.data.size(); i += 4) {
      const int64_t size = load<int32_t>(dims.data, i);
      if (size < 0) corrupt("negative array size");
      header.shape.push_back(size);
      if (size > 0 && header.count > most / static_cast<uint64_t>(size)) {
        fail("an array of more than " + std::to_string(most) + " elements");
      }
      header.count *= static_cast<uint64_t>(size);
    }
  }

  MatValue read_matrix(const Element& element, int depth) {
    if (element.type != kMatrix)
      corrupt("a cell or field that is not an array");
    MatValue empty;
    empty.shape = {0, 0};
    if (element.data.empty()) return empty;
    Elements parts(element.data, file_);
    const Header header = read_header(parts);
    return read_contents(header, parts, depth);
  }

  MatValue read_contents(const Header& header, Elements& parts, int depth) {
    if (depth > kMaxDepth) fail("arrays nested too deep in " + variable());
    MatValue value;
    value.shape = header.shape;
    switch (header.array_class) {
      case kCellClass:
        value.kind = MatValue::Kind::kCell;
        read_values(header.count, parts, depth, value);
        return value;
      case kStructClass:
        value.kind = MatValue::Kind::kStruct;
        read_fields(parts, value);
        read_values(header.count * value.fields.size(), parts, depth, value);
        return value;
      case kCharClass:
        value.kind = MatValue::Kind::kText;
        value.text = read_text(header, parts);
        return value;
      default:
        value.numbers = read_numbers(header, parts);
        return value;
    }
  }

  void count_values(uint64_t count) {
    values_ += count;
    if (values_ > limits_.max_values) {
      fail("more than " + std::to_string(limits_.max_values) +
           " cells and fields in " + variable());
    }
  }

  void read_fields(Elements& parts, MatValue& value) {
    const Element length = parts.next();
    if (length.type != kInt32 || length.data.size() != 4) {
      corrupt("length of field names");
    }
    const auto width = load<int32_t>(length.data, 0);
    const Element names = parts.next();
    if (width < 1 || names.type != kInt8 ||
        names.data.size() % static_cast<size_t>(width) != 0) {
      corrupt("field names");
    }
    // A name of one byte takes 32.
    count_values(names.data.size() / static_cast<size_t>(width));
    for (size_t i = 0; i < names.data.size(); i += static_cast<size_t>(width)) {
      const auto name = names.data.substr(i, static_cast<size_t>(width));
      value.fields.emplace_back(name.substr(0, name.find('\0')));
    }
  }

  void read_values(uint64_t count, Elements& parts, int depth,
                   MatValue& value) {
    if (count > parts.bytes_left() / kTagBytes) {
      corrupt("fewer cells or fields than announced");
    }
    count_values(count);
    value.values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      value.values.push_back(read_matrix(parts.next(), depth + 1));
    }
  }

  std::string read_text(const Header& header, Elements& parts) const {
    const Element element = parts.next();
    const bool one_row = header.shape.size() == 2 && header.shape[0] <= 1;
    if (!one_row && header.count > 0) {
      fail("text of several rows in " + variable() + "; use a cell array");
    }
    return to_text(element, file_);
  }

  std::vector<double> read_numbers(const Header& header, Elements& parts) {
    if (header.array_class < kFirstNumberClass ||
        header.array_class > kLastNumberClass) {
      fail(variable() + " holds an array of a class that is not read (" +
           std::to_string(header.array_class) +
           "); save numbers, text, cells or structs");
    }
    if (header.complex) fail("complex numbers in " + variable());
    const Element element = parts.next();
    const size_t size = number_size(element.type);
    if (size == 0) corrupt("numbers of an unknown type");
    if (element.data.size() != header.count * size) {
      corrupt("an array that differs from its size");
    }
    numbers_ += header.count;
    if (numbers_ > limits_.max_numbers) {
      fail("more than " + std::to_string(limits_.max_numbers) + " numbers in " +
           variable());
    }
    return to_numbers(element);
  }

  std::string variable() const { return "variable " + quote(variable_); }

  const std::string& file_;
  const std::vector<std::string>& names_;
  const MatLimits& limits_;
  std::map<std::string, MatValue> variables_;
  std::string variable_;
  uint64_t unpacked_bytes_ = 0;
  uint64_t numbers_ = 0;
  uint64_t values_ = 0;
};

}  // namespace

size_t MatValue::count() const {
  uint64_t count = 1;
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return static_cast<size_t>(count);
}

const MatValue* MatValue::field(size_t element, std::string_view name) const {
  const auto found = std::find(fields.begin(), fields.end(), name);
  if (found == fields.end() || element >= count()) return nullptr;
  return &values[element * fields.size() +
                 static_cast<size_t>(found - fields.begin())];
}

std::map<std::string, MatValue> read_mat(const std::string& path,
                                         const std::vector<std::string>& names,
                                         const MatLimits& limits) {
  return parse_mat(read_file(path, limits.max_bytes), path, names, limits);
}

std::map<std::string, MatValue> parse_mat(std::string_view bytes,
                                          const std::string& name,
                                          const std::vector<std::string>& names,
                                          const MatLimits& limits) {
  return MatParser(name, names, limits).parse(bytes);
}

}  // namespace kith
