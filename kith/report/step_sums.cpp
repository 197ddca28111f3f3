#include "kith/report/step_sums.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

/// How many steps the i-th logged one stands for.
double stands_for(const std::vector<LoggedStep>& steps, size_t i) {
  const int64_t before = i == 0 ? 0 : steps[i - 1].step;
  return static_cast<double>(std::max<int64_t>(1, steps[i].step - before));
}

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0; }

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  const auto middle =
      values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

StepSums sum_steps(const RunRecord& run) {
  StepSums sums;
  sums.phase_seconds.resize(run.phases.size());
  sums.peak_mb.resize(run.phases.size());
  std::vector<double> times, rates;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    const LoggedStep& step = run.steps[i];
    const double count = stands_for(run.steps, i);
    double seconds = 0;
    for (size_t p = 0; p < run.phases.size() && p < step.seconds.size(); ++p) {
      const double phase = finite_or_zero(step.seconds[p]);
      seconds += phase;
      sums.phase_seconds[p] += count * phase;
    }
    for (size_t p = 0; p < run.phases.size() && p < step.peak_mb.size(); ++p) {
      sums.peak_mb[p] = std::max(sums.peak_mb[p], step.peak_mb[p]);
    }
    sums.steps += count;
    sums.images += count * static_cast<double>(step.images);
    sums.seconds += count * seconds;
    if (seconds <= 0) continue;
    times.push_back(seconds);
    rates.push_back(static_cast<double>(step.images) / seconds);
  }
  sums.step_seconds = median(std::move(times));
  sums.images_per_second = median(std::move(rates));
  for (const LoggedEval& eval : run.evals) {
    sums.eval_seconds += finite_or_zero(eval.seconds);
  }
  return sums;
}

std::vector<double> images_seen(const RunRecord& run) {
  std::vector<double> seen;
  seen.reserve(run.steps.size());
  double sum = 0;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    sum += stands_for(run.steps, i) * static_cast<double>(run.steps[i].images);
    seen.push_back(sum);
  }
  return seen;
}

}  // namespace kith
