#include "kith/samplers/class_balanced.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {
namespace {

/// Deals classes to batches so that every group is used exactly once and no
/// class comes twice in a batch. Needs sum(groups) == batches * n and no class
/// with more than `batches` groups. A class with as many groups as batches are
/// left must be in all of them; the other places are drawn in proportion to
/// the groups that classes have left. O(log classes) a draw (Fenwick tree).
class ClassDeck {
 public:
  ClassDeck(std::vector<int64_t> groups, int64_t batches)
      : groups_(std::move(groups)),
        batches_left_(batches),
        tree_(groups_.size() + 1, 0),
        by_count_(static_cast<size_t>(batches) + 1) {
    for (size_t c = 0; c < groups_.size(); ++c) {
      add(c, groups_[c]);
      by_count_[static_cast<size_t>(groups_[c])].push_back(c);
    }
  }

  /// The n classes of the next batch, in random order.
  std::vector<size_t> deal(int64_t n, Rng& rng) {
    for (size_t c : by_count_[static_cast<size_t>(batches_left_)]) {
      if (groups_[c] != batches_left_) continue;  // has been dealt since
      required_.push_back(c);
      add(c, -groups_[c]);
    }
    std::vector<size_t> chosen = required_;
    while (static_cast<int64_t>(chosen.size()) < n) {
      const size_t c =
          find(static_cast<int64_t>(rng.below(static_cast<uint64_t>(total_))));
      chosen.push_back(c);
      add(c, -groups_[c]);  // not twice in this batch
    }
    for (size_t i = 0; i < chosen.size(); ++i) {
      const size_t c = chosen[i];
      const int64_t left = --groups_[c];
      if (i < required_.size()) continue;
      add(c, left);
      by_count_[static_cast<size_t>(left)].push_back(c);
    }
    --batches_left_;
    rng.shuffle(chosen);
    return chosen;
  }

 private:
  void add(size_t c, int64_t weight) {
    total_ += weight;
    for (size_t i = c + 1; i < tree_.size(); i += i & (~i + 1)) {
      tree_[i] += weight;
    }
  }

  /// The class that holds ticket number `ticket` of [0, total_).
  size_t find(int64_t ticket) const {
    size_t position = 0;
    for (size_t step = std::bit_floor(tree_.size()); step > 0; step /= 2) {
      if (position + step < tree_.size() && tree_[position + step] <= ticket) {
        position += step;
        ticket -= tree_[position];
      }
    }
    return position;
  }

  std::vector<int64_t> groups_;  ///< Left, by class.
  int64_t batches_left_;
  std::vector<int64_t> tree_;  ///< Sums of the groups of optional classes.
  int64_t total_ = 0;
  std::vector<std::vector<size_t>> by_count_;  ///< Classes once at a count.
  std::vector<size_t> required_;               ///< In every batch from now on.
};

/// How many groups of m class mates an epoch takes from each class.
struct EpochPlan {
  int64_t batches = 0;
  std::vector<int64_t> groups;  ///< Of a class's images, once round.
};

/// Of classes of at least m images, k of them a batch. G whole groups make G/k
/// batches if no class has more groups than that. Otherwise small classes have
/// to come again so that large ones are used up: then images that fill no whole
/// group are used too, and there are as many batches as the largest class
/// needs, unless these are more than twice G/k, with more repeats than new
/// images.
EpochPlan plan_epoch(const ClassImages& classes, int64_t m, int64_t k) {
  const auto plan = [&](bool all) {
    EpochPlan made;
    for (const std::vector<int64_t>& members : classes) {
      const auto images = static_cast<int64_t>(members.size());
      made.groups.push_back((all ? images + m - 1 : images) / m);
    }
    const int64_t sum =
        std::accumulate(made.groups.begin(), made.groups.end(), int64_t{0});
    made.batches = (all ? sum + k - 1 : sum) / k;
    return made;
  };
  const auto largest = [](const EpochPlan& of) {
    return *std::max_element(of.groups.begin(), of.groups.end());
  };
  EpochPlan once = plan(/*all=*/false);
  if (largest(once) <= once.batches) return once;
  EpochPlan again = plan(/*all=*/true);
  if (largest(again) <= 2 * again.batches) {
    again.batches = std::max(again.batches, largest(again));
  }
  return again;
}

/// The images of a class in random order, m at a time; when they are used up,
/// all of them once more. No image comes again before every other has come,
/// nor twice in a group.
class ImageDeck {
 public:
  ImageDeck(const std::vector<int64_t>& members, Rng& rng)
      : members_(&members), left_(members) {
    rng.shuffle(left_);
  }

  void take(size_t m, Rng& rng, std::vector<int64_t>& batch) {
    if (left_.size() < m) refill(rng);
    const auto last = left_.end();
    batch.insert(batch.end(), last - static_cast<std::ptrdiff_t>(m), last);
    left_.resize(left_.size() - m);
  }

