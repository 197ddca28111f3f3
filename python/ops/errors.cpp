#include "python/ops/errors.h"

#include <string_view>
#include <vector>

namespace kith::ops {
namespace {

/// What messages say to those who write a configuration or C++, and what there
/// is in its place here.
const std::vector<std::pair<std::string_view, std::string_view>> kInPython = {
    {" (sampler.per_class)", ""},
    {"give the values of beta", "give num_classes"},
    {"give epoch() a pool of them", "call set_epoch(epoch, embeddings)"},
    {"give them in the data (column 'category' of a list), or use "
     "'sampler.name: whole_classes'",
     "give categories, one for each label, or use WholeClassesSampler"}};

std::string replaced(std::string text, std::string_view old,
                     std::string_view with) {
  for (size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + with.size())) {
    text.replace(at, old.size(), with);
  }
  return text;
}

}  // namespace

void throw_value_error(const std::string& message) {
  std::string text = message;
  for (const auto& [old, with] : kInPython) text = replaced(text, old, with);
  C10_THROW_ERROR(ValueError, text);
}

}  // namespace kith::ops
