
#include <torch/torch.h>

#include "cli/common.h"
#include "cli/plot_kinds.h"
#include "cli/usage.h"
#include "kith/chart/heat_map.h"
#include "kith/chart/html.h"
#include "kith/chart/mark_chart.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/eval/embed.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_place.h"
#include "kith/study/correlation.h"
#include "kith/train/experiment.h"
#include "kith/train/training_split.h"

namespace kith {
namespace {

struct ClassMeansFlags {
  std::string run;
  std::string out;
  int64_t classes = 100;
  DeviceFlags device;
};

/// What a run with the loss `hist` learnt of its classes, and what is true.
struct ClassMeans {
  Tensor learned;   ///< [C, D] double, unit rows.
  Tensor measured;  ///< [C, D] double: means of unit embeddings.
  Tensor distance;  ///< [C] mean squared distance to the learned mean.
  Tensor norm;      ///< [C] |Q_c|_F; undefined without learned variances.
};

/// Undefined if the checkpoint does not have it.
Tensor read_parameter(const SafetensorsFile& file, const std::string& name) {
  if (file.find("loss." + name) == nullptr) return {};
  return to_tensor(file.read("loss." + name)).to(torch::kDouble);
}

/// Sums of the rows of each class, [C, ...].
Tensor class_sums(const Tensor& rows, const Tensor& classes, int64_t count) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = count;
  return torch::zeros(shape, torch::kDouble).index_add_(0, classes, rows);
}

ClassMeans measure(const std::string& run, c10::Device device) {
  const torch::NoGradGuard no_grad;
  const std::string path = find_checkpoint(run);
  const SafetensorsFile file(path);
  ClassMeans result;
  result.learned = read_parameter(file, "means");
  if (!result.learned.defined()) {
    throw DataError(path +
                    ": no learned class means; 'kith plot class-means' draws "
                    "runs with the loss 'hist', and of checkpoints the last");
  }
  result.learned = normalize_rows(result.learned);
  LoadedModel model = load_model(path, device);
  follow_run(model.config, path);
  const auto data = make_training_data(complete_config(model.config));
  leave_out_as_in_run(*data, RunFolder::of(path).path(), /*workers=*/0,
                      progress_bar());
  const TrainingSplit split(data->list());
  const int64_t count = split.classes();
  if (result.learned.dim() != 2 || result.learned.size(0) != count ||
      result.learned.size(1) != model.net->dim()) {
    throw DataError(path + ": 'loss.means' is not for the " +
                    std::to_string(count) + " training classes of its data");
  }
  const Tensor z = normalize_rows(
      embed(*model.net, *data, split.images(), {}, progress_bar())
          .to(torch::kCPU, torch::kDouble));
  const Tensor classes =
      torch::tensor(split.class_numbers(split.images()), torch::kLong);
  const Tensor sizes =
      class_sums(torch::ones({z.size(0)}, torch::kDouble), classes, count);
  result.measured = class_sums(z, classes, count) / sizes.unsqueeze(1);
  const Tensor squares =
      (z - result.learned.index_select(0, classes)).square().sum(1);
  result.distance = class_sums(squares, classes, count) / sizes;
  const Tensor log_vars = read_parameter(file, "log_vars");
  if (log_vars.defined() && log_vars.sizes() == result.learned.sizes()) {
    // Variances are exp(v) with v clamped to [0, 6], as in the loss.
    result.norm = torch::exp(2 * torch::relu6(log_vars)).sum(1).sqrt();
  }
  return result;
}

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor plain = tensor.contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

std::string draw_similarities(const Tensor& similarity, int64_t most) {
  const int64_t all = similarity.size(0), shown = std::min(all, most);
  HeatMap map;
  map.title = "Learned and true class means";
  map.note =
      "cosine similarity; " +
      (shown < all ? "the first " + std::to_string(shown) + " of " : "") +
      std::to_string(all) + " training classes";
  map.x_label = "true mean of class";
  map.y_label = "learned mean of class";
  map.size = static_cast<size_t>(shown);
  map.values = numbers(similarity.slice(0, 0, shown).slice(1, 0, shown));
  return heat_map(map);
}

std::string draw_variances(const ClassMeans& means, double correlation) {
  MarkChart chart;
  chart.title = "Learned covariances and true variation of classes";
  chart.note = "Pearson's r = " + format_fixed(correlation, 2) + ", " +
               std::to_string(means.norm.numel()) + " training classes";
  chart.x_label = "mean squared distance to the learned mean";
  chart.y_label = "Frobenius norm of the learned covariance";
  const std::vector<double> x = numbers(means.distance);
  const std::vector<double> y = numbers(means.norm);
  MarkSeries series{"", {}, MarkStyle::kMarks};
  for (size_t i = 0; i < x.size(); ++i) {
    series.marks.push_back({x[i], y[i], 0, 0, "class " + std::to_string(i)});
  }
  chart.series.push_back(std::move(series));
  return mark_chart(chart);
}

void write_picture(const std::string& path, const std::string& svg) {
  write_file_atomically(path, svg);
  print_line("picture: " + path);
}

void run_class_means(const ClassMeansFlags& flags) {
  const ClassMeans means = measure(flags.run, flags.device.apply());
  make_folders(flags.out);
  const Tensor similarity =
      torch::mm(means.learned, normalize_rows(means.measured).t());
  const int64_t count = similarity.size(0);
  const Tensor nearest = similarity.argmax(1);
  const auto right =
      nearest.eq(torch::arange(count, torch::kLong)).sum().item<int64_t>();
  print_line(
      "cosine of a class's learned and true mean: " +
      format_fixed(similarity.diagonal().mean().item<double>(), 3) +
      " on average; the true mean of the same class is the nearest for " +
      std::to_string(right) + " of " + std::to_string(count) + " classes");
  write_picture(flags.out + "/class_means.svg",
                draw_similarities(similarity, flags.classes));
  if (!means.norm.defined()) {
    print_line("no learned variances: no picture of them");
    return;
  }
  const double correlation =
      pearson(numbers(means.distance), numbers(means.norm));
  print_line("correlation of learned covariance and true variation: " +
             format_fixed(correlation, 3));
  write_picture(flags.out + "/class_variances.svg",
                draw_variances(means, correlation));
}

}  // namespace

void add_plot_class_means(CLI::App& plot) {
  auto* command = plot.add_subcommand(
      "class-means",
      "What the loss 'hist' learnt of its classes, and what is true");
  auto flags = std::make_shared<ClassMeansFlags>();
  command->add_option("run", flags->run, "Folder of a run with the loss 'hist'")
      ->required();
  command->add_option("--out", flags->out, "Folder for two .svg files")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--classes", flags->classes,
                   "Classes in the matrix, the first ones (100)")
      ->check(integer(1, 1000));
  flags->device.add_to(*command);
  command->callback([flags] { run_class_means(*flags); });
}

}  // namespace kith
