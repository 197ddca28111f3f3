#include "kith/models/token_stream.h"

#include <utility>

#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/ops/is_recorded.h"
#include "kith/ops/token_launch.h"

namespace kith {
namespace {

thread_local std::optional<at::ScalarType> forced_stream;

}  // namespace

Tensor TokenStream::norm(const torch::nn::LayerNormImpl& layer,
                         at::ScalarType as) {
  auto [sum, normed] =
      add_norm(x, branch, {layer.weight, layer.bias, layer.options.eps()}, as);
  x = std::move(sum);
  branch = {};
  return normed;
}

void TokenStream::settle() {
  x = add_branch(x, branch);
  branch = {};
}

std::optional<at::ScalarType> stream_type(const Tensor& tokens) {
  if (is_recorded()) return std::nullopt;
  std::optional<at::ScalarType> type = forced_stream;
  if (!type && tokens.is_cuda() && Autocast::is_bfloat16()) {
    type = at::kBFloat16;
  }
  const bool can =
      type && has_token_ops(tokens.device(), tokens.scalar_type(), *type);
  return can ? type : std::nullopt;
}

ForcedStream::ForcedStream(at::ScalarType type)
    : before_(std::exchange(forced_stream, type)) {}
ForcedStream::~ForcedStream() { forced_stream = before_; }

}  // namespace kith
