#include "kith/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/quote.h"

namespace kith::detail {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTensorRank = 64;

constexpr std::array<std::pair<std::string_view, DType>, 8> kDtypes = {{
    {"F64", DType::kF64},
    {"F32", DType::kF32},
    {"F16", DType::kF16},
    {"BF16", DType::kBF16},
    {"I64", DType::kI64},
    {"I32", DType::kI32},
    {"U8", DType::kU8},
    {"BOOL", DType::kBool},
}};

// A state machine over JSON events rather than a tree: what does not belong
// is refused where it starts, so neither depth nor size can get out of hand,
// and repeated keys, which a tree would merge, are seen.
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderHandler(const std::string& path) : path_(path) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(int64_t) override { unexpected("a negative number"); }
  bool number_float(double, const std::string& text) override {
    unexpected("the number " + quote(text));
  }
  bool binary(Json::binary_t&) override { unexpected("binary data"); }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kShape) {
      if (value > uint64_t{std::numeric_limits<int64_t>::max()}) {
        fail("dimension " + std::to_string(value) + " is too large");
      }
      if (shape_->size() == kMaxTensorRank) fail("more than 64 dimensions");
      shape_->push_back(static_cast<int64_t>(value));
      return true;
    }
    if (place_ == Place::kOffsets) {
      if (offsets_->size() == 2) fail("data_offsets must be [begin, end]");
      offsets_->push_back(value);
      return true;
    }
    unexpected("a number");
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ == Place::kTensor && key_ == "dtype") {
      set_dtype(value);
      return true;
    }
    unexpected("the string " + quote(value));
  }

  bool key(std::string& name) override {
    key_ = std::move(name);
    if (place_ == Place::kTop) {
      tensor_ = key_;
      if (!names_.insert(key_).second) fail("appears twice");
    } else if (place_ == Place::kMetadata) {
      if (header_.metadata.contains(key_)) {
        fail("key " + quote(key_) + " appears twice");
      }
    } else if ((key_ == "dtype" && dtype_) || (key_ == "shape" && shape_) ||
               (key_ == "data_offsets" && offsets_)) {
      fail("key " + quote(key_) + " appears twice");
    } else if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      fail("unknown key " + quote(key_));
    }
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop && key_ == kSafetensorsMetadata) {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kTop) {
      place_ = Place::kTensor;
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) finish_tensor();
    // At the end of the whole header the place no longer matters.
    place_ = Place::kTop;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShape;
      shape_.emplace();
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsets;
      offsets_.emplace();
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  // The library's own text may quote the whole header: only the place is told.
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw DataError(path_ + ": bad safetensors header: invalid JSON at byte " +
                    std::to_string(position));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets };

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(path_ + ": bad safetensors header: " +
                    (tensor_ ? quote(*tensor_) + ": " : "") + what);
  }

  [[noreturn]] void unexpected(const std::string& what) const {
    switch (place_) {
      case Place::kStart:
        fail("expected an object, got " + what);
      case Place::kTop:
        fail("expected an object, got " + what);
      case Place::kMetadata:
        fail("value of " + quote(key_) + " must be a string, got " + what);
      case Place::kTensor:
        fail("wrong type for " + quote(key_) + ": got " + what);
      case Place::kShape:
      case Place::kOffsets:
        fail(quote(key_) + " must hold integers >= 0 only, got " + what);
    }
    fail("unexpected " + what);
  }

  void set_dtype(const std::string& text) {
    std::string known;
    for (const auto& [name, dtype] : kDtypes) {
      if (text == name) dtype_ = dtype;
      known += (known.empty() ? "" : " ") + std::string(name);
    }
    if (!dtype_) {
      fail("dtype " + quote(text) + " is not supported; supported: " + known);
    }
  }

  void finish_tensor() {
    if (!dtype_) fail("no dtype");
    if (!shape_) fail("no shape");
    if (!offsets_) fail("no data_offsets");
    if (offsets_->size() != 2) fail("data_offsets must be [begin, end]");
    const uint64_t begin = (*offsets_)[0];
    const uint64_t end = (*offsets_)[1];
    if (begin > end) {
      fail("data_offsets begin " + std::to_string(begin) + " after their end " +
           std::to_string(end));
    }
    const auto bytes = checked_byte_size(*dtype_, *shape_);
    if (!bytes) fail("the shape is too large");
    if (static_cast<uint64_t>(*bytes) != end - begin) {
      fail("dtype and shape need " + std::to_string(*bytes) +
           " bytes, data_offsets give " + std::to_string(end - begin));
    }
    header_.entries.push_back(
        {*tensor_, *dtype_, std::move(*shape_), begin, end});
  }

  const std::string& path_;
  SafetensorsHeader header_;
  std::unordered_set<std::string> names_;
  Place place_ = Place::kStart;
  std::string key_;
  std::optional<std::string> tensor_;
  std::optional<DType> dtype_;
  std::optional<std::vector<int64_t>> shape_;
  std::optional<std::vector<uint64_t>> offsets_;
};

// Sorts the entries by their place and checks that they tile the data.
void check_ranges(std::vector<SafetensorsEntry>& entries, uint64_t data_size,
                  const std::string& path) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.end > data_size) {
      throw DataError(path + ": tensor " + quote(entry.name) + " ends at " +
                      std::to_string(entry.end) + ", beyond the " +
                      std::to_string(data_size) +
                      " bytes of data: the file is truncated or corrupt");
    }
    if (entry.begin != covered) {
      throw DataError(path + ": tensor " + quote(entry.name) + " begins at " +
                      std::to_string(entry.begin) + ", " +
                      (entry.begin < covered ? "overlapping the one before it"
                                             : "after a gap") +
                      " (expected " + std::to_string(covered) + ")");
    }
    covered = entry.end;
  }
  if (covered != data_size) {
    throw DataError(path + ": " + std::to_string(data_size - covered) +
                    " bytes of data belong to no tensor");
  }
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& [name, known] : kDtypes) {
    if (known == dtype) return name;
  }
  KITH_ASSERT(false && "unknown dtype");
  return {};
}

SafetensorsHeader parse_safetensors_header(std::string_view text,
                                           uint64_t data_size,
                                           const std::string& path) {
  HeaderHandler handler(path);
  Json::sax_parse(text, &handler);
  SafetensorsHeader header = handler.take();
  check_ranges(header.entries, data_size, path);
  return header;
}

}  // namespace kith::detail
