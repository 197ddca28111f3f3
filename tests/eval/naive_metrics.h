#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/tensor.h"

/// Metrics by their definitions, in float64 and from full sorts: slow, plain,
/// and with nothing of kith's own code.
namespace kith::naive {

/// One query's gallery, nearest first, without the query and its junk.
struct Ranking {
  std::vector<bool> hit;
  double own = 0;  ///< 1 if the query itself is in the gallery.

  double positives() const { return hits(1e9); }
  double class_size() const { return positives() + own; }
  double hits(double k) const {
    double count = 0;
    for (size_t i = 0; i < hit.size() && double(i) < k; ++i) count += hit[i];
    return count;
  }
  double precision(double k) const { return hits(k) / k; }
  /// Sum over the places i <= k of positives of precision@i.
  double precisions(double k) const {
    double sum = 0;
    for (size_t i = 0; i < hit.size() && double(i) < k; ++i) {
      if (hit[i]) sum += precision(double(i) + 1);
    }
    return sum;
  }
  double first() const {
    return 1 + double(std::find(hit.begin(), hit.end(), true) - hit.begin());
  }
  double last() const {
    return double(hit.size()) -
           double(std::find(hit.rbegin(), hit.rend(), true) - hit.rbegin());
  }
  double gain(double k) const {
    double sum = 0;
    for (size_t i = 0; i < hit.size() && double(i) < k; ++i) {
      if (hit[i]) sum += 1 / std::log2(double(i) + 2);
    }
    return sum;
  }
  Ranking ideal() const {
    Ranking sorted = *this;
    std::sort(sorted.hit.begin(), sorted.hit.end(), std::greater<>());
    return sorted;
  }
};

inline double trapezoid(const Ranking& r) {
  double sum = 0;
  for (size_t i = 0; i < r.hit.size(); ++i) {
    if (!r.hit[i]) continue;
    const double before = i == 0 ? 1 : r.precision(double(i));
    sum += (before + r.precision(double(i) + 1)) / 2;
  }
  return sum / r.positives();
}

/// Of every metric by query, with the number after the @.
using RankFunction = double (*)(const Ranking&, double k);

inline const std::map<std::string, RankFunction>& rank_metrics() {
  using R = Ranking;
  static const std::map<std::string, RankFunction> all = {
      {"recall_any",
       [](const R& r, double k) { return r.hits(k) > 0 ? 1. : 0.; }},
      {"recall_fraction",
       [](const R& r, double k) { return r.hits(k) / r.positives(); }},
      {"recall_fraction_min",
       [](const R& r, double k) {
         return r.hits(k) / std::min(k, r.positives());
       }},
      {"precision", [](const R& r, double k) { return r.precision(k); }},
      {"ndcg",
       [](const R& r, double k) { return r.gain(k) / r.ideal().gain(k); }},
      {"r_precision",
       [](const R& r, double) { return r.precision(r.positives()); }},
      {"precision_c",
       [](const R& r, double) { return r.precision(r.class_size()); }},
      {"map_at_r",
       [](const R& r, double) {
         return r.precisions(r.positives()) / r.positives();
       }},
      {"map_c",
       [](const R& r, double) {
         return r.precisions(r.class_size()) / r.class_size();
       }},
      {"map_1000",
       [](const R& r, double) { return r.precisions(1000) / r.class_size(); }},
      {"map",
       [](const R& r, double k) {
         return r.precisions(k) / std::min(k, r.positives());
       }},
      {"map_trapezoid", [](const R& r, double) { return trapezoid(r); }},
      {"mp",
       [](const R& r, double k) { return r.precision(std::min(k, r.last())); }},
      {"mrr", [](const R& r, double) { return 1 / r.first(); }}};
  return all;
}

/// All items of a set, searched among themselves.
struct Set {
  Tensor unit;  ///< [N, D] unit rows in double.
  std::vector<int64_t> labels;
  std::vector<int64_t> clusters;

  int64_t count() const { return unit.size(0); }
  /// As kith compares: rounded to float32 once.
  Tensor similarities() const {
    return torch::mm(unit, unit.t()).to(torch::kFloat).to(torch::kDouble);
  }
  std::map<int64_t, std::vector<int64_t>> classes() const {
    std::map<int64_t, std::vector<int64_t>> all;
    for (size_t i = 0; i < labels.size(); ++i) {
      all[labels[i]].push_back(int64_t(i));
    }
    return all;
  }
  Tensor rows(const std::vector<int64_t>& items) const {
    return unit.index_select(0, torch::tensor(items, torch::kLong));
  }
};

using Numbers = std::vector<double>;

/// Largest first, divided by their sum; what rounding leaves of zero is zero.
inline Numbers singular_values(const Tensor& rows) {
  Tensor s = torch::linalg_svdvals(rows);
  s = s.masked_fill(s < 1e-6 * s[0], 0);
  s = (s / s.sum()).contiguous();
  return {s.data_ptr<double>(), s.data_ptr<double>() + s.numel()};
}

inline double mean_distance(const Tensor& rows) {
  double sum = 0;
  double pairs = 0;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    for (int64_t j = 0; j < i; ++j, ++pairs) {
      sum += 1 - rows[i].dot(rows[j]).item<double>();
    }
  }
  return std::abs(sum / pairs) < 1e-12 ? 0 : sum / pairs;  // but for rounding
}

