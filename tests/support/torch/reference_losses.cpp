#include "tests/support/torch/reference_losses.h"

#include <algorithm>
#include <functional>
#include <map>

#include <torch/torch.h>

namespace kith {
namespace {

/// A row of similarities, split.
struct Row {
  Tensor positives;  ///< [P] same class, without the row itself
  Tensor negatives;  ///< [N]
  Tensor self;       ///< [1], or [0] if it is not a column
};

Row row_of(const Similarities& in, int64_t i) {
  Tensor same = in.column_labels == in.row_labels[i];
  const Tensor negative = same.logical_not();
  const auto self = in.self[i].item<int64_t>();
  if (self >= 0) same[self] = false;
  return {in.s[i].masked_select(same), in.s[i].masked_select(negative),
          in.s[i].narrow(0, std::max<int64_t>(self, 0), self >= 0 ? 1 : 0)};
}

std::vector<Row> rows_of(const Similarities& in) {
  std::vector<Row> rows;
  for (int64_t i = 0; i < in.s.size(0); ++i) rows.push_back(row_of(in, i));
  return rows;
}

/// A loss without terms: zero, but it depends on s.
Tensor no_terms(const Similarities& in) { return in.s.sum() * 0; }

/// Of no terms it is zero.
Tensor mean_of(const std::vector<Tensor>& terms, const Similarities& in) {
  return terms.empty() ? no_terms(in) : torch::stack(terms).mean();
}

/// The mean over the terms above zero, [N] or scalars.
Tensor active_mean(const std::vector<Tensor>& terms, const Similarities& in) {
  std::vector<Tensor> active;
  for (const Tensor& each : terms) {
    active.push_back(each.masked_select(each > 0));
  }
  const Tensor all = active.empty() ? in.s.new_empty({0}) : torch::cat(active);
  return all.numel() == 0 ? no_terms(in) : all.mean();
}

Tensor distance(const Tensor& s) { return (2 - 2 * s).sqrt(); }

/// sum_z sigma((s_z - s_x) / t) for every x.
Tensor count_above(const Tensor& x, const Tensor& z, double t) {
  return ((z.unsqueeze(0) - x.unsqueeze(1)) / t).sigmoid().sum(1);
}

/// Numbers of [-1, 1] shared by `centres` bins, from -1 up.
Tensor soft_histogram(const Tensor& s, int64_t centres) {
  const double width = 2.0 / static_cast<double>(centres - 1);
  const Tensor centre =
      -1 + width * torch::arange(centres, torch::kDouble).unsqueeze(1);
  const Tensor away = (s.clamp(-1, 1).unsqueeze(0) - centre).abs() / width;
  return (1 - away).clamp_min(0).sum(1);
}

/// Mean of 1 - AP over the rows with positives, on bins from 1 down.
Tensor quantised_ap(const Similarities& in, int64_t centres) {
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    if (row.positives.numel() == 0) continue;
    const Tensor positive = soft_histogram(row.positives, centres).flip(0);
    const Tensor both =
        positive + soft_histogram(row.negatives, centres).flip(0);
    const Tensor all = both.cumsum(0);
    const Tensor precision = positive.cumsum(0) / all.masked_fill(all == 0, 1);
    terms.push_back(1 - (positive * precision).sum() / row.positives.size(0));
  }
  return mean_of(terms, in);
}

Tensor histogram(const Similarities& in) {
  const Tensor same =
      in.row_labels.unsqueeze(1) == in.column_labels.unsqueeze(0);
  const Tensor positives = in.s.masked_select(same.triu(1));
  const Tensor negatives = in.s.masked_select(same.logical_not().triu(1));
  if (positives.numel() == 0 || negatives.numel() == 0) return no_terms(in);
  const Tensor h_positive = soft_histogram(positives, 65) / positives.size(0);
  const Tensor h_negative = soft_histogram(negatives, 65) / negatives.size(0);
  return (h_negative * h_positive.cumsum(0)).sum();
}

Tensor supcon(const Similarities& in) {
  constexpr double kT = 0.1;
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    if (row.positives.numel() == 0) continue;
    const Tensor all = torch::cat({row.positives, row.negatives}) / kT;
    terms.push_back(-(row.positives / kT - all.logsumexp(0)).mean());
  }
  return active_mean(terms, in);
}

Tensor nt_xent(const Similarities& in) {
  constexpr double kT = 0.07;
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    for (const Tensor& positive : row.positives.split(1)) {
      if (positive.numel() == 0) continue;
      const Tensor all = torch::cat({positive, row.negatives}) / kT;
      terms.push_back(all.logsumexp(0) - positive[0] / kT);
    }
  }
  return mean_of(terms, in);
}

