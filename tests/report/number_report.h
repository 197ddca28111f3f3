#pragma once

#include <string>

#include "kith/report/report.h"

namespace kith {

/// A run of `epochs` epochs of ten steps with an evaluation after each, whose
/// recall is better the larger `quality` is.
inline RunRecord made_run(const std::string& name, int epochs, double quality,
                          int64_t batch = 400) {
  RunRecord run;
  run.name = name;
  run.folder = "runs/" + name;
  run.config = parse_config(
      "data: {name: csv, path: data/glyphs}\n"
      "sampler: {name: class_balanced, batch: " +
          std::to_string(batch) +
          ", per_class: 4}\n"
          "model: {backbone: {name: convnet}, head: {dim: 128}}\n"
          "loss: {name: " +
          name +
          ", t2: 0.05}\n"
          "optimizer: {name: adam, lr: 0.002}\n"
          "train: {epochs: " +
          std::to_string(epochs) +
          ", seed: 0}\n"
          "eval: {best: \"recall_any@1\"}\n",
      "config.yaml");
  run.phases = {"data", "forward", "loss", "backward", "optimizer"};
  const auto eval_at = [&](int epoch) {
    const double done = epoch / (epoch + 4.0);
    run.evals.push_back({epoch,
                         10 * epoch,
                         0.5,
                         {{"recall_any@1", 0.1 + 0.8 * quality * done},
                          {"recall_any@2", 0.2 + 0.75 * quality * done},
                          {"map_at_r", 0.05 + 0.5 * quality * done},
                          {"rho@1", 0.3 - 0.1 * done}}});
  };
  eval_at(0);
  for (int step = 1; step <= 10 * epochs; ++step) {
    const int noise = step * 7919 % 13;
    run.steps.push_back({(step - 1) / 10,
                         step,
                         1.0 / (1 + 0.05 * quality * step) + 0.01 * noise,
                         0.002 * (1 - step / (10.0 * epochs)),
                         1.5 + 0.1 * noise,
                         batch,
                         {0.01, 0.05, 0.02, 0.1, 0.0005},
                         {300, 2451, 2454, 3612, 3612}});
    if (step % 10 == 0) eval_at(step / 10);
  }
  for (const char* metric : {"recall_any@1", "recall_any@2", "map_at_r"}) {
    run.metrics.push_back({metric,
                           run.evals.back().metrics[metric],
                           true,
                           "what it means",
                           run.evals[0].metrics[metric],
                           {}});
  }
  run.metrics.push_back(
      {"rho@1", run.evals.back().metrics["rho@1"], false, "", {}, {}});
  run.protocol = "standard";
  run.split = "test";
  run.rules = "4000 queries, gallery of 4000, self excluded by index";
  run.finished = true;
  return run;
}

/// With what kith eval --corruptions found.
inline RunRecord with_corruptions(RunRecord run) {
  double left = 1.0;
  for (const char* name : {"none", "blur", "noise"}) {
    run.corruptions.push_back(
        {name, {{"recall_any@1", 0.9 * left}, {"map_at_r", 0.5 * left}}});
    left *= 0.75;
  }
  return run;
}

inline RunRecord with_compressed(RunRecord run) {
  run.compressed = {
      {"float32", 512, {{"recall_any@1", 0.9}, {"map_at_r", 0.5}}},
      {"int8", 128, {{"recall_any@1", 0.895}, {"map_at_r", 0.49}}},
      {"pca:32+int8", 32, {{"recall_any@1", 0.85}}}};
  return run;
}

inline Report report_of(std::vector<RunRecord> runs) {
  Report report;
  report.title = "Report";
  report.runs = std::move(runs);
  return report;
}

}  // namespace kith
