#include "kith/core/json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "kith/core/quote.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxJsonDepth = 64;
constexpr size_t kMaxValues = 16'000'000;

[[noreturn]] void refuse(const std::string& why) {
  throw Json::out_of_range::create(0, why, nullptr);
}

/// Gathers the values of what is open on a stack and makes an object or a list
/// of them when it ends: each value is moved once, never copied as its parent
/// grows, and takes no more room than it needs.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(values_.front()); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t&) override { refuse("binary data"); }

  bool key(std::string& name) override {
    keys_.push_back(std::move(name));
    return true;
  }

  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }

  bool end_object() override {
    const Open begin = close();
    Json::object_t object;
    object.reserve(values_.size() - begin.values);
    // The vector that an ordered map is: the map's own way to add looks for
    // the key first.
    std::vector<Json::object_t::value_type>& entries = object;
    for (size_t i = begin.values; i < values_.size(); ++i) {
      entries.emplace_back(std::move(keys_[begin.keys + i - begin.values]),
                           std::move(values_[i]));
    }
    check_keys(entries);
    drop(begin);
    return add(std::move(object));
  }

  bool end_array() override {
    const Open begin = close();
    Json::array_t array(
        std::make_move_iterator(values_.begin() + offset(begin.values)),
        std::make_move_iterator(values_.end()));
    drop(begin);
    return add(std::move(array));
  }

  // The library's own text may quote the whole file: only the place is told.
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Json::parse_error::create(101, position, "not JSON", nullptr);
  }

 private:
  /// Where the values and keys of an object or list begin.
  struct Open {
    size_t values;
    size_t keys;
  };

  static std::ptrdiff_t offset(size_t index) {
    return static_cast<std::ptrdiff_t>(index);
  }

  template <class Value>
  bool add(Value&& value) {
    if (++count_ > kMaxValues) refuse("too many values");
    values_.emplace_back(std::forward<Value>(value));
    return true;
  }

  bool open() {
    if (open_.size() == kMaxJsonDepth) refuse("nested too deep");
    open_.push_back({values_.size(), keys_.size()});
    return true;
  }

  Open close() {
    const Open begin = open_.back();
    open_.pop_back();
    return begin;
  }

  void drop(const Open& begin) {
    values_.resize(begin.values);
    keys_.resize(begin.keys);
  }

  static void check_keys(const std::vector<Json::object_t::value_type>& list) {
    std::vector<std::string_view> names;
    names.reserve(list.size());
    for (const auto& [name, value] : list) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) refuse("key " + quote(*twice) + " appears twice");
  }

  std::vector<Json> values_;
  std::vector<std::string> keys_;
  std::vector<Open> open_;
  size_t count_ = 0;
};

}  // namespace

Json parse_json(std::string_view text) {
  TreeBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace kith
