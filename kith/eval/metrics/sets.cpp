// Clusters, spread, spectrum and verification.
#include <string>

#include "kith/core/error.h"
#include "kith/eval/class_spread.h"
#include "kith/eval/clusters.h"
#include "kith/eval/metrics.h"
#include "kith/eval/pair_counts.h"
#include "kith/eval/spectrum.h"

namespace kith {
namespace {

double acceptance_rate(double rate) {
  if (!(rate >= 0 && rate <= 1)) {
    throw ConfigError(
        "metric 'tar' needs a false acceptance rate in [0, 1]: tar@0.001");
  }
  return rate;
}

/// Of `values` singular values `dropped` are left out.
void check_rho(const std::string& name, const ScoredSet& set, int64_t dropped,
               int64_t values) {
  const int64_t items = set.gallery.count();
  const int64_t dim = set.gallery.dim();
  const std::string size =
      std::to_string(items) + " items of dimension " + std::to_string(dim);
  if (items < dim) {
    throw DataError("metric '" + name +
                    "' needs at least as many items as dimensions, got " +
                    size + "; evaluate more items or leave it out");
  }
  if (dropped >= values) {
    throw DataError("metric '" + name + "': of " + size + ", " +
                    std::to_string(dropped) +
                    " singular values cannot be dropped; use a smaller "
                    "number, " +
                    name + "@1 to " + name + "@" + std::to_string(values));
  }
}

}  // namespace

std::vector<double> NmiMetric::values(const ScoredSet& set) const {
  return {normalized_mutual_information(clustering(set))};
}

KITH_REGISTER(metric_registry(), "nmi", NmiMetric);

std::vector<double> AmiMetric::values(const ScoredSet& set) const {
  return {adjusted_mutual_information(clustering(set))};
}

KITH_REGISTER(metric_registry(), "ami", AmiMetric);

std::vector<double> F1Metric::values(const ScoredSet& set) const {
  return {pair_f1(clustering(set))};
}

KITH_REGISTER(metric_registry(), "f1", F1Metric);

std::vector<double> IntraMetric::values(const ScoredSet& set) const {
  return {class_spread(set).within};
}

KITH_REGISTER(metric_registry(), "intra", IntraMetric);

std::vector<double> InterMetric::values(const ScoredSet& set) const {
  return {class_spread(set).between};
}

KITH_REGISTER(metric_registry(), "inter", InterMetric);

std::vector<double> IntraOverInterMetric::values(const ScoredSet& set) const {
  const ClassSpread& d = class_spread(set);
  return {d.within / d.between};
}

KITH_REGISTER(metric_registry(), "intra_over_inter", IntraOverInterMetric);

RhoMetric::RhoMetric(RhoOptions options)
    : dropped_(checked_k(options.dropped + 1) - 1) {}

RhoMetric::RhoMetric(const NoOptions&, const MetricInput& input)
    : dropped_(input.at ? metric_k(input) - 1 : 0) {}

std::vector<double> RhoMetric::values(const ScoredSet& set) const {
  check_rho("rho", set, dropped_, set.gallery.dim());
  return {spectral_decay(spectrum(set), dropped_)};
}

KITH_REGISTER(metric_registry(), "rho", RhoMetric);

RhoOccupiedMetric::RhoOccupiedMetric(RhoOptions options)
    : dropped_(checked_k(options.dropped + 1) - 1) {}

RhoOccupiedMetric::RhoOccupiedMetric(const NoOptions&, const MetricInput& input)
    : dropped_(input.at ? metric_k(input) - 1 : 0) {}

std::vector<double> RhoOccupiedMetric::values(const ScoredSet& set) const {
  const std::vector<double> own = occupied_spectrum(spectrum(set));
  check_rho("rho_occupied", set, dropped_, std::ssize(own));
  return {spectral_decay(own, dropped_)};
}

KITH_REGISTER(metric_registry(), "rho_occupied", RhoOccupiedMetric);

std::vector<double> OccupiedMetric::values(const ScoredSet& set) const {
  return {static_cast<double>(occupied_spectrum(spectrum(set)).size())};
}

KITH_REGISTER(metric_registry(), "occupied", OccupiedMetric);

std::vector<double> SpectrumMetric::values(const ScoredSet& set) const {
  return spectrum(set);
}

KITH_REGISTER(metric_registry(), "spectrum", SpectrumMetric);

std::vector<double> ClassSpectrumMetric::values(const ScoredSet& set) const {
  constexpr int64_t kLength = 35;
  return class_spectrum(set, kLength);
}

KITH_REGISTER(metric_registry(), "class_spectrum", ClassSpectrumMetric);

TarMetric::TarMetric(TarOptions options) : far_(acceptance_rate(options.far)) {}

TarMetric::TarMetric(const NoOptions&, const MetricInput& input)
    : far_(acceptance_rate(input.at.value_or(-1))) {}

std::vector<double> TarMetric::values(const ScoredSet& set) const {
  return {true_acceptance_rate(set, far_)};
}

KITH_REGISTER(metric_registry(), "tar", TarMetric);

}  // namespace kith
