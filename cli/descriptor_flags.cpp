#include "cli/descriptor_flags.h"

#include <charconv>

#include "cli/usage.h"
#include "kith/core/error.h"

namespace kith {
namespace {

constexpr std::string_view kTrain = "train";
constexpr std::string_view kPairs = "pairs";

/// Whether it is the word or "word:...".
bool begins_with(const std::string& text, std::string_view word) {
  return text == word || text.starts_with(std::string(word) + ":");
}

/// The DIM of "train:DIM"; 0 for "train" alone.
int64_t dim_of(const std::string& text, std::string_view word) {
  if (text == word) return 0;
  const char* begin = text.data() + word.size() + 1;
  const char* end = text.data() + text.size();
  int64_t dim = 0;
  const auto [stop, error] = std::from_chars(begin, end, dim);
  if (error != std::errc() || stop != end || dim < 1) {
    throw ConfigError("--whiten '" + text +
                      "': expected train or pairs, train:DIM or pairs:DIM with "
                      "a positive DIM, or a file that kith eval --whiten "
                      "train wrote");
  }
  return dim;
}

}  // namespace

void DescriptorFlags::add_to(CLI::App& command) {
  command
      .add_option("--scales", values.scales,
                  "Sizes at which each image is embedded, relative to the "
                  "usual one; their unit embeddings are averaged. Published "
                  "for landmarks: 1,0.70710678,0.5")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--long-side", long_side,
                  "Keep the aspect ratio: the long side has at most this many "
                  "pixels; 0: the model's own input")
      ->check(integer(0, 8192));
  command.add_flag("--flip", values.flip,
                   "Average with the embedding of the mirror image");
  command
      .add_option("--dim", dim,
                  "Only the first so many numbers of each embedding, made unit "
                  "vectors: of networks trained with model.head.nested; 0: all")
      ->check(integer(0, 1 << 20));
  command.add_option(
      "--whiten", whiten,
      "Whitening: train or train:DIM learns PCA's from the training split, "
      "pairs or pairs:DIM one from its matching pairs (Radenovic et al., "
      "2019); or a file that was written then");
}

DescriptorChoice DescriptorFlags::choice() const {
  DescriptorChoice choice = values;
  if (long_side >= 0) choice.long_side = long_side;
  if (dim >= 0) choice.dim = dim;
  if (begins_with(whiten, kTrain)) {
    choice.whitening = {.learn = true, .dim = dim_of(whiten, kTrain)};
  } else if (begins_with(whiten, kPairs)) {
    choice.whitening = {
        .learn = true, .from_pairs = true, .dim = dim_of(whiten, kPairs)};
  } else {
    choice.whitening.file = whiten;
  }
  return choice;
}

}  // namespace kith
