#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/image/image.h"
#include "kith/report/insight.h"

namespace kith {

/// Pictures [N, H, W, C] in bytes -> [N, D].
using EmbedPixels = std::function<Tensor(const Tensor& pixels)>;

/// How far the embedding of a picture moves, as 1 - cosine, when it is blurred
/// around one of 10 x 10 places: [10, 10] double on the CPU, not negative.
///
/// It asks the whole network (Zeiler & Fergus, Visualizing and Understanding
/// Convolutional Networks, ECCV 2014, cover with grey), so it shows as much of
/// a picture of 32 pixels, of whose last feature map one place is left, as of a
/// large one. What is covered is blurred and not grey, with a soft edge: where
/// there is nothing to see nothing changes.
Tensor cover_effect(const Image& picture, const EmbedPixels& embed);

/// The channels of features [F, H, W] whose means over the picture are most
/// above the usual [F], largest first, equal ones by their number; at most
/// `count`. Channels that every picture excites are not among them.
struct TopChannels {
  std::vector<int64_t> channels;
  std::vector<double> means;  ///< Above the usual.
};
TopChannels top_channels(const Tensor& features, const Tensor& usual,
                         int64_t count);

/// Values [H, W] as heat over the picture in grey, of the picture's size: from
/// black by purple and orange to yellow, which is their maximum. Those
/// below zero are as zero.
Image heat_over(const Image& picture, const Tensor& values);

/// What a network makes of a picture: where blurring moves its embedding, and
/// three channels of its last features [F, H, W] as far as they are above the
/// usual [F]; fewer channels if there are fewer, none if `features` is not
/// defined.
ActivationRow activation_row(const Image& picture, const Tensor& effect,
                             const Tensor& features, const Tensor& usual);

}  // namespace kith
