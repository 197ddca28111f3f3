// Makes a page that shows a run: its curves, its numbers, what it finds.
//
// usage: report RUN
#include <iostream>

#include "kith/kith.h"

int main(int argc, char** argv) {
  const std::string run = argc > 1 ? argv[1] : "example-run";
  const auto report = kith::make_report(
      {.runs = {run}, .title = "A first run", .insight = {.queries = 6}},
      kith::parse_device("auto"));
  std::cout << report.lead << "\n";
  for (const auto& score : report.insights.front().classes) {
    if (score.recall < 0.5) std::cout << score.name << " is hard to find\n";
  }
  const std::string page = run + "/report.html";
  kith::write_report(report, page);
  std::cout << "Look at it: " << page << "\n";
}
