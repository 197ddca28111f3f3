// Trains a small model on generated characters and evaluates it on others.
#include <iostream>

#include "kith/kith.h"

int main(int argc, char** argv) {
  kith::set_log_sink([](kith::LogLevel, const std::string& message) {
    std::cerr << message << "\n";
  });
  const auto config = kith::complete_config(kith::parse_config(R"(
data: {name: glyphs, classes: 80, per_class: 12}
sampler: {name: class_balanced, batch: 80, per_class: 4}
model:
  input: {size: 32}
  backbone: {name: convnet, width: 16}
  head: {dim: 32}
loss: {name: recall_at_k, t2: 0.05}
optimizer: {name: adam, lr: 0.003}
train: {epochs: 25}
)",
                                                               "example"));

  const auto data = kith::make_data_set(config.section("data"));
  kith::Trainer trainer(config, *data, argc > 1 ? argv[1] : "example-run",
                        kith::parse_device("auto"), kith::silent_progress());
  const auto before = trainer.evaluate_now();
  const auto after = trainer.run();
  std::cout << "R@1 on unseen characters: " << before.at("recall_any@1")
            << " -> " << after.at("recall_any@1") << "\n";
}
