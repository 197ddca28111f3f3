#include "tests/support/torch/tiny_run.h"

namespace kith {

RunConfig tiny_config(const std::vector<std::string>& changes) {
  ConfigNode config = parse_config(R"(
data: {name: glyphs, classes: 12, per_class: 8}
sampler: {name: class_balanced, batch: 16}
augment: [{name: affine}]
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
loss: {name: recall_at_k, k: [1, 2]}
optimizer: {name: adam, lr: 0.003}
schedule: {name: cosine, warmup_epochs: 0.5}
train: {epochs: 3, workers: 2, clip_norm: 10}
eval: {every: 1}
log: {examples: 1}
)",
                                   "tiny.yaml");
  for (const std::string& change : changes) apply_override(config, change);
  return complete_config(config);
}

}  // namespace kith
