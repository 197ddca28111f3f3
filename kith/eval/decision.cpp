#include "kith/eval/decision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/number_text.h"
#include "kith/core/quote.h"
#include "kith/eval/bootstrap.h"
#include "kith/eval/decision_set.h"
#include "kith/eval/similarity_cells.h"
#include "kith/index/tell_others.h"

namespace kith {
namespace {

constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();

struct RateName {
  const char* name;
  const char* definition;
};

constexpr RateName kRates[] = {
    {"far", "share of pairs of two classes that are accepted"},
    {"tar", "share of pairs of one class that are accepted"},
    {"auroc",
     "share of times that a pair of one class is more similar than one of two, "
     "equal ones half; over all pairs"},
    {"auprc",
     "average precision of pairs of one class among all pairs, by similarity"},
    {"precision", "share of accepted first answers that are of the class"},
    {"coverage", "share of queries whose first answer is accepted"},
    {"fpir",
     "open set: share of queries whose class is not in the gallery that have "
     "an answer accepted"},
    {"tpir",
     "open set: share of queries whose class is in the gallery whose first "
     "answer is right and accepted"}};

const RateName& known_rate(const std::string& name) {
  for (const RateName& rate : kRates) {
    if (name == rate.name) return rate;
  }
  throw ConfigError("a decision has no rate " + quote(name));
}

/// Where a falling curve of rates at rising cells comes down to `wanted`: on a
/// line through their logarithms between two cells.
double crossing(const std::vector<int64_t>& cells,
                const std::vector<double>& rates, double wanted) {
  size_t i = 0;
  while (i < rates.size() && !(rates[i] <= wanted)) ++i;
  if (i == rates.size()) return 1;
  if (i == 0) return threshold_of(cells[0]);
  const double low = threshold_of(cells[i - 1]);
  const double high = threshold_of(cells[i]);
  const double fall = rates[i] > 0 ? std::log(rates[i - 1] / wanted) /
                                         std::log(rates[i - 1] / rates[i])
                                   : (rates[i - 1] - wanted) / rates[i - 1];
  return low + fall * (high - low);
}

/// Thresholds that would have been picked if other classes had been drawn.
Interval interval_for_far(const std::vector<int64_t>& cells,
                          const std::vector<PairRates>& drawn, double far) {
  std::vector<double> thresholds;
  for (const PairRates& rates : drawn) {
    thresholds.push_back(std::isnan(rates.far[0])
                             ? kNotDefined
                             : crossing(cells, rates.far, far));
  }
  return percentile_interval(std::move(thresholds));
}

Interval interval_for_answers(const DecisionSet& found,
                              const ThresholdWish& wish, const Tensor& draws) {
  std::vector<double> thresholds;
  for (int64_t r = 0; r < draws.size(0); ++r) {
    const GroupWeights weights = draws.data_ptr<double>() + r * draws.size(1);
    const auto cell =
        wish.kind == ThresholdWish::Kind::kPrecision
            ? cell_for_precision(found.closed, wish.value, weights)
            : cell_for_fpir(found.open, wish.value, weights);
    thresholds.push_back(cell ? threshold_of(*cell) : 1);
  }
  return percentile_interval(std::move(thresholds));
}

/// The area under a curve through some points, by trapezoids.
double area(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (size_t i = 1; i < x.size(); ++i) {
    sum += std::abs(x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2;
  }
  return sum;
}

/// One set at a threshold and along a curve, and in every resample.
class Reporter {
 public:
  Reporter(const DecisionSet& found, int64_t cell) : found_(found) {
    cells_ = curve_cells(found.pairs);
    cells_.push_back(cell);
    std::sort(cells_.begin(), cells_.end());
    cells_.erase(std::unique(cells_.begin(), cells_.end()), cells_.end());
    at_ = static_cast<size_t>(
        std::lower_bound(cells_.begin(), cells_.end(), cell) - cells_.begin());
    rates_ = pair_rates(found.pairs, cells_);
  }

  const std::vector<int64_t>& cells() const { return cells_; }
  const std::vector<PairRates>& drawn() const { return drawn_; }

  void draw(const Tensor& draws) {
    drawn_ = drawn_pair_rates(found_.set, found_.groups, cells_, draws);
    const std::vector<int64_t> cell = {cells_[at_]};
    for (int64_t r = 0; r < draws.size(0); ++r) {
      const GroupWeights weights = draws.data_ptr<double>() + r * draws.size(1);
      closed_.push_back(count_answers(found_.closed, cell, weights)[0]);
      open_.push_back(count_answers(found_.open, cell, weights)[0]);
    }
  }

  DecisionCurve curve() const {
    DecisionCurve curve;
    for (const int64_t cell : cells_) {
      curve.threshold.push_back(threshold_of(cell));
    }
    curve.far = rates_.far;
    curve.tar = rates_.tar;
    for (const AnswerCounts& counts : count_answers(found_.closed, cells_)) {
      curve.precision.push_back(counts.precision());
      curve.coverage.push_back(counts.coverage());
    }
    for (const AnswerCounts& counts : count_answers(found_.open, cells_)) {
      curve.fpir.push_back(counts.fpir());
      curve.tpir.push_back(counts.tpir());
    }
    return curve;
  }

  std::vector<MetricValue> rates() const {
    const std::vector<int64_t> cell = {cells_[at_]};
    const AnswerCounts closed = count_answers(found_.closed, cell)[0];
    const AnswerCounts open = count_answers(found_.open, cell)[0];
    const auto of_pairs = [this](const PairRates& r) {
      return std::pair{r.far[at_], r.tar[at_]};
    };
    std::vector<MetricValue> rates;
    const auto add = [&](const char* name, double value, const auto& drawn) {
      rates.push_back(rate(name, value, drawn));
    };
    add("far", rates_.far[at_],
        each(drawn_, [&](const PairRates& r) { return of_pairs(r).first; }));
    add("tar", rates_.tar[at_],
        each(drawn_, [&](const PairRates& r) { return of_pairs(r).second; }));
    add_areas(rates);
    add("precision", closed.precision(),
        each(closed_, [](const AnswerCounts& c) { return c.precision(); }));
    add("coverage", closed.coverage(),
        each(closed_, [](const AnswerCounts& c) { return c.coverage(); }));
    add("fpir", open.fpir(),
        each(open_, [](const AnswerCounts& c) { return c.fpir(); }));
    add("tpir", open.tpir(),
        each(open_, [](const AnswerCounts& c) { return c.tpir(); }));
    rates[5].better = rates[0].better = Better::kNeither;
    return rates;
  }

 private:
  template <class Drawn, class Value>
  static std::vector<double> each(const std::vector<Drawn>& drawn,
                                  const Value& value) {
    std::vector<double> values;
    for (const Drawn& one : drawn) values.push_back(value(one));
    return values;
  }

  static MetricValue rate(const char* name, double value,
                          const std::vector<double>& drawn) {
    MetricValue rate{name, value, known_rate(name).definition};
    if (!drawn.empty() && !std::isnan(value)) {
      rate.interval = percentile_interval(drawn);
    }
    return rate;
  }

  /// Areas are of all thresholds. In a resample only those of the curve are
  /// known, and what that leaves out is the same as it is of the whole.
  void add_areas(std::vector<MetricValue>& rates) const {
    const auto add = [&](const char* name, double exact, const auto& area_of) {
      const double shift = exact - area_of(rates_);
      rates.push_back(rate(name, exact, each(drawn_, [&](const PairRates& r) {
                             if (std::isnan(r.far[0] + r.tar[0])) {
                               return kNotDefined;
                             }
                             return std::clamp(area_of(r) + shift, 0.0, 1.0);
                           })));
    };
    add("auroc", auroc(found_.pairs), [](const PairRates& r) {
      std::vector<double> far = r.far;
      std::vector<double> tar = r.tar;
      far.push_back(0);
      tar.push_back(0);
      return area(far, tar);
    });
    add("auprc", auprc(found_.pairs), [](const PairRates& r) {
      std::vector<double> tar = r.tar;
      std::vector<double> precision = r.precision;
      tar.push_back(0);
      precision.push_back(kNotDefined);
      // Where nothing is accepted it is that of the least that is.
      for (size_t i = 1; i < precision.size(); ++i) {
        if (std::isnan(precision[i])) precision[i] = precision[i - 1];
      }
      return area(tar, precision);
    });
  }

  const DecisionSet& found_;
  std::vector<int64_t> cells_;
  size_t at_ = 0;  ///< The threshold's place in cells_.
  PairRates rates_;
  std::vector<PairRates> drawn_;
  std::vector<AnswerCounts> closed_;
  std::vector<AnswerCounts> open_;
};

DecisionSize size_of(const DecisionSet& found) {
  const AnswerCounts open = count_answers(found.open, {0})[0];
  DecisionSize size;
  size.classes = found.groups.classes;
  size.drawn = found.groups.groups;
  size.positive_pairs = found.pairs.positive_pairs;
  size.negative_pairs = found.pairs.negative_pairs;
  size.queries = std::ssize(found.closed);
  size.unknown_classes = found.unknown_classes;
  size.mated = static_cast<int64_t>(open.mated);
  size.non_mated = static_cast<int64_t>(open.non_mated);
  return size;
}

Tensor draws_of(const DecisionSet& found, const DecisionOptions& options) {
  return group_draws(found.groups.groups, options.bootstrap, options.seed);
}

/// Picks a threshold on a set that is not reported.
int64_t pick_on(const Scored& picked, const DecisionOptions& options,
                Decision& decision) {
  const DecisionSet found = measure_decisions(picked, options);
  const int64_t cell = pick_cell(found, options.wish);
  if (options.bootstrap == 0) return cell;
  const Tensor draws = draws_of(found, options);
  if (options.wish.kind != ThresholdWish::Kind::kFar) {
    decision.interval = interval_for_answers(found, options.wish, draws);
    return cell;
  }
  const std::vector<int64_t> cells = curve_cells(found.pairs);
  decision.interval = interval_for_far(
      cells, drawn_pair_rates(found.set, found.groups, cells, draws),
      options.wish.value);
  return cell;
}

Decision decide_together(const Scored& reported, const Scored* picked,
                         const DecisionOptions& options) {
  Decision decision;
  decision.wish = options.wish;
  decision.resamples = options.bootstrap;
  decision.seed = static_cast<int64_t>(options.seed);
  decision.is_same_set = picked == nullptr && options.wish.is_rate();
  const bool is_apart = picked != nullptr && options.wish.is_rate();
  int64_t cell = is_apart ? pick_on(*picked, options, decision) : 0;
  const DecisionSet found = measure_decisions(reported, options);
  if (!is_apart) cell = pick_cell(found, options.wish);
  Reporter reporter(found, cell);
  if (options.bootstrap > 0) {
    const Tensor draws = draws_of(found, options);
    reporter.draw(draws);
    if (decision.is_same_set) {
      decision.interval =
          options.wish.kind == ThresholdWish::Kind::kFar
              ? interval_for_far(reporter.cells(), reporter.drawn(),
                                 options.wish.value)
              : interval_for_answers(found, options.wish, draws);
    }
  }
  decision.threshold = threshold_of(cell);
  decision.rates = reporter.rates();
  decision.curve = reporter.curve();
  decision.size = size_of(found);
  return decision;
}

}  // namespace

const MetricValue& Decision::rate(const std::string& name) const {
  known_rate(name);
  return *std::find_if(rates.begin(), rates.end(),
                       [&](const MetricValue& m) { return m.name == name; });
}

std::string Decision::wish_text() const {
  const std::string on =
      is_same_set || picked_on.empty() ? "" : ", picked on " + picked_on;
  return wish.meaning() + on;
}

std::vector<std::string> Decision::notes() const {
  std::vector<std::string> lines;
  const auto count = [](int64_t n) { return std::to_string(n); };
  lines.push_back(
      count(size.positive_pairs) + " pairs of one class and " +
      count(size.negative_pairs) + " of two, of " + count(size.classes) +
      " classes; " + count(size.queries) +
      " queries; open set: " + count(size.unknown_classes) +
      " classes not in the gallery, " + count(size.mated) +
      " searches with a mate and " + count(size.non_mated) + " without" +
      (resamples == 0 ? ""
                      : "; intervals: " + count(resamples) + " resamples of " +
                            (size.drawn == size.classes
                                 ? "the classes"
                                 : count(size.drawn) + " groups of classes")));
  if (is_same_set) {
    lines.emplace_back(
        "Picked and reported on the same images: what it gives on others is "
        "likely to be worse. Pick it on another split to know");
  }
  if (threshold == -1 && wish.is_rate()) {
    lines.emplace_back("It accepts everything: that is as good as wanted");
  }
  constexpr int64_t kFew = 20;
  if (resamples > 0 && size.classes < kFew) {
    lines.push_back("Intervals of " + count(size.classes) +
                    " classes are likely to be too narrow");
  }
  return lines;
}

std::string small_share_text(double share) {
  return format_fixed(100 * share, share < 0.01 ? 4 : 2);
}

Decision decide(const Scored& reported, const Scored* picked,
                const DecisionOptions& options) {
  return telling(or_alone(options.ranks),
                 [&] { return decide_together(reported, picked, options); });
}

}  // namespace kith
