#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/image/image.h"
#include "kith/report/insight.h"

namespace kith {

/// The channels of a features [F, H, W] with the largest means over the
/// picture, largest first, equal ones by their number; at most `count`.
struct TopChannels {
  std::vector<int64_t> channels;
  std::vector<double> means;
};
TopChannels top_channels(const Tensor& features, int64_t count);

/// Values [H, W] as heat over the picture in grey, of the picture's size: from
/// black by purple and orange to yellow, which is their maximum. Those
/// below zero are as zero.
Image heat_over(const Image& picture, const Tensor& values);

/// What a network makes of a picture: three channels of its last features
/// [F, H, W] and their mean (as HIST shows them: Lim et al., Hypergraph-Induced
/// Semantic Tuplet Loss for Deep Metric Learning, CVPR 2022, supplement D.1).
/// Fewer channels if there are fewer.
ActivationRow activation_row(const Image& picture, const Tensor& features);

}  // namespace kith
