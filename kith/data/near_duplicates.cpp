#include "kith/data/near_duplicates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"

namespace kith {
namespace {

/// How far apart the projections of near duplicates can be: unit vectors with
/// inner product r are sqrt(2 - 2r) apart, and no projection is further apart
/// than that. A little more, for rounding.
double window() { return std::sqrt(2 - 2 * kDuplicateCorrelation) + 1e-6; }

/// The thumbnail, shifted to mean 0 and scaled to unit length, projected on two
/// unit vectors: above zero in the upper half and below in the lower; above in
/// the left half and below in the right.
struct Balance {
  double vertical = 0;
  double horizontal = 0;
};

Balance balance(const Fingerprint& print) {
  constexpr int kMiddle = Fingerprint::kWidth / 2;  // of an odd width: no side
  constexpr int kSides = (Fingerprint::kWidth - 1) * Fingerprint::kHeight;
  const auto count = static_cast<int64_t>(print.grey.size());
  int64_t sum = 0;
  int64_t squares = 0;
  int64_t vertical = 0;
  int64_t horizontal = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t grey = print.grey[static_cast<size_t>(i)];
    const int64_t x = i % Fingerprint::kWidth;
    sum += grey;
    squares += grey * grey;
    vertical += i < count / 2 ? grey : -grey;
    horizontal += x < kMiddle ? grey : x > kMiddle ? -grey : 0;
  }
  const double length =
      std::sqrt(static_cast<double>(squares) -
                static_cast<double>(sum * sum) / static_cast<double>(count));
  return {static_cast<double>(vertical) /
              (length * std::sqrt(static_cast<double>(count))),
          static_cast<double>(horizontal) / (length * std::sqrt(kSides))};
}

/// What the sweep reads, side by side in memory: one cache line.
struct Candidate {
  Balance balance;
  std::array<uint64_t, 4> bits = {};
  int64_t position = 0;
  const Fingerprint* print = nullptr;
};

/// The pictures that are not flat, by vertical balance.
std::vector<Candidate> sorted_candidates(
    const std::vector<Fingerprint>& prints) {
  std::vector<Candidate> result;
  for (size_t i = 0; i < prints.size(); ++i) {
    if (prints[i].flat) continue;
    result.push_back({balance(prints[i]), prints[i].bits,
                      static_cast<int64_t>(i), &prints[i]});
  }
  std::sort(result.begin(), result.end(),
            [](const Candidate& a, const Candidate& b) {
              return std::tie(a.balance.vertical, a.position) <
                     std::tie(b.balance.vertical, b.position);
            });
  return result;
}

/// Calls match(position, distance) for the near duplicates among candidates.
template <class Match>
void for_each_match(const std::vector<Candidate>& candidates,
                    const Fingerprint& print, const Match& match) {
  const Balance own = balance(print);
  const double apart = window();
  auto near = std::lower_bound(candidates.begin(), candidates.end(),
                               own.vertical - apart,
                               [](const Candidate& c, double value) {
                                 return c.balance.vertical < value;
                               });
  for (; near != candidates.end() &&
         near->balance.vertical <= own.vertical + apart;
       ++near) {
    if (std::abs(near->balance.horizontal - own.horizontal) > apart) continue;
    const int distance = hash_distance(near->bits, print.bits);
    if (distance <= kDuplicateBits &&
        thumbnail_correlation(*near->print, print) >= kDuplicateCorrelation) {
      match(near->position, distance);
    }
  }
}

bool before(const DuplicatePair& a, const DuplicatePair& b) {
  return std::tie(a.distance, a.train, a.test) <
         std::tie(b.distance, b.train, b.test);
}

/// Keeps the first `limit` pairs; at most twice as many meanwhile.
class FirstPairs {
 public:
  explicit FirstPairs(int64_t limit)
      : limit_(static_cast<size_t>(std::max<int64_t>(limit, 0))) {}

  void add(const DuplicatePair& pair) {
    pairs_.push_back(pair);
    if (pairs_.size() > 2 * limit_) cut();
  }

  std::vector<DuplicatePair> sorted() {
    cut();
    return std::move(pairs_);
  }

 private:
  void cut() {
    std::sort(pairs_.begin(), pairs_.end(), before);
    pairs_.resize(std::min(pairs_.size(), limit_));
  }

  size_t limit_;
  std::vector<DuplicatePair> pairs_;
};

}  // namespace

NearDuplicates near_duplicates(const std::vector<Fingerprint>& train,
                               const std::vector<Fingerprint>& test,
                               int64_t limit) {
  const std::vector<Candidate> candidates = sorted_candidates(train);
  NearDuplicates result;
  result.train_flat = static_cast<int64_t>(train.size() - candidates.size());
  FirstPairs pairs(limit);
  std::vector<bool> found(train.size());
  for (size_t t = 0; t < test.size(); ++t) {
    if (test[t].flat) {
      ++result.test_flat;
      continue;
    }
    const int64_t before_this = result.count;
    for_each_match(candidates, test[t], [&](int64_t position, int distance) {
      ++result.count;
      found[static_cast<size_t>(position)] = true;
      pairs.add({position, static_cast<int64_t>(t), distance});
    });
    result.test_pictures += result.count > before_this ? 1 : 0;
  }
  result.train_pictures = std::count(found.begin(), found.end(), true);
  result.pairs = pairs.sorted();
  return result;
}

std::string near_duplicates_json(const NearDuplicates& found,
                                 const ImageList& list,
                                 const std::vector<int64_t>& train,
                                 const std::vector<int64_t>& test) {
  using nlohmann::ordered_json;
  const auto item = [&list](const std::vector<int64_t>& positions,
                            int64_t position) -> const Item& {
    return list.items.at(
        static_cast<size_t>(positions.at(static_cast<size_t>(position))));
  };
  ordered_json pairs = ordered_json::array();
  for (const DuplicatePair& pair : found.pairs) {
    const Item& a = item(train, pair.train);
    const Item& b = item(test, pair.test);
    ordered_json entry = {{"distance", pair.distance}};
    set_path(entry, "train", a.path);
    entry["train_class"] = list.class_name(a.label);
    set_path(entry, "test", b.path);
    entry["test_class"] = list.class_name(b.label);
    pairs.push_back(std::move(entry));
  }
  const ordered_json json = {
      {"rule",
       "pictures of train and test whose grey 17 x 16 thumbnails correlate at "
       "least 0.995, with at most 40 of 256 bits of the difference hash "
       "different (distance); pictures that show nothing (flat) are not "
       "compared"},
      {"count", found.count},
      {"test_images", found.test_pictures},
      {"train_images", found.train_pictures},
      {"test_flat", found.test_flat},
      {"train_flat", found.train_flat},
      {"listed", found.pairs.size()},
      {"pairs", pairs}};
  return json_text(json, -1);
}

}  // namespace kith
