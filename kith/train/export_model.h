#pragma once

#include <functional>
#include <string>

#include "kith/run/checkpoint.h"
#include "kith/run/choose_checkpoint.h"

namespace kith {

/// Where an exported network comes from.
struct ExportSource {
  ChosenCheckpoint checkpoint;  ///< What it was read from.
  std::string version;          ///< Of kith.
  /// Writes the network as ONNX to a path, too; empty: not wanted.
  std::function<void(const std::string& path)> write_onnx = {};
};

/// Writes a network to a folder that other programs can read:
///
///     model.safetensors   weights: "backbone." with the names of torchvision
///                         where it has the network, and "head."
///     model.json          backbone, head, size of an embedding, origin, hash
///     preprocessing.json  what becomes of a picture before the network
///     README.md           how to use it
///     model.onnx          if `source` writes it
///
/// load_model() reads the folder, from its first file alone, to the same bits.
/// The folder is made if need be; files of an earlier export are replaced, each
/// as a whole. model.json is removed first and written last: where it is, it
/// belongs to the weights beside it.
void export_model(const LoadedModel& model, const ExportSource& source,
                  const std::string& folder);

/// preprocessing.json: from an image file to the network's input, as values and
/// as steps in words.
std::string preprocessing_text(const InputOptions& input);

/// How far vectors may be cut, as a line; empty if they may not.
std::string nested_text(EmbeddingNet& net);

/// Whether a folder has been written by export_model(). One that was stopped on
/// its way counts if nothing else is in the folder.
bool is_export(const std::string& folder);

/// Whether a folder has no files but those of an export, whole or on its way.
bool has_export_alone(const std::string& folder);

/// Where a network comes from: of an export's weights what model.json beside
/// them says, else the checkpoint itself.
ChosenCheckpoint origin_of(const ChosenCheckpoint& checkpoint);

}  // namespace kith
