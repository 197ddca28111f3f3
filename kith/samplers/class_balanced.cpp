#include <algorithm>
#include <bit>
#include <numeric>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/rng.h"
#include "kith/samplers/classes.h"
#include "kith/samplers/sampler.h"

namespace kith {
namespace {

struct ClassBalancedOptions {
  int64_t batch = 400;
  int64_t per_class = 4;

  void describe(OptionSet& set) {
    set.add("batch", batch, "Images a batch; a multiple of per_class.")
        .range(2);
    set.add("per_class", per_class, "Images of each class in a batch.")
        .range(1);
  }
};

/// A warning names so many classes, and counts all.
constexpr size_t kClassesNamed = 100;

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

/// m images of each of M/m classes a batch. Each class's images are shuffled
/// and cut into groups of m; a batch takes one group from each of M/m
/// different classes, so no image repeats within an epoch. An epoch has as
/// many full batches as the groups allow: the largest T with
/// sum_c min(groups_c, T) >= T * M/m.
class ClassBalancedSampler final : public Sampler {
 public:
  static constexpr const char* kSummary =
      "m images of each of M/m classes (RS@k and most papers)";
  static constexpr PartFacts kFacts = {
      .formula =
          "groups_c = the images of class c, shuffled, m at a time\n"
          "batch    = one group of each of M/m classes, at most all classes\n"
          "epoch    = the largest T with sum_c min(groups_c, T) >= T M/m\n"
          "           batches; no image comes twice, and classes with fewer\n"
          "           than m images are left out",
      .source = "Patel, Tolias & Matas, CVPR 2022",
      .cost = "O(N + N/m log C) time, C classes, and O(N) memory an epoch"};
  using Options = ClassBalancedOptions;

  ClassBalancedSampler(const Options& options, const SamplerInput& input)
      : per_class_(options.per_class), seed_(input.seed) {
    check_multiple(options.batch, per_class_);
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

  std::vector<std::vector<int64_t>> epoch(
      const EpochInput& input) const override {
    Rng rng(seed_, Stream::kSampler, {input.epoch});
    ClassImages images = classes_;
    std::vector<int64_t> groups;  // left, by class
    for (auto& members : images) {
      rng.shuffle(members);
      groups.push_back(static_cast<int64_t>(members.size()) / per_class_);
    }
    const int64_t batches = count_batches(groups);
    drop_surplus(groups, batches, rng);

    ClassDeck deck(std::move(groups), batches);
    std::vector<std::vector<int64_t>> plan;
    for (int64_t b = 0; b < batches; ++b) {
      std::vector<int64_t> batch;
      for (size_t c : deck.deal(classes_a_batch_, rng)) {
        const auto last = images[c].end();
        batch.insert(batch.end(), last - per_class_, last);
        images[c].resize(images[c].size() - static_cast<size_t>(per_class_));
      }
      plan.push_back(std::move(batch));
    }
    return plan;
  }

 private:
  void group_by_class(const SamplerInput& input) {
    std::vector<std::string> small;
    for (auto& [label, members] :
         images_by_label(input.indices, input.labels)) {
      if (static_cast<int64_t>(members.size()) < per_class_) {
        small.push_back(std::to_string(label) + " (" +
                        std::to_string(members.size()) + ")");
      } else {
        classes_.push_back(std::move(members));
      }
    }
    if (classes_.empty()) {
      throw ConfigError("no training class has 'sampler.per_class' = " +
                        std::to_string(per_class_) +
                        " images; use a smaller value or more images a class");
    }
    if (!small.empty()) {
      const size_t count = small.size();
      if (count > kClassesNamed) {
        small.resize(kClassesNamed);
        small.emplace_back("...");
      }
      log_warning(std::to_string(count) +
                  " classes have fewer than sampler.per_class = " +
                  std::to_string(per_class_) +
                  " images and are left out: " + join(small));
    }
  }

  /// The largest T for which T batches of different classes exist.
  int64_t count_batches(const std::vector<int64_t>& groups) const {
    int64_t lo = 0;
    int64_t hi = std::accumulate(groups.begin(), groups.end(), int64_t{0}) /
                 classes_a_batch_;
    while (lo < hi) {
      const int64_t middle = (lo + hi + 1) / 2;
      int64_t usable = 0;
      for (int64_t g : groups) usable += std::min(g, middle);
      if (usable >= middle * classes_a_batch_) {
        lo = middle;
      } else {
        hi = middle - 1;
      }
    }
    return lo;
  }

  /// Leaves exactly batches * classes_a_batch_ groups, at most `batches` a
  /// class, the surplus dropped at random: then ClassDeck cannot fail.
  void drop_surplus(std::vector<int64_t>& groups, int64_t batches,
                    Rng& rng) const {
    std::vector<size_t> owners;  // one entry a usable group
    for (size_t c = 0; c < groups.size(); ++c) {
      groups[c] = std::min(groups[c], batches);
      owners.insert(owners.end(), static_cast<size_t>(groups[c]), c);
    }
    rng.shuffle(owners);
    const auto wanted = static_cast<size_t>(batches * classes_a_batch_);
    for (size_t i = wanted; i < owners.size(); ++i) --groups[owners[i]];
  }

  int64_t per_class_;
  uint64_t seed_;
  int64_t classes_a_batch_ = 0;
  ClassImages classes_;
};

}  // namespace

KITH_REGISTER(sampler_registry(), "class_balanced", ClassBalancedSampler);

}  // namespace kith