/// With the mining of the loss: an empty set keeps nothing of the other.
Tensor multi_similarity(const Similarities& in) {
  constexpr double kAlpha = 2, kBeta = 40, kBase = 0.5, kEpsilon = 0.1;
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    Tensor term = no_terms(in);
    if (row.positives.numel() > 0 && row.negatives.numel() > 0) {
      const Tensor negatives = row.negatives.masked_select(
          row.negatives > row.positives.min() - kEpsilon);
      const Tensor positives = row.positives.masked_select(
          row.positives < row.negatives.max() + kEpsilon);
      term = (-kAlpha * (positives - kBase)).exp().sum().log1p() / kAlpha +
             (kBeta * (negatives - kBase)).exp().sum().log1p() / kBeta;
    }
    terms.push_back(term);
  }
  return mean_of(terms, in);
}

Tensor contrastive(const Similarities& in) {
  std::vector<Tensor> positives;
  std::vector<Tensor> negatives;
  for (const Row& row : rows_of(in)) {
    positives.push_back(distance(row.positives));
    negatives.push_back(1 - distance(row.negatives));
  }
  return active_mean(positives, in) + active_mean(negatives, in);
}

Tensor triplet_all(const Similarities& in) {
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    terms.push_back((distance(row.positives).unsqueeze(1) -
                     distance(row.negatives).unsqueeze(0) + 0.05)
                        .flatten());
  }
  return active_mean(terms, in);
}

Tensor lifted(const Similarities& in) {
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    Tensor sum = no_terms(in);
    if (row.positives.numel() > 0) {
      sum = sum + distance(row.positives).logsumexp(0);
    }
    if (row.negatives.numel() > 0) {
      sum = sum + (1 - distance(row.negatives)).logsumexp(0);
    }
    terms.push_back(sum.relu());
  }
  return mean_of(terms, in);
}

Tensor lifted_structure(const Similarities& in) {
  const Tensor& labels = in.row_labels;
  const std::vector<Row> rows = rows_of(in);
  std::vector<Tensor> terms;
  for (int64_t a = 0; a < labels.size(0); ++a) {
    for (int64_t p = 0; p < labels.size(0); ++p) {
      if (a == p || !labels[a].equal(labels[p])) continue;
      const Tensor negatives =
          torch::cat({rows[static_cast<size_t>(a)].negatives,
                      rows[static_cast<size_t>(p)].negatives});
      if (negatives.numel() == 0) return no_terms(in);
      const Tensor j =
          distance(in.s[a][p]) + (1 - distance(negatives)).logsumexp(0);
      terms.push_back(j.relu().square() / 2);
    }
  }
  return mean_of(terms, in);
}

/// Positions of each class, classes ascending, members in the batch's order.
std::map<int64_t, std::vector<int64_t>> members(const Tensor& labels) {
  std::map<int64_t, std::vector<int64_t>> classes;
  for (int64_t i = 0; i < labels.size(0); ++i) {
    classes[labels[i].item<int64_t>()].push_back(i);
  }
  return classes;
}

Tensor npairs_all(const Similarities& in) {
  std::vector<int64_t> anchors;
  std::vector<int64_t> positives;
  for (const auto& [label, all] : members(in.row_labels)) {
    if (all.size() < 2) continue;
    anchors.push_back(all[0]);
    positives.push_back(all[1]);
  }
  if (anchors.empty()) return no_terms(in);
  const Tensor scores =
      in.s.index_select(0, torch::tensor(anchors, torch::kLong))
          .index_select(1, torch::tensor(positives, torch::kLong));
  return (scores.logsumexp(1) - scores.diag()).mean();
}

Tensor npair(const Similarities& in) {
  std::vector<Tensor> terms;
  for (const auto& [label, all] : members(in.row_labels)) {
    for (size_t i = 0; i < all.size() && all.size() > 1; ++i) {
      const Row row = row_of(in, all[i]);
      const Tensor positive = in.s[all[i]][all[(i + 1) % all.size()]];
      terms.push_back((row.negatives - positive).exp().sum().log1p());
    }
  }
  return mean_of(terms, in);
}

/// The angular part has alpha 45 degrees, and similarities of the normalised
/// vectors.
Tensor angular(const Similarities& in) {
  const Tensor norm = in.s.diag().sqrt();
  const Tensor s = in.s / (norm.unsqueeze(1) * norm.unsqueeze(0));
  std::vector<Tensor> terms;
  for (const auto& [label, all] : members(in.row_labels)) {
    const Tensor other = in.column_labels != label;
    for (size_t i = 0; i < all.size() && all.size() > 1; ++i) {
      const int64_t a = all[i];
      const int64_t p = all[(i + 1) % all.size()];
      const Tensor negatives = (s[a] + s[p]).masked_select(other);
      terms.push_back((4 * negatives - 4 * s[a][p]).exp().sum().log1p());
    }
  }
  return npair(in) + 2 * mean_of(terms, in);
}

struct Reference {
  std::function<Tensor(const Similarities&)> value;
  bool euclidean = false;
  double l2 = 0;  ///< Weight of the mean squared norm of the batch.
};