inline double intra(const Set& set) {
  double sum = 0;
  double count = 0;
  for (const auto& [label, items] : set.classes()) {
    if (items.size() < 2) continue;
    sum += mean_distance(set.rows(items));
    ++count;
  }
  return sum / count;
}

inline double inter(const Set& set) {
  std::vector<Tensor> means;
  for (const auto& [label, items] : set.classes()) {
    const Tensor mean = set.rows(items).mean(0);
    means.push_back(mean / mean.norm());
  }
  return mean_distance(torch::stack(means));
}

inline Numbers rho_of(const Numbers& values) {
  double sum = 0;
  for (const double value : values) {
    sum -= std::log(value * double(values.size())) / double(values.size());
  }
  return {sum};
}

/// Singular values that are not zero.
inline Numbers occupied(const Set& set) {
  Numbers values = singular_values(set.unit);
  std::erase(values, 0.0);
  return values;
}

inline Numbers class_spectrum(const Set& set) {
  Numbers sums;
  double count = 0;
  for (const auto& [label, items] : set.classes()) {
    if (items.size() < 2) continue;
    const Numbers own = singular_values(set.rows(items));
    sums.resize(std::max(sums.size(), own.size()));
    for (size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
    ++count;
  }
  for (double& sum : sums) sum /= count;
  return sums;
}

/// Of the pairs that are more similar than the least threshold that so few
/// negatives pass.
inline Numbers tar(const Set& set, double far) {
  const Tensor all = set.similarities();
  Numbers positive;
  Numbers negative;
  for (int64_t i = 0; i < set.count(); ++i) {
    for (int64_t j = 0; j < i; ++j) {
      const bool same = set.labels[size_t(i)] == set.labels[size_t(j)];
      (same ? positive : negative).push_back(all[i][j].item<double>());
    }
  }
  std::sort(negative.begin(), negative.end(), std::greater<>());
  const auto allowed = size_t(std::floor(far * double(negative.size()) + 1e-9));
  const double threshold = allowed == negative.size()
                               ? -std::numeric_limits<double>::infinity()
                               : negative[allowed];
  const auto accepted = std::count_if(positive.begin(), positive.end(),
                                      [&](double s) { return s > threshold; });
  return {double(accepted) / double(positive.size())};
}

inline double entropy(const std::map<std::pair<int64_t, int64_t>, double>& p) {
  double sum = 0;
  for (const auto& [key, value] : p) sum -= value * std::log(value);
  return sum;
}

inline Numbers nmi(const Set& set) {
  std::map<std::pair<int64_t, int64_t>, double> both;
  std::map<std::pair<int64_t, int64_t>, double> classes;
  std::map<std::pair<int64_t, int64_t>, double> clusters;
  const double share = 1 / double(set.count());
  for (size_t i = 0; i < set.labels.size(); ++i) {
    both[{set.labels[i], set.clusters[i]}] += share;
    classes[{set.labels[i], 0}] += share;
    clusters[{0, set.clusters[i]}] += share;
  }
  const double sum = entropy(classes) + entropy(clusters);
  return {2 * (sum - entropy(both)) / sum};
}

inline Numbers f1(const Set& set) {
  double both = 0;
  double in_class = 0;
  double in_cluster = 0;
  for (size_t i = 0; i < set.labels.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool same = set.labels[i] == set.labels[j];
      const bool together = set.clusters[i] == set.clusters[j];
      both += same && together;
      in_class += same;
      in_cluster += together;
    }
  }
  return {2 * both / (in_class + in_cluster)};
}

using SetFunction = Numbers (*)(const Set&, double at);

/// Of every metric of a set but `ami`, whose definition is long.
inline const std::map<std::string, SetFunction>& set_metrics() {
  static const std::map<std::string, SetFunction> all = {
      {"intra", [](const Set& s, double) { return Numbers{intra(s)}; }},
      {"inter", [](const Set& s, double) { return Numbers{inter(s)}; }},
      {"intra_over_inter",
       [](const Set& s, double) { return Numbers{intra(s) / inter(s)}; }},
      {"rho",
       [](const Set& s, double) { return rho_of(singular_values(s.unit)); }},
      {"rho_occupied",
       [](const Set& s, double) { return rho_of(occupied(s)); }},
      {"occupied", [](const Set& s,
                      double) { return Numbers{double(occupied(s).size())}; }},
      {"spectrum",
       [](const Set& s, double) { return singular_values(s.unit); }},
      {"class_spectrum",
       [](const Set& s, double) { return class_spectrum(s); }},
      {"tar", [](const Set& s, double far) { return tar(s, far); }},
      {"nmi", [](const Set& s, double) { return nmi(s); }},
      {"f1", [](const Set& s, double) { return f1(s); }}};
  return all;
}

}  // namespace kith::naive
