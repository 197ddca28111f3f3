#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// The name that kith has for a tensor of a vision transformer, which is that
/// of timm, given the name in a published file without what stands before it
/// there. Other names stay. Earlier versions of kith had torchvision's.
///
/// What is one tensor in timm and several in the file has names of its own:
/// attn.q, attn.k and attn.v, and mlp.fc1_g (the gate) and mlp.fc1_x.
std::string vit_name(const std::string& name);

/// Of which class a network is in timm: DeiT with distillation and Eva (DINOv3)
/// have other names than VisionTransformer, which has kith's.
enum class TimmVit { kPlain, kDistilled, kEva };

/// The way back: timm's name of what is `name` in kith, or a part of it.
std::string timm_vit_name(const std::string& name, TimmVit kind);

/// The names of the tensors that lie in a file for one of kith's: of
/// "attn.qkv.bias" they are attn.q.bias, attn.k.bias and attn.v.bias, of
/// "mlp.fc1.weight" the gate and what it is for. Empty for all others.
std::vector<std::string> vit_parts(const std::string& name);

/// What stands before the names of the network in a file: "visual.", or
/// nothing. Told by its first layer; none if there is no such layer.
std::optional<std::string> vit_prefix(const NamedTensors& weights);

/// How many blocks there are by kith's names, at most 1000.
int64_t vit_depth(const NamedTensors& weights);

}  // namespace kith
