#include "kith/samplers/category_hard.h"

#include <algorithm>
#include <map>

#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {

const char* const CategoryHardSampler::kSummary =
    "whole classes of two categories per batch (FastAP, hard)";

const PartFacts CategoryHardSampler::kFacts = {
    .formula =
        "batch = M/2 images of whole classes of one category, and M/2 of\n"
        "        another; a category that has fewer gives all of them, and\n"
        "        the other fills the batch\n"
        "epoch = every pair of categories x batches_per_pair\n"
        "where some images have no category:\n"
        "batch = M/2 images of one category, M/2 of classes without one\n"
        "epoch = sum over categories c of 2 N_c / M, rounded up",
    .source = "Cakir et al., CVPR 2019 (supplement)",
    .cost = "O(N + M batches) time and memory an epoch"};

void CategoryHardSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch; an even number.").range(2);
  set.add("batches_per_pair", batches_per_pair,
          "Batches of each pair of categories in an epoch (5 for Stanford "
          "Online Products, 2 for In-Shop); not used where some images have "
          "no category.")
      .range(1);
}

CategoryHardSampler::CategoryHardSampler(const Options& options,
                                         const SamplerInput& input)
    : batch_(checked(options, "category_hard").batch), seed_(input.seed) {
  if (batch_ % 2 != 0) {
    throw ConfigError("'category_hard.batch' (" + std::to_string(batch_) +
                      ") must be even");
  }
  count_full_batches(static_cast<int64_t>(input.indices.size()), batch_,
                     "category_hard");
  group_by_category(input);
  pair_categories(options.batches_per_pair);
  note_small_categories();
}

std::vector<std::vector<int64_t>> CategoryHardSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<ImageRow> rows;
  for (const Category& category : categories_) {
    rows.emplace_back(category.classes, rng);
  }
  std::vector<std::pair<size_t, size_t>> pairs = pairs_;
  rng.shuffle(pairs);
  std::vector<std::vector<int64_t>> plan;
  for (const auto& [first, second] : pairs) {
    std::vector<int64_t> batch;
    const auto [of_first, of_second] =
        share(rows[first].size(), rows[second].size());
    rows[first].take(of_first, batch);
    rows[second].take(of_second, batch);
    plan.push_back(std::move(batch));
  }
  return plan;
}

void CategoryHardSampler::group_by_category(const SamplerInput& input) {
  if (std::all_of(input.categories.begin(), input.categories.end(),
                  [](const std::string& name) { return name.empty(); })) {
    throw ConfigError(
        "sampler 'category_hard' needs categories of classes, and the "
        "training images have none; give them in the data (column "
        "'category' of a list), or use 'sampler.name: whole_classes'");
  }
  KITH_ASSERT(input.categories.size() == input.indices.size());
  std::map<std::string, SamplerInput> parts;
  for (size_t i = 0; i < input.indices.size(); ++i) {
    SamplerInput& part = parts[input.categories[i]];
    part.indices.push_back(input.indices[i]);
    part.labels.push_back(input.labels[i]);
  }
  for (const auto& [name, part] : parts) {
    categories_.push_back({name, static_cast<int64_t>(part.indices.size()),
                           images_by_class(part.indices, part.labels)});
  }
}

void CategoryHardSampler::pair_categories(int64_t batches_per_pair) {
  const size_t count = categories_.size();
  if (categories_[0].name.empty()) {
    for (size_t c = 1; c < count; ++c) {
      const int64_t batches = (2 * categories_[c].images + batch_ - 1) / batch_;
      pairs_.insert(pairs_.end(), static_cast<size_t>(batches), {c, 0});
    }
    log_info(std::to_string(categories_[0].images) +
             " images have no category: half of every batch is of these, "
             "and batches_per_pair is not used");
    return;
  }
  if (count < 2) {
    throw ConfigError(
        "sampler 'category_hard' needs two categories, and all training "
        "images are of '" +
        categories_[0].name + "'; use 'sampler.name: whole_classes'");
  }
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      pairs_.insert(pairs_.end(), static_cast<size_t>(batches_per_pair),
                    {a, b});
    }
  }
}

void CategoryHardSampler::note_small_categories() const {
  std::vector<std::string> small;
  for (const Category& category : categories_) {
    if (category.images * 2 < batch_) {
      small.push_back("'" + category.name + "' (" +
                      std::to_string(category.images) + ")");
    }
  }
  if (small.empty()) return;
  log_info("categories with fewer images than half of sampler.batch = " +
           std::to_string(batch_) +
           " are whole in each of their batches: " + join(small));
}

std::pair<size_t, size_t> CategoryHardSampler::share(size_t first,
                                                     size_t second) const {
  const auto all = static_cast<size_t>(batch_);
  const size_t half = all / 2;
  const size_t of_second = std::min(second, all - std::min(first, half));
  return {std::min(first, all - std::min(of_second, half)), of_second};
}

KITH_REGISTER(sampler_registry(), "category_hard", CategoryHardSampler);

}  // namespace kith
