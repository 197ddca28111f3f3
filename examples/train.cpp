// Trains a small model on generated characters and evaluates it on others.
#include <iostream>

#include <torch/torch.h>

#include "kith/kith.h"
#include "kith/losses/recall_at_k.h"
#include "kith/samplers/class_balanced.h"

int main(int argc, char** argv) {
  kith::set_log_sink([](kith::LogLevel, const std::string& message) {
    std::cerr << message << "\n";
  });
  torch::manual_seed(0);
  const kith::GlyphsDataSet data({.classes = 80, .per_class = 12});
  kith::Trainer trainer(
      {
          .net = kith::EmbeddingNet::make<kith::Convnet>(
              {.width = 16}, {.size = 32, .colour = "grey"}, {.dim = 32}),
          .loss = kith::part<kith::RecallAtK>({.t2 = 0.05}),
          .sampler = kith::part<kith::ClassBalancedSampler>(
              {.batch = 80, .per_class = 4}),
          .optimizer = kith::part<kith::AdamOptimizer>({.lr = 0.003}),
          .train = {.epochs = 25},
      },
      data, argc > 1 ? argv[1] : "example-run", kith::parse_device("auto"),
      kith::silent_progress());

  const auto before = trainer.evaluate_now();
  const auto after = trainer.run();
  std::cout << "R@1 on unseen characters: " << before.at("recall_any@1")
            << " -> " << after.at("recall_any@1") << "\n";
}
