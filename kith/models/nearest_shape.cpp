#include "kith/models/nearest_shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "kith/models/backbone.h"

namespace kith {
namespace {

/// An option's value; a list of one for a single number. What is no number is
/// left out.
std::vector<double> numbers_in(const ConfigNode& node) {
  std::vector<double> numbers;
  const auto add = [&](const std::string& text) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc()) numbers.push_back(value);
    if (text == "true" || text == "false") numbers.push_back(text == "true");
  };
  if (node.kind == ConfigNode::Kind::kScalar) add(node.scalar);
  for (const ConfigNode& item : node.items) add(item.scalar);
  return numbers;
}

/// 0 for the same; each number counts by its part of the larger.
double difference(const std::vector<double>& a, const std::vector<int64_t>& b) {
  constexpr double kMissing = 4;
  const size_t common = std::min(a.size(), b.size());
  double sum =
      kMissing * static_cast<double>(std::max(a.size(), b.size()) - common);
  for (size_t i = 0; i < common; ++i) {
    const auto value = static_cast<double>(b[i]);
    sum += std::abs(a[i] - value) / std::max({a[i], value, 1.0});
  }
  return sum;
}

std::string in_words(const FoundOptions& found) {
  std::string text;
  for (const auto& [name, list] : found) {
    text += (text.empty() ? "" : "; ") + name;
    for (size_t i = 0; i < list.size(); ++i) {
      text += (i == 0 ? " " : ", ") + std::to_string(list[i]);
    }
  }
  return text;
}

}  // namespace

std::string nearest_shape(const std::string& family,
                          const FoundOptions& found) {
  if (found.empty()) return "";
  const auto& entries = backbone_registry().entries();
  const std::type_info& type = *entries.at(family).type;
  std::string nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, entry] : entries) {
    if (!entry.is_shape || *entry.type != type) continue;
    double sum = 0;
    for (const OptionInfo& option : entry.options()) {
      const auto own = found.find(option.name);
      if (own == found.end()) continue;
      sum += difference(numbers_in(option.default_value), own->second);
    }
    if (sum >= least) continue;
    least = sum;
    nearest = name;
  }
  return nearest + " (" + in_words(found) + ")";
}

int64_t count_blocks(const NamedTensors& weights,
                     const std::vector<std::string>& prefixes) {
  constexpr int64_t kMost = 1000;
  int64_t count = 0;
  for (const auto& [name, tensor] : weights) {
    for (const std::string& prefix : prefixes) {
      if (!name.starts_with(prefix)) continue;
      int64_t number = -1;
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(),
                      number);
      count = std::max(count, std::min(number + 1, kMost));
    }
  }
  return count;
}

int64_t size_in(const NamedTensors& weights, const std::string& name,
                int64_t dimension) {
  for (const auto& [key, tensor] : weights) {
    if (key == name && tensor.dim() > dimension) return tensor.size(dimension);
  }
  return 0;
}

}  // namespace kith
