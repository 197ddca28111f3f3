// Evaluates a run on the images that it is tested with: as they are, and
// turned. Writes RUN/eval/metrics.json and corruptions.png.
//
// usage: evaluate RUN
#include <iostream>
#include <memory>

#include "kith/kith.h"

int main(int argc, char** argv) {
  // Any corruption can be scored, with options of its own.
  const kith::NamedCorruption turned = {
      "turned", std::make_shared<kith::RotationCorruption>(
                    kith::RotationOptions{.max_degrees = 20})};
  const auto run =
      kith::evaluate_run({.model = argc > 1 ? argv[1] : "example-run",
                          .metrics = {"recall_any@1,4", "map_at_r"},
                          .scoring = {.bootstrap = 200},
                          .corruptions = {turned}},
                         kith::parse_device("auto"));

  const auto& turned_result = run.report.corrupted.front().result;
  for (const auto& metric : run.report.result.metrics) {
    std::cout << metric.name << " " << metric.value << " ["
              << metric.interval->low << ", " << metric.interval->high
              << "], turned " << turned_result.at(metric.name) << "\n";
  }
  std::cout << run.report.result.protocol_line() << "\n"
            << "written: " << run.folder << "/metrics.json\n";
}
