#include <torch/torch.h>

#include "cli/common.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/tensor_io.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct MetricsFlags {
  std::string embeddings;
  std::string labels;
  std::string gallery_embeddings;
  std::string gallery_labels;
  std::string metrics = "recall_any@1,2,4,8,map_at_r,precision@1";
  std::string no_positive = "leave_out";
  bool json = false;
  DeviceFlags device;
};

Tensor load_unit(const std::string& path, c10::Device device) {
  return normalize_rows(load_embeddings(path).to(at::kFloat)).to(device);
}

void run_metrics(const MetricsFlags& flags) {
  const c10::Device device = flags.device.apply();
  const std::vector<NamedMetric> metrics =
      parse_metrics(split_metric_list(flags.metrics));
  Scored scored;
  scored.queries = load_unit(flags.embeddings, device);
  scored.query_labels = load_labels(flags.labels, scored.queries.size(0));
  if (!flags.gallery_embeddings.empty()) {
    scored.gallery = load_unit(flags.gallery_embeddings, device);
    scored.gallery_labels =
        load_labels(flags.gallery_labels, scored.gallery.size(0));
    if (scored.gallery.size(1) != scored.queries.size(1)) {
      throw DataError(flags.gallery_embeddings + ": embeddings of size " +
                      std::to_string(scored.gallery.size(1)) +
                      ", the queries have " +
                      std::to_string(scored.queries.size(1)));
    }
  }
  const EvalResult result =
      evaluate(scored, metrics, flags.no_positive == "miss");
  if (flags.json) {
    print_line(metrics_json(result));
  } else {
    print_metrics(result);
  }
}

}  // namespace

void add_metrics(CLI::App& app) {
  auto* command = app.add_subcommand(
      "metrics", "Retrieval metrics of embeddings made anywhere");
  auto flags = std::make_shared<MetricsFlags>();
  command
      ->add_option("--embeddings", flags->embeddings,
                   "Float .npy [N, D]; compared by cosine similarity")
      ->required();
  command->add_option("--labels", flags->labels, "Integer .npy [N]")
      ->required();
  auto* gallery = command->add_option(
      "--gallery-embeddings", flags->gallery_embeddings,
      "Search in these; without them, each item among the others");
  auto* gallery_labels = command->add_option(
      "--gallery-labels", flags->gallery_labels, "Labels of the gallery");
  gallery->needs(gallery_labels);
  gallery_labels->needs(gallery);
  command
      ->add_option("--metrics", flags->metrics,
                   "Names with commas; see: kith list metrics")
      ->capture_default_str();
  command
      ->add_option("--no-positive", flags->no_positive,
                   "Queries without positives: leave_out, or count as miss")
      ->check(one_of({"leave_out", "miss"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_metrics(*flags); });
}

}  // namespace kith
