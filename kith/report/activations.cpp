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
#include "kith/ops/pairwise.h"
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

Tensor pixels_of_picture(Image& picture) {
  return torch::from_blob(picture.pixels.data(),
                          {1, picture.height, picture.width, picture.channels},
                          torch::kByte);
}

/// [F, H, W] float32 on the CPU of a picture as the network takes it; undefined
/// if the network has no feature map.
Tensor features_of(EmbeddingNet& net, Image& picture) {
  const Tensor pixels = pixels_of_picture(picture).to(net.device());
  const Autocast autocast(pixels.is_cuda() &&
                          net.options().precision == "bf16");
  const Features features = net.backbone().forward(net.prepare(pixels));
  if (!features.map.defined()) return {};
  return features.map[0].to(torch::kCPU, torch::kFloat);
}

/// What the pictures that are shown are held up to.
struct Usual {
  Tensor means;      ///< [F], over some pictures; undefined: no channels.
  std::string note;  ///< Why there are none.
};

/// The mean of every channel over the pictures of some queries.
Usual usual_channels(EmbeddingNet& net, const DataSet& data,
                     const std::vector<int64_t>& items) {
  constexpr int64_t kLeastSide = 5;  // below it channels are blots
  Usual usual;
  Rng unused(0, Stream::kAugment);
  int64_t count = 0;
  for (const int64_t item : items) {
    try {
      Image picture = prepare_image(data.load(item), net.input(), {}, unused);
      const Tensor features = features_of(net, picture);
      if (!features.defined()) return usual;
      const int64_t height = features.size(1), width = features.size(2);
      if (std::min(height, width) < kLeastSide) {
        usual.means = Tensor();
        usual.note = "Single channels are not shown: of a picture of " +
                     std::to_string(picture.width) + " x " +
                     std::to_string(picture.height) +
                     " pixels the network's last feature map has " +
                     std::to_string(width) + " x " + std::to_string(height) +
                     " places, too few to say where.";
        return usual;
      }
      const Tensor means = features.to(torch::kDouble).mean({1, 2});
      usual.means = count == 0 ? means : usual.means + means;
      ++count;
    } catch (const DataError&) {
      continue;  // told of where it is shown
    }
  }
  if (count > 0) usual.means = usual.means / static_cast<double>(count);
  return usual;
}

}  // namespace

Tensor cover_effect(const Image& picture, const EmbedPixels& embed) {
  constexpr int64_t kPlaces = 10;   // along a side
  constexpr int64_t kAtOnce = 20;   // pictures in a batch
  constexpr int kBlurred = 6;       // pixels of the longer side
  constexpr double kRadius = 0.09;  // of the longer side
  const Size small = size_within({picture.width, picture.height}, kBlurred);
  Image blurred = resize(resize(picture, small.width, small.height),
                         picture.width, picture.height);
  Image sharp = picture;
  const Tensor from = pixels_of_picture(sharp);
  const Tensor change =
      pixels_of_picture(blurred).to(torch::kFloat) - from.to(torch::kFloat);
  const double radius = kRadius * std::max(picture.width, picture.height);
  // exp(-d^2 / 2 r^2) along a side, [places, size].
  const auto bumps = [radius](int size) {
    const Tensor at = torch::arange(size, torch::kDouble) + 0.5;
    const Tensor centres =
        (torch::arange(kPlaces, torch::kDouble) + 0.5) * size / kPlaces;
    return ((at.unsqueeze(0) - centres.unsqueeze(1)) / radius)
        .square()
        .mul(-0.5)
        .exp()
        .to(torch::kFloat);
  };
  const Tensor mask =
      (bumps(picture.height).view({kPlaces, 1, picture.height, 1, 1}) *
       bumps(picture.width).view({1, kPlaces, 1, picture.width, 1}))
          .flatten(0, 1);  // [places^2, H, W, 1]
  const Tensor own =
      normalize_rows(embed(from).to(torch::kCPU, torch::kDouble));
  std::vector<Tensor> effects;
  for (int64_t first = 0; first < kPlaces * kPlaces; first += kAtOnce) {
    const Tensor covered =
        from.to(torch::kFloat) + mask.narrow(0, first, kAtOnce) * change;
    const Tensor rows = normalize_rows(
        embed(covered.round().clamp(0, 255).to(torch::kByte).contiguous())
            .to(torch::kCPU, torch::kDouble));
    effects.push_back(1 - rows.mv(own[0]));
  }
  return torch::cat(effects).clamp_min(0).view({kPlaces, kPlaces});
}

TopChannels top_channels(const Tensor& features, const Tensor& usual,
                         int64_t count) {
  const Tensor means =
      (features.to(torch::kDouble).mean({1, 2}) - usual.to(torch::kDouble))
          .to(torch::kCPU);
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

ActivationRow activation_row(const Image& picture, const Tensor& effect,
                             const Tensor& features, const Tensor& usual) {
  const Size size = size_within({picture.width, picture.height}, kSide);
  const Image shown = resize(picture, size.width, size.height);
  ActivationRow row;
  row.picture = picture_uri(shown);
  row.cover = picture_uri(heat_over(shown, effect));
  row.moved = effect.max().item<double>();
  if (!features.defined()) return row;
  const TopChannels top = top_channels(features, usual, kChannels);
  row.channels = top.channels;
  row.activations = top.means;
  for (const int64_t channel : top.channels) {
    row.uris.push_back(picture_uri(
        heat_over(shown, features[channel] - usual[channel].item<double>())));
  }
  return row;
}

void add_activations(EmbeddingNet& net, const DataSet& data,
                     const EmbeddedSplit& split, const InsightOptions& options,
                     RunInsight& insight) {
  constexpr int64_t kUsual = 32;  // pictures that the others are held up to
  const torch::NoGradGuard no_grad;
  const EvaluationMode evaluation(net);
  const EvalTask& task = split.tasks.front();
  std::vector<int64_t> items;
  for (const int64_t query : draw_queries(
           task, std::max(options.activations, kUsual), options.seed)) {
    items.push_back(task.queries[static_cast<size_t>(query)]);
  }
  const Usual usual = usual_channels(net, data, items);
  insight.activations_note = usual.note;
  const auto embed = [&net](const Tensor& pixels) {
    return net.forward(net.prepare(pixels.to(net.device())));
  };
  items.resize(static_cast<size_t>(
      std::min<int64_t>(std::ssize(items), options.activations)));
  Rng unused(0, Stream::kAugment);
  for (const int64_t item : items) {
    try {
      Image picture = prepare_image(data.load(item), net.input(), {}, unused);
      ActivationRow row = activation_row(
          picture, cover_effect(picture, embed),
          usual.means.defined() ? features_of(net, picture) : Tensor(),
          usual.means);
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
