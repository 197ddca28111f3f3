#include "cli/threshold_flags.h"

#include <cmath>
#include <cstdio>

#include "cli/common.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

void print_rate(const MetricValue& rate) {
  std::string interval;
  if (rate.interval && !std::isnan(rate.interval->low)) {
    interval = "  [" + small_share_text(rate.interval->low) + ", " +
               small_share_text(rate.interval->high) + "]";
  }
  std::printf("%-18s %10s%s\n", rate.name.c_str(),
              std::isnan(rate.value)
                  ? "-"
                  : (small_share_text(rate.value) + "%").c_str(),
              interval.c_str());
}

}  // namespace

CLI::Option* add_threshold_flags(CLI::App& command, ThresholdOptions& options) {
  auto* wish = command.add_option(
      "--threshold", options.wish,
      "Also picks a threshold of similarity and tells what it does: far=0.001 "
      "(of pairs of two classes), precision=0.95 (of accepted first answers), "
      "fpir=0.01 (of searches for unknown classes); or a similarity");
  command
      .add_option("--unknown-classes", options.unknown_classes,
                  "With --threshold: classes that the gallery of the open set "
                  "does not have; a share of them, drawn with --seed, or a "
                  "file of names, one per line")
      ->capture_default_str()
      ->needs(wish);
  return wish;
}

void print_decision(const Decision& decision) {
  std::string line = "\nthreshold " + format_fixed(decision.threshold, 4);
  if (decision.interval) {
    line += " [" + format_fixed(decision.interval->low, 4) + ", " +
            format_fixed(decision.interval->high, 4) + "]";
  }
  print_line(line + ", " + decision.wish_text());
  std::printf("%-18s %10s  %s\n", "", "value",
              decision.resamples > 0 ? "95% interval" : "");
  for (const MetricValue& rate : decision.rates) print_rate(rate);
  for (const std::string& note : decision.notes()) print_line(note);
  for (const MetricValue& rate : decision.rates) {
    print_line(rate.name + ": " + rate.definition);
  }
}

}  // namespace kith