 private:
  /// Those that are left come first, at the end of the list, and come again
  /// last.
  void refill(Rng& rng) {
    std::vector<int64_t> next = *members_;
    rng.shuffle(next);
    std::stable_partition(next.begin(), next.end(), [this](int64_t image) {
      return std::count(left_.begin(), left_.end(), image) > 0;
    });
    next.insert(next.end(), left_.begin(), left_.end());
    left_ = std::move(next);
  }

  const std::vector<int64_t>* members_;
  std::vector<int64_t> left_;
};

/// The groups of each class in an epoch, at most one a batch, so that all
/// places of the batches are taken: rounds over all classes, and of the last
/// one as many groups as are needed, drawn at random.
std::vector<int64_t> fill_places(const EpochPlan& epoch,
                                 int64_t classes_a_batch, Rng& rng) {
  std::vector<int64_t> taken(epoch.groups.size(), 0);
  int64_t places = epoch.batches * classes_a_batch;
  while (true) {
    std::vector<size_t> owners;  // one entry a group of this round
    for (size_t c = 0; c < taken.size(); ++c) {
      const int64_t more = std::min(epoch.groups[c], epoch.batches - taken[c]);
      owners.insert(owners.end(), static_cast<size_t>(more), c);
    }
    const bool is_last = static_cast<int64_t>(owners.size()) >= places;
    if (is_last) {
      rng.shuffle(owners);
      owners.resize(static_cast<size_t>(places));
    }
    for (const size_t c : owners) ++taken[c];
    if (is_last) return taken;
    places -= static_cast<int64_t>(owners.size());
  }
}

}  // namespace

const char* const ClassBalancedSampler::kSummary =
    "m images of each of M/m classes (RS@k and most papers)";

const PartFacts ClassBalancedSampler::kFacts = {
    .formula =
        "groups_c = the images of class c, shuffled, m at a time\n"
        "batch    = one group of each of K = M/m classes, at most all\n"
        "epoch    = T = sum_c groups_c / K batches if no class has more\n"
        "           groups; no image comes twice\n"
        "           otherwise T = max_c groups_c: every image is used, and\n"
        "           smaller classes start again to fill the batches\n"
        "           (T = sum_c groups_c / K if the maximum is more than\n"
        "           twice that: the largest classes are not used up)\n"
        "classes with fewer than m images are left out",
    .source = "Patel, Tolias & Matas, CVPR 2022",
    .cost =
        "O(N + T M/m log C) time, C classes, and O(N + T M) memory an "
        "epoch"};

void ClassBalancedSamplerOptions::describe(OptionSet& set) {
  set.add("batch", batch, "Images per batch; a multiple of per_class.")
      .range(2);
  set.add("per_class", per_class, "Images of each class in a batch.").range(1);
}

ClassBalancedSampler::ClassBalancedSampler(const Options& options,
                                           const SamplerInput& input)
    : per_class_(checked(options, "class_balanced").per_class),
      seed_(input.seed) {
  check_multiple(options.batch, per_class_, "class_balanced");
  group_by_class(input);
  classes_a_batch_ = options.batch / per_class_;
  const auto classes = static_cast<int64_t>(classes_.size());
  if (classes_a_batch_ > classes) {
    classes_a_batch_ = classes;
    log_info("sampler.batch is " + std::to_string(options.batch) +
             ", but there are only " + std::to_string(classes) +
             " classes: batches have " + std::to_string(classes) + " x " +
             std::to_string(per_class_) + " = " +
             std::to_string(classes * per_class_) + " images");
  }
}

std::vector<std::vector<int64_t>> ClassBalancedSampler::epoch(
    const EpochInput& input) const {
  Rng rng(seed_, Stream::kSampler, {input.epoch});
  std::vector<ImageDeck> images;
  for (const auto& members : classes_) images.emplace_back(members, rng);
  const EpochPlan epoch = plan_epoch(classes_, per_class_, classes_a_batch_);
  ClassDeck deck(fill_places(epoch, classes_a_batch_, rng), epoch.batches);
  std::vector<std::vector<int64_t>> plan;
  for (int64_t b = 0; b < epoch.batches; ++b) {
    std::vector<int64_t> batch;
    for (size_t c : deck.deal(classes_a_batch_, rng)) {
      images[c].take(static_cast<size_t>(per_class_), rng, batch);
    }
    plan.push_back(std::move(batch));
  }
  return plan;
}

void ClassBalancedSampler::group_by_class(const SamplerInput& input) {
  std::vector<int64_t> small;
  for (auto& [label, members] : images_by_label(input.indices, input.labels)) {
    if (static_cast<int64_t>(members.size()) < per_class_) {
      small.push_back(label);
    } else {
      classes_.push_back(std::move(members));
    }
  }
  if (classes_.empty()) {
    throw ConfigError("no training class has 'class_balanced.per_class' = " +
                      std::to_string(per_class_) +
                      " images; use a smaller value or more images per class");
  }
  if (!small.empty()) {
    log_warning(std::to_string(small.size()) +
                " classes have fewer than sampler.per_class = " +
                std::to_string(per_class_) +
                " images and are left out: " + name_classes(small, input));
  }
}

KITH_REGISTER(sampler_registry(), "class_balanced", ClassBalancedSampler);

}  // namespace kith
