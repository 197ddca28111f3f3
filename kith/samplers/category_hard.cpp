#include "kith/samplers/category_hard.h"

#include <algorithm>
#include <map>
#include <numeric>

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
        "with `categories_per_batch` K: M/K images of each of K, every set of "
        "K\n"
        "where some images have no category:\n"
        "batch = M/2 images of one category, M/2 of classes without one\n"
        "epoch = sum over categories c of 2 N_c / M, rounded up",
    .source = "Cakir et al., CVPR 2019 (supplement)",
    .cost = "O(N + M batches) time and memory an epoch"};

void CategoryHardSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch,
          "Images per batch; a multiple of `categories_per_batch`.")
      .range(2);
  set.add("categories_per_batch", categories_per_batch,
          "2 as published; 1: only hard negatives; more: "
          "fewer of them.")
      .range(1);
  set.add("batches_per_pair", batches_per_pair,
          "Batches of each pair of categories in an epoch (5 for Stanford "
          "Online Products, 2 for In-Shop), or of each set of "
          "`categories_per_batch`; "
          "not used where some images have no category.")
      .range(1);
}

CategoryHardSampler::CategoryHardSampler(const Options& options,
                                         const SamplerInput& input)
    : batch_(checked(options, "category_hard").batch),
      per_batch_(static_cast<size_t>(options.categories_per_batch)),
      seed_(input.seed) {
  if (batch_ % options.categories_per_batch != 0) {
    throw ConfigError(
        "'category_hard.batch' (" + std::to_string(batch_) +
        ") must be a multiple of 'category_hard.categories_per_batch' (" +
        std::to_string(per_batch_) + ")");
  }
  count_full_batches(static_cast<int64_t>(input.indices.size()), batch_,
                     "category_hard");
  group_by_category(input);
  if (categories_[0].name.empty()) {
    choose_with_unlabelled();
  } else {
    choose_sets(options.batches_per_pair);
  }
  note_small_categories();
}

std::vector<std::vector<int64_t>> CategoryHardSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<ImageRow> rows;
  for (const Category& category : categories_) {
    rows.emplace_back(category.classes, rng);
  }
  std::vector<CategorySet> sets = sets_;
  rng.shuffle(sets);
  std::vector<std::vector<int64_t>> plan;
  for (const CategorySet& set : sets) {
    std::vector<size_t> sizes;
    for (const size_t c : set) sizes.push_back(rows[c].size());
    const std::vector<size_t> counts = shares(sizes);
    std::vector<int64_t> batch;
    for (size_t i = 0; i < set.size(); ++i) {
      rows[set[i]].take(counts[i], batch);
    }
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

void CategoryHardSampler::choose_with_unlabelled() {
  if (per_batch_ > 2) {
    throw ConfigError(
        "'category_hard.categories_per_batch' is " +
        std::to_string(per_batch_) + ", and " +
        std::to_string(categories_[0].images) +
        " training images have no category, which goes with 1 or 2 only");
  }
  const auto share = batch_ / static_cast<int64_t>(per_batch_);
  for (size_t c = 1; c < categories_.size(); ++c) {
    const int64_t batches = (categories_[c].images + share - 1) / share;
    CategorySet set = {c};
    if (per_batch_ == 2) set.push_back(0);
    sets_.insert(sets_.end(), static_cast<size_t>(batches), set);
  }
  log_info(std::to_string(categories_[0].images) +
           " images have no category: " +
           (per_batch_ == 2 ? "half of every batch is of these"
                            : "they are not used") +
           ", and batches_per_pair is not used");
}

void CategoryHardSampler::choose_sets(int64_t batches_per_set) {
  constexpr size_t kMostBatches = 1'000'000;
  const size_t count = categories_.size();
  if (count < per_batch_) {
    throw ConfigError(
        "sampler 'category_hard' needs " +
        (per_batch_ == 2 ? "two" : std::to_string(per_batch_)) +
        " categories, and " +
        (count == 1 ? "all training images are of '" + categories_[0].name + "'"
                    : "the training images have " + std::to_string(count)) +
        "; use 'sampler.name: whole_classes'" +
        (per_batch_ == 2 ? ""
                         : ", or set 'sampler.categories_per_batch' to fewer"));
  }
  // Sets of rising positions, in the order of the first that differs.
  CategorySet set(per_batch_);
  std::iota(set.begin(), set.end(), size_t{0});
  while (true) {
    sets_.insert(sets_.end(), static_cast<size_t>(batches_per_set), set);
    if (sets_.size() > kMostBatches) {
      throw ConfigError("'category_hard.categories_per_batch' is " +
                        std::to_string(per_batch_) + " of " +
                        std::to_string(count) +
                        ", which makes more than a million batches an epoch: "
                        "set it to fewer");
    }
    size_t last = per_batch_;
    while (last > 0 && set[last - 1] == count - per_batch_ + last - 1) --last;
    if (last == 0) return;
    ++set[last - 1];
    for (size_t i = last; i < per_batch_; ++i) set[i] = set[i - 1] + 1;
  }
}

void CategoryHardSampler::note_small_categories() const {
  const auto per_batch = static_cast<int64_t>(per_batch_);
  std::vector<std::string> small;
  for (const Category& category : categories_) {
    if (category.images * per_batch < batch_) {
      small.push_back("'" + category.name + "' (" +
                      std::to_string(category.images) + ")");
    }
  }
  if (small.empty()) return;
  log_info("categories with fewer images than " +
           (per_batch_ == 1   ? std::string()
            : per_batch_ == 2 ? "half of "
                              : "1 / " + std::to_string(per_batch_) + " of ") +
           "sampler.batch = " + std::to_string(batch_) +
           " are whole in each of their batches: " + join(small));
}

std::vector<size_t> CategoryHardSampler::shares(
    const std::vector<size_t>& sizes) const {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] < sizes[b]; });
  std::vector<size_t> counts(sizes.size());
  auto left = static_cast<size_t>(batch_);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t even = left / (order.size() - i);
    counts[order[i]] = std::min(sizes[order[i]], even);
    left -= counts[order[i]];
  }
  return counts;
}

KITH_REGISTER(sampler_registry(), "category_hard", CategoryHardSampler);

}  // namespace kith
