// Trains a network of your own with RS@k, a batch of 4000 and SiMix on
// generated characters, and tests it on others.
#include <iostream>

#include <torch/torch.h>

#include "kith/kith.h"
#include "kith/losses/recall_at_k.h"
#include "kith/samplers/class_balanced.h"

namespace nn = torch::nn;

// Any module will do that makes [N, D] of [N, C, H, W].
struct Net : nn::Module {
  Net() {
    body->push_back(nn::Conv2d(nn::Conv2dOptions(1, 16, 3).stride(2)));
    body->push_back(nn::ReLU());
    body->push_back(nn::Conv2d(nn::Conv2dOptions(16, 32, 3).stride(2)));
    body->push_back(nn::ReLU());
    body->push_back(nn::Flatten());
    body->push_back(nn::Linear(32 * 3 * 3, 64));
    register_module("body", body);
  }

  torch::Tensor forward(torch::Tensor x) { return body->forward(x); }

  nn::Sequential body;
};

int main(int argc, char** argv) {
  torch::manual_seed(0);
  // 2000 characters to train on, two drawings each, and as many to test.
  const kith::GlyphsDataSet data({.classes = 4000, .per_class = 2});
  kith::Trainer trainer(
      {
          .net = std::make_shared<kith::EmbeddingNet>(
              kith::InputOptions{
                  .size = 16, .colour = "grey", .mean = {0.93}, .std = {0.2}},
              std::make_shared<Net>()),
          // Ranks are high before a network has learnt anything: so is k.
          .loss = kith::part<kith::RecallAtK>(
              {.k = {1, 4, 16, 64, 256}, .t2 = 0.02, .rows = {.simix = true}}),
          .sampler = kith::part<kith::ClassBalancedSampler>(
              {.batch = 4000, .per_class = 2}),
          .optimizer = kith::part<kith::AdamOptimizer>({.lr = 0.01}),
          .train = {.epochs = 6, .sub_batch = 1000, .cache_mb = 100},
      },
      data, argc > 1 ? argv[1] : "own-network-run", kith::parse_device("auto"),
      kith::silent_progress());

  const auto before = trainer.evaluate_now();
  const auto after = trainer.run();
  std::cout << "R@1 on unseen characters: " << before.at("recall_any@1")
            << " -> " << after.at("recall_any@1") << "\n";
}
