#include "cli/corruption_suite.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "kith/core/number_text.h"
#include "kith/core/rng.h"
#include "kith/image/picture_grid.h"

namespace kith {
namespace {

constexpr size_t kExamples = 4;
constexpr int kCell = 160;

std::shared_ptr<const Corruption> make_corruption(const std::string& name) {
  return corruption_registry()
      .at(name, "--corruptions")
      .make(ConfigNode::map(), name);
}

void print_row(const std::string& name, const EvalResult& columns,
               const std::function<double(size_t)>& value) {
  std::printf("%-18s", name.c_str());
  for (size_t m = 0; m < columns.metrics.size(); ++m) {
    const MetricValue& metric = columns.metrics[m];
    if (!metric.list.empty()) continue;
    const auto width =
        static_cast<int>(std::max<size_t>(metric.name.size(), 8));
    const double number = value(m);
    std::printf("  %*s", width,
                metric_text(number, metric.is_share, kPlainStyle).c_str());
  }
  std::printf("\n");
}

}  // namespace

std::vector<std::string> corruption_names(const std::string& text) {
  if (text == "all") return corruption_registry().names();
  std::vector<std::string> names(1);
  for (char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  for (const std::string& name : names) {
    corruption_registry().at(name, "--corruptions");
  }
  return names;
}

double mean_of_corrupted(const std::vector<CorruptedResult>& corrupted,
                         size_t metric) {
  double sum = 0;
  for (const CorruptedResult& one : corrupted) {
    sum += one.result.metrics[metric].value;
  }
  return sum / static_cast<double>(corrupted.size());
}

void print_corruptions(const EvalResult& clean,
                       const std::vector<CorruptedResult>& corrupted) {
  std::printf("\n%-18s", "");
  for (const MetricValue& m : clean.metrics) {
    if (!m.list.empty()) continue;
    std::printf("  %*s", static_cast<int>(std::max<size_t>(m.name.size(), 8)),
                m.name.c_str());
  }
  std::printf("\n");
  print_row("clean", clean, [&](size_t m) { return clean.metrics[m].value; });
  for (const CorruptedResult& one : corrupted) {
    print_row(one.corruption, clean,
              [&](size_t m) { return one.result.metrics[m].value; });
  }
  print_row("mean of corrupted", clean,
            [&](size_t m) { return mean_of_corrupted(corrupted, m); });
}

nlohmann::ordered_json corruptions_json(
    const std::vector<CorruptedResult>& corrupted,
    const MetricsContext& context) {
  auto json = nlohmann::ordered_json::object();
  for (const CorruptedResult& one : corrupted) {
    nlohmann::ordered_json values = metrics_json(one.result, context);
    values.erase("definitions");
    values.erase("protocol");
    json[one.corruption] = values;
  }
  return json;
}

std::function<Image(const Image&, int64_t)> corruption_of(
    const std::string& name, uint64_t seed) {
  const std::shared_ptr<const Corruption> corruption = make_corruption(name);
  return [=](const Image& image, int64_t index) {
    return corrupt(*corruption, name, image, seed, index);
  };
}

Image corruption_examples(const DataSet& data,
                          const std::vector<int64_t>& images,
                          const InputOptions& input,
                          const std::vector<std::string>& names,
                          uint64_t seed) {
  std::vector<int64_t> drawn = images;
  Rng rng(seed, Stream::kReport);
  rng.shuffle(drawn);
  drawn.resize(std::min(drawn.size(), kExamples));
  std::vector<std::vector<Image>> rows;
  for (int64_t index : drawn) {
    Rng unused(0, Stream::kAugment);
    const Image image = prepare_image(data.load(index), input, {}, unused);
    std::vector<Image> row = {image};
    for (const std::string& name : names) {
      row.push_back(corruption_of(name, seed)(image, index));
    }
    rows.push_back(std::move(row));
  }
  return picture_grid(rows, kCell);
}

}  // namespace kith
