#pragma once

#include <memory>
#include <string>

#include "kith/core/config.h"
#include "kith/models/embedding_net.h"
#include "kith/models/weights.h"

namespace kith {

/// A checkpoint is one .safetensors file: weights under "model.", or there
/// their moving average (train.ema) and the last ones under "raw.", parameters
/// of the loss under "loss.", the memory of past batches under "memory.", the
/// sampler's embeddings under "pool.", the optimiser's state under
/// "optimizer.", and in its metadata the effective configuration (YAML) and how
/// far the run is (JSON). It is written to a temporary name, flushed and
/// renamed: a kill at any moment leaves the last good one. Its checksums are
/// compared when it is read (see SafetensorsFile).
struct CheckpointInfo {
  ConfigNode config;
  /// JSON: all that a training goes on from; in weights alone "epoch" and
  /// "step", in those of an older kith nothing.
  std::string progress;
};

/// What a checkpoint saves and loads.
struct CheckpointParts {
  EmbeddingNet& net;
  /// "loss.<name>", "memory.<name>", "pool.<name>"
  NamedTensors others = {};
  /// The optimiser's state, without a prefix. Null: the file is a model only.
  const NamedTensors* optimizer = nullptr;
  /// The averaged state of the network, by its names. Null: there is none.
  const NamedTensors* average = nullptr;
};

void save_checkpoint(const std::string& path, const CheckpointParts& parts,
                     const ConfigNode& config, const std::string& progress);

/// Writes the network alone, as an export has it: names without a prefix
/// ("backbone.conv1.weight", "head.linear.weight"), and the configuration in
/// the metadata, with the hash of the weights. Every function below takes such
/// a file for a checkpoint.
void save_model(const std::string& path, const EmbeddingNet& net,
                const ConfigNode& config);

/// Whether a file was written by save_model(), of this kith or a later one.
/// False if there is none.
bool is_saved_model(const std::string& path);

/// Reads metadata only. DataError if the file is not a kith checkpoint, or one
/// that only a later kith reads.
CheckpointInfo read_checkpoint_info(const std::string& path);

/// Loads all parts. DataError names tensors that are missing, unexpected or of
/// another shape. Without an optimiser only the network is loaded.
void load_checkpoint(const std::string& path, const CheckpointParts& parts);

/// Copies weights of another run's network where names and shapes agree; the
/// report tells of the rest. DataError if none does.
WeightReport start_from_checkpoint(const std::string& path, EmbeddingNet& net);

/// The weights in the folder of an export.
constexpr const char* kExportedWeights = "model.safetensors";

/// The checkpoint that `path` means: a file, in a run's folder its `which`
/// ("last", "best"), or in an export's folder its weights, which stand for
/// "last". DataError if a folder has not what is asked for.
std::string find_checkpoint(const std::string& path,
                            const std::string& which = "last");

struct LoadedModel {
  std::unique_ptr<EmbeddingNet> net;
  ConfigNode config;
};

/// The network of a run, checkpoint or export, on a device, in evaluation mode.
LoadedModel load_model(const std::string& path, c10::Device device);

}  // namespace kith