const std::map<std::string, Reference>& references() {
  using std::placeholders::_1;
  static const std::map<std::string, Reference> all = {
      {"recall_at_k", {std::bind(reference_recall_at_k, _1, RankOptions())}},
      {"smooth_ap", {std::bind(reference_smooth_ap, _1, RankOptions())}},
      {"fast_ap", {std::bind(quantised_ap, _1, 11)}},
      {"ap_quantised", {std::bind(quantised_ap, _1, 20)}},
      {"histogram", {histogram}},
      {"supcon", {supcon}},
      {"nt_xent", {nt_xent}},
      {"multi_similarity", {multi_similarity}},
      {"contrastive", {contrastive, /*euclidean=*/true}},
      {"contrastive_all", {contrastive, /*euclidean=*/true}},  // its old name
      {"triplet_all", {triplet_all, /*euclidean=*/true}},
      {"angular", {angular, /*euclidean=*/false, 0.005}},
      {"circle", {std::bind(reference_circle, _1, true)}},
      {"lifted", {lifted, /*euclidean=*/true, 0.005}},
      {"lifted_structure", {lifted_structure, /*euclidean=*/true}},
      {"npairs_all", {npairs_all}},
      {"npair", {npair, /*euclidean=*/false, 0.005}}};
  return all;
}

}  // namespace

bool has_reference(const std::string& name) {
  return references().count(name) > 0;
}

Tensor with_virtual(const Tensor& x, const MixedPairs& mixed) {
  if (!mixed.defined()) return x;
  const Tensor alpha = mixed.alphas.to(x.scalar_type()).unsqueeze(1);
  const Tensor one = x.index_select(0, mixed.pairs.select(1, 0));
  const Tensor two = x.index_select(0, mixed.pairs.select(1, 1));
  return torch::cat({x, alpha * one + (1 - alpha) * two});
}

Tensor labels_with_virtual(const Tensor& labels, const MixedPairs& mixed) {
  if (!mixed.defined()) return labels;
  return torch::cat({labels, labels.index_select(0, mixed.pairs.select(1, 0))});
}

Similarities similarities_of_batch(const Tensor& s, const Tensor& labels) {
  return {s, labels, labels, torch::arange(labels.size(0))};
}

Tensor reference_loss(const std::string& name, const Similarities& in) {
  return references().at(name).value(in);
}

Tensor reference_loss(const std::string& name, const Tensor& x,
                      const Tensor& labels, const MixedPairs& mixed) {
  const Reference& reference = references().at(name);
  const Tensor all = with_virtual(x, mixed);
  Tensor s = torch::mm(all, all.t());
  if (reference.euclidean && !mixed.defined()) {
    s = 1 - (x.unsqueeze(0) - x.unsqueeze(1)).square().sum(2) / 2;
  }
  const Similarities in =
      similarities_of_batch(s, labels_with_virtual(labels, mixed));
  Tensor value = reference.value(in);
  if (name == "recall_at_k" && mixed.defined()) {
    RankOptions options;
    options.k = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
    value = reference_recall_at_k(in, options);
  }
  if (x.size(0) == 0) return value;
  return value + reference.l2 * x.square().sum(1).mean();
}

Tensor reference_recall_at_k(const Similarities& in,
                             const RankOptions& options) {
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    const int64_t positives = row.positives.size(0);
    if (positives == 0) continue;
    Tensor others = torch::cat({row.positives, row.negatives});
    if (options.query_in_database) others = torch::cat({others, row.self});
    // The positive itself is among them, with sigma(0).
    const Tensor rank =
        1 + count_above(row.positives, others, options.temperature) - 0.5;
    for (const int64_t k : options.k) {
      const Tensor within = (static_cast<double>(k) - rank).sigmoid().sum();
      terms.push_back(1 - within.clamp_max(k) / std::min(k, positives));
    }
  }
  return mean_of(terms, in);
}

Tensor reference_smooth_ap(const Similarities& in, const RankOptions& options) {
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    if (row.positives.numel() == 0) continue;
    Tensor positives = row.positives;
    if (options.query_in_database)
      positives = torch::cat({positives, row.self});
    const Tensor all = torch::cat({positives, row.negatives});
    // Each is among those above itself, with sigma(0).
    const double t = options.temperature;
    const Tensor among = 1 + count_above(positives, positives, t) - 0.5;
    const Tensor rank = 1 + count_above(positives, all, t) - 0.5;
    terms.push_back(1 - (among / rank).mean());
  }
  return mean_of(terms, in);
}

Tensor reference_circle(const Similarities& in, bool detach) {
  constexpr double kM = 0.4, kGamma = 80;
  std::vector<Tensor> terms;
  for (const Row& row : rows_of(in)) {
    const Tensor& p = row.positives;
    const Tensor& n = row.negatives;
    if (p.numel() == 0 || n.numel() == 0) continue;
    Tensor positive_weight = (1 + kM - p).relu();
    Tensor negative_weight = (n + kM).relu();
    if (detach) {
      positive_weight = positive_weight.detach();
      negative_weight = negative_weight.detach();
    }
    const Tensor exponent =
        (-kGamma * positive_weight * (p - (1 - kM))).logsumexp(0) +
        (kGamma * negative_weight * (n - kM)).logsumexp(0);
    // torch::softplus is cut off at 20.
    terms.push_back(torch::logaddexp(exponent, torch::zeros_like(exponent)));
  }
  return active_mean(terms, in);
}

}  // namespace kith
