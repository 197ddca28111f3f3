#pragma once

#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/eval/corruption_suite.h"
#include "kith/run/eval_metrics.h"
#include "kith/use/decide.h"
#include "kith/use/embed_images.h"
#include "kith/use/published_model.h"

namespace kith {

/// How a trained network is evaluated. What is empty is as its run's
/// configuration says.
struct EvaluateRunOptions {
  std::string model = {};       ///< A run, a checkpoint or an export.
  std::string checkpoint = {};  ///< Of a run; see choose_checkpoint().
  /// In place of `model`: a network without training. It needs `data`.
  PublishedModel published = {};
  /// Other data: a configuration (its `eval` and `published` count too), a list
  /// or a folder of images.
  std::string data = {};
  /// Images that cannot be read: "stop" or "skip".
  std::string on_broken = {};
  std::string protocol = {};
  std::string split = {};  ///< "train", "validation" or "test".
  /// Such as "recall_any@1,10"; usually the run's, or those of the protocol.
  std::vector<std::string> metrics = {};
  /// Scored again in the order of these (see parse_rerank); usually the run's.
  std::vector<std::string> rerank = {};
  DescriptorChoice descriptor = {};
  EvaluateOptions scoring = {.bootstrap = 1000};
  /// Scored too, one after the other; their pictures are in corruptions.png.
  std::vector<NamedCorruption> corruptions = {};
  /// Forms of smaller vectors whose galleries are scored too: "pca:64+int8".
  std::vector<std::string> compress = {};
  bool diagnostics = false;  ///< Write diagnostics.json (see diagnose_split).
  /// With a wish, also threshold.json: what a threshold does.
  ThresholdOptions threshold = {};
  /// Where it is picked: "train", "validation" or "test"; empty: where it is
  /// reported.
  std::string threshold_split = {};
  /// The folder; usually one of its own below RUN/eval (eval_folder_name), or
  /// below NAME-eval here of a published network.
  std::string out = {};
  /// Who evaluates together; the first writes. Each keeps only its share of
  /// embeddings that are larger than scoring.memory_mb, but with `diagnostics`.
  /// Null: this process alone.
  Communicator* ranks = nullptr;
};

struct EvaluatedRun {
  std::string name;  ///< What tables call the model: its run's folder or file.
  EvalReport report;
  std::string json;    ///< metrics.json, as the first rank wrote it.
  std::string folder;  ///< Where.
};

/// Evaluates a network, and writes metrics.json and what else is wanted to a
/// folder. The same bytes every time, on the same machine.
EvaluatedRun evaluate_run(const EvaluateRunOptions& options, c10::Device device,
                          Progress& progress = silent_progress());

/// Logs how long scoring took and the most memory the process held: the results
/// themselves are the same every time.
void log_scoring(const EvalResult& result, double seconds);

}  // namespace kith
