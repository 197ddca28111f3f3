#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "cli/common.h"
#include "cli/plot_kinds.h"
#include "kith/chart/axis.h"
#include "kith/chart/html.h"
#include "kith/chart/mark_chart.h"
#include "kith/chart/ranked_lists.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/losses/recall_at_k.h"

namespace kith {
namespace {

constexpr double kT1 = 1.0;  // the published temperatures
constexpr double kT2 = 0.01;

double sigmoid(double u, double temperature) {
  return 1.0 / (1.0 + std::exp(-u / temperature));
}

/// rs@k of one query by the loss `recall_at_k`: one minus its value. The query
/// is the number 1 and items are their similarities, so that inner products
/// are these. The loss divides by min(k, positives), so k is not smaller than
/// their number.
double surrogate(const std::vector<RankedItem>& items, int64_t k) {
  std::vector<double> similarities;
  std::vector<int64_t> labels;
  for (const RankedItem& item : items) {
    similarities.push_back(item.similarity);
    labels.push_back(item.positive ? 0 : 1);
  }
  const auto count = static_cast<int64_t>(items.size());
  LossInput input;
  input.embeddings = torch::ones({1, 1}, torch::kDouble);
  input.labels = torch::zeros({1}, torch::kLong);
  input.database.embeddings =
      torch::tensor(similarities, torch::kDouble).view({count, 1});
  input.database.labels = torch::tensor(labels, torch::kLong);
  return 1.0 - RecallAtK({.k = {k}})(input).value.item<double>();
}

double recall(const std::vector<RankedItem>& items, int64_t k) {
  int64_t positives = 0, found = 0;
  for (const RankedItem& item : items) {
    if (!item.positive) continue;
    ++positives;
    const auto before =
        std::count_if(items.begin(), items.end(), [&](const RankedItem& other) {
          return other.similarity > item.similarity;
        });
    if (before < k) ++found;
  }
  return static_cast<double>(found) / static_cast<double>(positives);
}

/// Figure 1: three positives among five negatives that stay where they are.
std::string examples() {
  constexpr int64_t kK = 4;
  const std::vector<double> first = {0.90, 0.70, 0.62};
  RankedLists picture;
  picture.title = "recall@4 and its surrogate rs@4";
  picture.note = "t1 = 1, t2 = 0.01; underlined: changed against the first row";
  picture.columns = {"recall@4", "rs@4"};
  picture.cut = static_cast<size_t>(kK);
  for (const std::vector<double>& positives :
       {first, {0.90, 0.70, 0.68}, {0.90, 0.78, 0.62}, {0.90, 0.78, 0.76}}) {
    RankedList list;
    for (size_t i = 0; i < positives.size(); ++i) {
      list.items.push_back({positives[i], true, positives[i] != first[i]});
    }
    for (const double negative : {0.82, 0.74, 0.66, 0.58, 0.50}) {
      list.items.push_back({negative, false, false});
    }
    list.figures = {format_fixed(recall(list.items, kK), 3),
                    format_fixed(surrogate(list.items, kK), 3)};
    picture.lists.push_back(std::move(list));
  }
  return ranked_lists(picture);
}

/// A curve through 401 points of [lo, hi].
template <class Function>
MarkSeries curve(const std::string& name, size_t colour, double lo, double hi,
                 const Function& function) {
  constexpr int kSteps = 400;
  MarkSeries series{name, {}, MarkStyle::kCurve, colour};
  for (int i = 0; i <= kSteps; ++i) {
    const double x = lo + (hi - lo) * i / kSteps;
    series.marks.push_back({x, function(x)});
  }
  return series;
}

MarkSeries step(double lo, double at, double hi, double before, double after) {
  return {"step function",
          {{lo, before}, {at, before}, {at, after}, {hi, after}},
          MarkStyle::kReference};
}

/// What the loss makes of a positive with rank - 1 negatives well above it and
/// some well below.
double at_rank(int64_t rank, int64_t k) {
  std::vector<RankedItem> items = {{0.5, true, false}};
  for (int64_t n = 1; n < rank + 3; ++n) {
    items.push_back({n < rank ? 0.9 : 0.1, false, false});
  }
  return surrogate(items, k);
}

/// Figure 2, left.
std::string rank_sigmoid() {
  constexpr int64_t kK = 4, kMost = 9;
  MarkChart chart;
  chart.title = "Is a positive of rank r among the first k = 4?";
  chart.note = "sigmoid of temperature t1 applied to k - r";
  chart.x_label = "rank r";
  chart.y_label = "counted as";
  chart.series.push_back(step(1, kK, kMost, 1, 0));
  size_t colour = 0;
  for (const double t1 : {kT1, 0.3, 3.0}) {
    chart.series.push_back(
        curve("t1 = " + short_number(t1), colour++, 1, kMost,
              [&](double r) { return sigmoid(kK - r, t1); }));
  }
  MarkSeries dots{"loss recall_at_k, t1 = 1", {}, MarkStyle::kMarks, 0};
  for (int64_t rank = 1; rank <= kMost; ++rank) {
    dots.marks.push_back({static_cast<double>(rank), at_rank(rank, kK)});
  }
  chart.series.push_back(std::move(dots));
  return mark_chart(chart);
}

/// Figure 2, right.
std::string similarity_sigmoid() {
  constexpr double kReach = 0.15;
  MarkChart chart;
  chart.title = "Is z ranked before the positive x?";
  chart.note = "sigmoid of temperature t2 applied to s(q,z) - s(q,x)";
  chart.x_label = "difference of similarities";
  chart.y_label = "counted as";
  chart.series.push_back(step(-kReach, 0, kReach, 0, 1));
  size_t colour = 0;
  for (const double t2 : {kT2, 0.003, 0.03}) {
    chart.series.push_back(curve("t2 = " + short_number(t2), colour++, -kReach,
                                 kReach,
                                 [&](double d) { return sigmoid(d, t2); }));
  }
  return mark_chart(chart);
}

/// Figure 3: the slope of the sigmoid on ranks, sigma (1 - sigma) / t1.
std::string gradients() {
  constexpr double kMost = 24.0;
  const std::vector<int64_t> all = {1, 2, 4, 8, 16};
  const auto slope = [](double rank, int64_t k) {
    const double s = sigmoid(static_cast<double>(k) - rank, kT1);
    return s * (1.0 - s) / kT1;
  };
  MarkChart chart;
  chart.title = "How strongly a positive is pushed up, by its rank";
  chart.note = "slope of the sigmoid that counts ranks up to k, t1 = 1";
  chart.x_label = "rank r";
  chart.y_label = "gradient magnitude";
  size_t colour = 1;
  for (const int64_t k : all) {
    chart.series.push_back(curve("k = " + std::to_string(k), colour++, 1, kMost,
                                 [&](double r) { return slope(r, k); }));
  }
  chart.series.push_back(curve("sum over all k", 0, 1, kMost, [&](double r) {
    double sum = 0.0;
    for (const int64_t k : all) sum += slope(r, k);
    return sum;
  }));
  return mark_chart(chart);
}

void run_rsk(const std::string& folder) {
  make_folders(folder);
  const std::pair<const char*, std::string (*)()> pictures[] = {
      {"rsk_examples", examples},
      {"rsk_sigmoid_rank", rank_sigmoid},
      {"rsk_sigmoid_similarity", similarity_sigmoid},
      {"rsk_gradient", gradients}};
  for (const auto& [name, draw] : pictures) {
    const std::string path = folder + "/" + name + ".svg";
    write_file_atomically(path, draw());
    print_line("picture: " + path);
  }
}

}  // namespace

void add_plot_rsk(CLI::App& plot) {
  auto* command = plot.add_subcommand(
      "rsk", "How RS@k approximates recall@k: examples, sigmoids, gradients");
  auto folder = std::make_shared<std::string>();
  command->add_option("--out", *folder, "Folder for four .svg files")
      ->required()
      ->type_name("DIR");
  command->callback([folder] { run_rsk(*folder); });
}

}  // namespace kith
