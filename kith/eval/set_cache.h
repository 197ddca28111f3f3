#pragma once

#include <any>
#include <typeindex>
#include <unordered_map>
#include <utility>

namespace kith {

/// What several metrics of one set have in common (a clustering, singular
/// values), computed by the first of them that asks. One value of each type;
/// for one thread.
class SetCache {
 public:
  /// The value of type T: `make()` the first time.
  template <class T, class Make>
  const T& get(const Make& make) {
    const std::type_index key(typeid(T));
    auto found = values_.find(key);
    if (found == values_.end()) {
      found =
          values_.emplace(key, std::any(std::in_place_type<T>, make())).first;
    }
    return *std::any_cast<T>(&found->second);
  }

 private:
  std::unordered_map<std::type_index, std::any> values_;
};

}  // namespace kith
