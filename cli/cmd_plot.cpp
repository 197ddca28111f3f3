
#include <torch/torch.h>

#include "cli/common.h"
#include "cli/plot_kinds.h"
#include "kith/chart/html.h"
#include "kith/chart/toy_picture.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/eval/embed.h"
#include "kith/run/checkpoint.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::string out;
  DeviceFlags device;
};

/// A run's name: of its folder, or of the checkpoint's file.
std::string title_of(const std::string& run) {
  const auto path = full_path(run).lexically_normal();
  const std::string name = path.filename().string();
  return name.empty() ? path.parent_path().filename().string() : name;
}

/// The data set of a run whose embeddings can be drawn.
std::unique_ptr<DataSet> points_of(const LoadedModel& model,
                                   const std::string& run) {
  const ConfigNode* data = model.config.find("data");
  const ConfigNode* name = data == nullptr ? nullptr : data->find("name");
  if (name == nullptr || name->scalar != "points") {
    throw ConfigError(run + ": 'kith plot toy' draws runs on the data set " +
                      "'points' (recipes/toy), and this one has '" +
                      (name == nullptr ? "none" : name->scalar) + "'");
  }
  if (model.net->dim() != 2) {
    throw ConfigError(run +
                      ": 'kith plot toy' draws embeddings in the plane, "
                      "'model.head.dim' 2, and these have " +
                      std::to_string(model.net->dim()) + " dimensions");
  }
  return make_data_set(*data);
}

/// A split: its embeddings, and the same by class with the points.
struct EmbeddedPoints {
  Tensor embeddings;  ///< [N, 2] double
  std::vector<ToyClass> classes;
};

EmbeddedPoints embed_points(EmbeddingNet& net, const DataSet& data,
                            Split split) {
  const std::vector<int64_t> places = data.list().of_split(split);
  EmbeddedPoints result;
  result.embeddings = embed(net, data, places, {}, progress_bar())
                          .to(torch::kCPU, torch::kDouble);
  const auto values = result.embeddings.accessor<double, 2>();
  std::map<int64_t, ToyClass> by_label;
  for (size_t i = 0; i < places.size(); ++i) {
    const Image image = data.load(places[i]);  // red is x, green is y
    ToyClass& own =
        by_label[data.list().items[static_cast<size_t>(places[i])].label];
    own.points.push_back({image.pixels[0] / 255.0, image.pixels[1] / 255.0});
    const auto row = static_cast<int64_t>(i);
    own.embeddings.push_back({values[row][0], values[row][1]});
  }
  for (auto& [label, own] : by_label) result.classes.push_back(std::move(own));
  return result;
}

std::vector<double> spectrum_of(const Tensor& embeddings) {
  const Tensor values = torch::linalg_svdvals(embeddings);
  const Tensor shares = values / values.sum();
  return {shares.data_ptr<double>(),
          shares.data_ptr<double>() + shares.numel()};
}

/// Distance from the mean of a class to the nearest other mean, the least of
/// them: how far apart classes are.
double least_gap(const std::vector<ToyClass>& classes) {
  std::vector<ChartPoint> means;
  for (const ToyClass& own : classes) {
    ChartPoint mean;
    for (const ChartPoint& point : own.embeddings) {
      mean.x += point.x / static_cast<double>(own.embeddings.size());
      mean.y += point.y / static_cast<double>(own.embeddings.size());
    }
    means.push_back(mean);
  }
  double least = 2.0;
  for (size_t i = 0; i < means.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      least = std::min(
          least, std::hypot(means[i].x - means[j].x, means[i].y - means[j].y));
    }
  }
  return least;
}

ToyRow row_of(const std::string& run, c10::Device device) {
  const LoadedModel model = load_model(run, device);
  const std::unique_ptr<DataSet> data = points_of(model, run);
  EmbeddedPoints train = embed_points(*model.net, *data, Split::kTrain);
  EmbeddedPoints test = embed_points(*model.net, *data, Split::kTest);
  ToyRow row;
  row.title = title_of(run);
  row.note = "nearest two class means: training " +
             format_fixed(least_gap(train.classes), 3) + ", test " +
             format_fixed(least_gap(test.classes), 3);
  row.spectrum = spectrum_of(train.embeddings);
  row.train = std::move(train.classes);
  row.test = std::move(test.classes);
  return row;
}

void run_toy(const PlotFlags& flags) {
  const c10::Device device = flags.device.apply();
  std::vector<ToyRow> rows;
  for (const std::string& run : flags.runs) rows.push_back(row_of(run, device));
  write_file_atomically(flags.out, toy_picture(rows));
  for (const ToyRow& row : rows) {
    print_line(row.title + ": second singular value " +
               format_fixed(row.spectrum.at(1), 3) + "; " + row.note);
  }
  print_line("picture: " + flags.out);
}

}  // namespace

void add_plot(CLI::App& app) {
  auto* command = app.add_subcommand("plot", "Pictures of runs and losses");
  command->require_subcommand(1);
  auto* toy = command->add_subcommand(
      "toy", "Points in the plane, their embeddings and the spectrum");
  auto flags = std::make_shared<PlotFlags>();
  toy->add_option("runs", flags->runs,
                  "Folders of runs on 'points' (recipes/toy); a row each")
      ->required();
  toy->add_option("--out", flags->out, "The picture, an .svg file")->required();
  flags->device.add_to(*toy);
  toy->callback([flags] { run_toy(*flags); });
  add_plot_class_means(*command);
  add_plot_rsk(*command);
}

}  // namespace kith
