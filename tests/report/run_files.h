#pragma once

#include <filesystem>
#include <string>

#include "tests/support/temp_dir.h"

namespace kith {

inline const std::string kRunConfig =
    "data: {name: csv, path: data/glyphs}\n"
    "sampler: {name: class_balanced, batch: 400, per_class: 4}\n"
    "model: {backbone: {name: convnet}, head: {dim: 128}}\n"
    "loss: {name: recall_at_k, k: [1, 2, 4], t2: 0.05}\n"
    "optimizer: {name: adam, lr: 0.002}\n"
    "train: {epochs: 4, seed: 0}\n"
    "eval: {protocol: standard, best: \"recall_any@1\"}\n";

/// A line of log.jsonl as kith train writes it.
inline std::string step_line(int step, int epoch, double loss) {
  return "{\"kind\":\"step\",\"epoch\":" + std::to_string(epoch) +
         ",\"step\":" + std::to_string(step) +
         ",\"loss\":" + std::to_string(loss) +
         ",\"lr\":0.002,\"grad_norm\":1.5,\"images\":400,\"queries\":400.0,"
         "\"seconds\":{\"data\":0.01,\"forward\":0.05,\"loss\":0.02,"
         "\"backward\":0.1,\"optimizer\":0.02,\"total\":0.2,\"sampler\":0.001},"
         "\"peak_mb\":{\"data\":300,\"forward\":451,\"loss\":454,"
         "\"backward\":612,\"optimizer\":612}}\n";
}

/// The values of an evaluation as kith train writes them.
inline std::string eval_object(const std::string& metrics) {
  return "{\"queries\":40,\"gallery\":40,\"rules\":\"40 queries, gallery of "
         "40\",\"metrics\":{" +
         metrics + "}}";
}

inline std::string eval_line(int step, const std::string& metrics,
                             const std::string& epoch = "") {
  return "{\"kind\":\"eval\"," + epoch + "\"step\":" + std::to_string(step) +
         ",\"metrics\":" + eval_object(metrics) + ",\"seconds\":0.5}\n";
}

/// The folder of a run in a temporary folder.
class WrittenRun {
 public:
  explicit WrittenRun(const std::string& config = kRunConfig) {
    write("config.yaml", config);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.file(name)).parent_path());
    return dir_.write(name, text);
  }

  const std::string& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

}  // namespace kith
