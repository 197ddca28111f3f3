#include "kith/report/activations.h"

#include <algorithm>
#include <array>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/torch_compat.h"
#include "kith/eval/query_neighbours.h"
#include "kith/image/colour.h"
#include "kith/image/resize.h"
#include "kith/report/image_group.h"
#include "kith/report/thumbnails.h"

namespace kith {
namespace {

constexpr int64_t kChannels = 3;
constexpr int kSide = 128;  // pixels of the longer side

using Colour = std::array<double, 3>;

/// Brightness rises evenly along the way, so that heat also reads in grey.
Colour heat_colour(double heat) {
  constexpr std::array<Colour, 5> kPoints = {{{0, 0, 0},
                                              {82, 20, 112},
                                              {188, 54, 84},
                                              {248, 142, 20},
                                              {252, 252, 164}}};
  const double place = heat * static_cast<double>(kPoints.size() - 1);
  const auto low = std::min(static_cast<size_t>(place), kPoints.size() - 2);
  const double share = place - static_cast<double>(low);
  Colour colour{};
  for (size_t c = 0; c < colour.size(); ++c) {
    colour[c] = (1 - share) * kPoints[low][c] + share * kPoints[low + 1][c];
  }
  return colour;
}

/// [H, W] double of the given size on the CPU, in [0, 1].
Tensor heat_of(const Tensor& heat, int height, int width) {
  const Tensor values =
      heat.to(torch::kCPU, torch::kDouble).nan_to_num(0, 0, 0).clamp_min(0);
  const Tensor large =
      at::upsample_bilinear2d(values.view({1, 1, heat.size(0), heat.size(1)}),
                              {height, width}, /*align_corners=*/false)[0][0];
  const double most = large.max().item<double>();
  return most > 0 ? large / most : large;
}

/// Puts a network in evaluation mode while it lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(EmbeddingNet& net)
      : net_(net), was_training_(net.is_training()) {
    net_.eval();
  }
  ~EvaluationMode() { net_.train(was_training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  EmbeddingNet& net_;
  bool was_training_;
};

/// [F, H, W] float32 on the CPU of a picture as the network takes it.
Tensor features_of(EmbeddingNet& net, Image& picture) {
  const Tensor pixels =
      torch::from_blob(picture.pixels.data(),
                       {1, picture.height, picture.width, picture.channels},
                       torch::kByte)
          .to(net.device());
  const Autocast autocast(pixels.is_cuda() &&
                          net.options().precision == "bf16");
  const Features features = net.backbone().forward(net.prepare(pixels));
  return features.map[0].to(torch::kCPU, torch::kFloat);
}

}  // namespace

TopChannels top_channels(const Tensor& features, int64_t count) {
  const Tensor means = features.to(torch::kDouble).mean({1, 2}).to(torch::kCPU);
  const auto [values, order] =
      means.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  TopChannels top;
  for (int64_t i = 0; i < std::min(count, means.size(0)); ++i) {
    top.channels.push_back(order[i].item<int64_t>());
    top.means.push_back(values[i].item<double>());
  }
  return top;
}

Image heat_over(const Image& picture, const Tensor& values) {
  constexpr double kCover = 0.6;  // the picture must still be seen
  const Tensor heat = heat_of(values, picture.height, picture.width);
  const auto value = heat.accessor<double, 2>();
  const Image grey = to_channels(picture, 1);
  Image result(picture.width, picture.height, 3);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const Colour colour = heat_colour(value[y][x]);
      for (size_t c = 0; c < colour.size(); ++c) {
        result.row(y)[static_cast<size_t>(x) * 3 + c] = static_cast<uint8_t>(
            (1 - kCover) * grey.row(y)[x] + kCover * colour[c] + 0.5);
      }
    }
  }
  return result;
}

ActivationRow activation_row(const Image& picture, const Tensor& features) {
  const Size size = size_within({picture.width, picture.height}, kSide);
  const Image shown = resize(picture, size.width, size.height);
  const TopChannels top = top_channels(features, kChannels);
  ActivationRow row;
  row.picture = picture_uri(shown);
  row.channels = top.channels;
  row.activations = top.means;
  for (const int64_t channel : top.channels) {
    row.uris.push_back(picture_uri(heat_over(shown, features[channel])));
  }
  const Tensor chosen =
      features.index_select(0, torch::tensor(top.channels, torch::kLong));
  row.uris.push_back(picture_uri(heat_over(shown, chosen.mean(0))));
  return row;
}

void add_activations(EmbeddingNet& net, const DataSet& data,
                     const EmbeddedSplit& split, const InsightOptions& options,
                     RunInsight& insight) {
  const torch::NoGradGuard no_grad;
  const EvaluationMode evaluation(net);
  const EvalTask& task = split.tasks.front();
  Rng unused(0, Stream::kAugment);
  for (const int64_t query :
       draw_queries(task, options.activations, options.seed)) {
    const int64_t item = task.queries[static_cast<size_t>(query)];
    try {
      Image picture = prepare_image(data.load(item), net.input(), {}, unused);
      ActivationRow row = activation_row(picture, features_of(net, picture));
      const int64_t label = data.list().items[static_cast<size_t>(item)].label;
      row.label = data.list().class_name(label);
      insight.activations.push_back(std::move(row));
    } catch (const DataError& error) {
      log_warning(std::string("no activation maps of a picture: ") +
                  error.what());
    }
  }
}

}  // namespace kith
