#include "cli/demo_page.h"

#include <charconv>
#include <cstdio>

#include <torch/torch.h>

#include "cli/progress_bar.h"
#include "kith/core/rng.h"
#include "kith/data/encode.h"
#include "kith/index/flat.h"
#include "kith/report/html.h"
#include "kith/train/run_log.h"

namespace kith {
namespace {

constexpr int64_t kQueries = 12;
constexpr int64_t kNeighbours = 5;

std::string picture(const DataSet& data, int64_t index) {
  return data_uri("image/png", encode_png(data.load(index)));
}

std::string caption(const DataSet& data, int64_t index) {
  const Item& item = data.list().items[static_cast<size_t>(index)];
  return "class " + data.list().class_name(item.label);
}

/// Rows of `scored.queries` to show: drawn, not picked by their result.
std::vector<int64_t> draw_queries(int64_t count, uint64_t seed) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  Rng rng(seed, Stream::kReport);
  rng.shuffle(rows);
  rows.resize(static_cast<size_t>(std::min(kQueries, count)));
  return rows;
}

std::vector<QueryRow> query_rows(const PageInput& input) {
  const EvalTask& task = input.split.tasks.front();
  const Scored scored = input.split.scored(task);
  const std::vector<int64_t> rows = draw_queries(
      scored.queries.count(), static_cast<uint64_t>(input.config.train.seed));
  const Tensor picks = torch::tensor(rows, torch::kLong);
  SearchOptions options;
  options.k = kNeighbours;
  const Neighbours found =
      exact_search(scored.queries.in_memory().index_select(
                       0, picks.to(scored.queries.device())),
                   scored.gallery, scored.self.index_select(0, picks), options);
  const auto indices = found.indices.accessor<int64_t, 2>();
  const auto similarities = found.similarities.accessor<float, 2>();
  const ImageList& list = input.data.list();

  std::vector<QueryRow> shown;
  for (int64_t i = 0; i < indices.size(0); ++i) {
    const int64_t query =
        task.queries[static_cast<size_t>(rows[static_cast<size_t>(i)])];
    QueryRow row{picture(input.data, query), caption(input.data, query), {}};
    for (int64_t j = 0; j < indices.size(1) && indices[i][j] >= 0; ++j) {
      const int64_t item = task.gallery[static_cast<size_t>(indices[i][j])];
      row.neighbours.push_back(
          {picture(input.data, item), caption(input.data, item),
           list.items[static_cast<size_t>(item)].label ==
               list.items[static_cast<size_t>(query)].label,
           similarities[i][j]});
    }
    shown.push_back(std::move(row));
  }
  return shown;
}

/// One fact a part of the configuration: "convnet, width 64".
std::string part_text(const ConfigNode& part) {
  std::string text;
  for (const auto& [key, value] : part.entries) {
    std::string shown = to_yaml(value);
    while (shown.ends_with('\n')) shown.pop_back();
    if (key == "name") {
      text = shown;
    } else {
      text += ", " + key + " " + shown;
    }
  }
  return text;
}

std::vector<PageFact> facts(const PageInput& input) {
  const ConfigNode& model = input.config.section("model");
  const SplitSummary train = summarise(input.data.list(), Split::kTrain);
  const SplitSummary test = summarise(input.data.list(), Split::kTest);
  return {{"Training data", std::to_string(train.images) + " images of " +
                                std::to_string(train.classes) + " classes"},
          {"Test data", std::to_string(test.images) + " images of " +
                            std::to_string(test.classes) +
                            " classes that were not trained on"},
          {"Backbone", part_text(*model.find("backbone"))},
          {"Loss", part_text(input.config.section("loss"))},
          {"Sampler", part_text(input.config.section("sampler"))},
          {"Optimiser", part_text(input.config.section("optimizer"))},
          {"Training", std::to_string(input.steps) + " steps in " +
                           format_duration(input.train_seconds)},
          {"Seed", std::to_string(input.config.train.seed)},
          {"Run folder", input.run_folder, true},
          {"Command", input.command, true}};
}

void add_metrics(const PageInput& input, RunPage& page) {
  for (const MetricValue& m : input.after.metrics) {
    const double before = input.before.at(m.name);
    page.metrics.push_back({m.name, m.definition, 100 * before, 100 * m.value});
    int k = 0;
    const std::string prefix = "recall_any@";
    if (m.name.starts_with(prefix)) {
      std::from_chars(m.name.data() + prefix.size(),
                      m.name.data() + m.name.size(), k);
      page.recall.push_back({k, 100 * before, 100 * m.value});
    }
  }
}

}  // namespace

RunPage make_run_page(const PageInput& input) {
  RunPage page;
  page.title = "kith demo";
  const double before = 100 * input.before.at("recall_any@1");
  const double after = 100 * input.after.at("recall_any@1");
  char summary[200];
  std::snprintf(summary, sizeof(summary),
                "Trained with the %s loss, the network finds the right "
                "character first for %.1f%% of queries of characters it has "
                "never seen (untrained: %.1f%%).",
                input.config.section("loss").find("name")->scalar.c_str(),
                after, before);
  page.summary = summary;
  page.facts = facts(input);
  add_metrics(input, page);
  const EvalPart& r = input.after.parts.front();
  page.protocol = {
      std::to_string(r.queries), std::to_string(r.gallery),
      r.self_excluded ? "a query never finds itself"
                      : "queries are not in the gallery",
      "equal similarities by lower index",
      r.without_positives == 0
          ? "nothing"
          : std::to_string(r.without_positives) + " queries without positives"};
  for (const auto& [step, loss] :
       read_loss_curve(input.run_folder + "/log.jsonl")) {
    page.loss.push_back({static_cast<double>(step), loss});
  }
  // Averages over about a thirtieth of the run.
  page.loss_smoothing =
      1 - std::min(1.0, 30 / static_cast<double>(page.loss.size() + 1));
  page.queries = query_rows(input);
  page.queries_note = "Drawn with the run's seed, not chosen by their result.";
  return page;
}

}  // namespace kith
