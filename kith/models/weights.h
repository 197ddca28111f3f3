#pragma once

#include <string>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/models/backbone.h"

namespace kith {

/// What became of the tensors of a weight file and of a backbone.
struct WeightReport {
  std::vector<std::string> matched;
  std::vector<std::string> missing;     ///< The backbone has, the file has not.
  std::vector<std::string> unexpected;  ///< The file has, the backbone has not.
  /// "conv1.weight: [64, 3, 7, 7] in the file, [64, 1, 7, 7] in the model"
  std::vector<std::string> mismatched;
  /// The known network that the file is nearest to; empty if not known.
  std::string network;

  /// One or two lines for the log: counts, and the first few names of each.
  std::string summary() const;
};

/// Every tensor of a .safetensors file or one of torch.save or torch.jit.save
/// (.pth, .pt, ...; see PthFile), or of all files of a folder or an index (see
/// find_weight_files), on the CPU, in the file's order; the format is told by
/// content.
/// Checkpoints that nest their weights under `state_dict`, `model_state_dict`,
/// `model`, `net`, `teacher` or `student` are looked into, and what lies beside
/// is left out. From each name the prefixes that wrappers leave (`module.`,
/// `model.`, `_orig_mod.`, `backbone.`) are taken off, as many as there are; of
/// two names that become the same, the one that lost fewest (then the first in
/// the file) has it, and the other stays as it was. DataError names the file
/// and what is wrong.
NamedTensors read_weights(const std::string& path);

/// Copies tensors into `targets` by name where the shapes agree, converted to
/// the targets' types. DataError, which starts with `path`, if none does but
/// counters of batch norm. `network` is what the file seems to be of, for what
/// is said of the rest.
WeightReport copy_weights(const std::string& path, const NamedTensors& weights,
                          const NamedTensors& targets,
                          const std::string& network = "");

/// Copies the weights of a file into a backbone by name. DataError if none
/// matches; anything else that does not fit is in the report.
WeightReport load_weights(const std::string& path, Backbone& backbone);

}  // namespace kith
