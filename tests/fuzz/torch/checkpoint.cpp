#include "kith/run/checkpoint.h"

#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/io/tensor_io.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sum_repair.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

ConfigNode small_config() {
  ConfigNode config = ConfigNode::map();
  config.set("model", complete_model(parse_config(
                          "{input: {size: 16}, backbone: {name: convnet, "
                          "width: 1}, head: {dim: 2}}",
                          "seed")));
  return config;
}

/// The same without checksums, as an older kith wrote it.
std::string without_sums(std::string bytes) {
  for (const std::string key : {"kith.crc32c.header", "kith.crc32c.tensors"}) {
    const size_t at = bytes.find(key);
    if (at != std::string::npos) bytes[at] = 'K';
  }
  return bytes;
}

/// Of a run and of an export.
std::vector<std::string> seeds() {
  const TempDir dir;
  torch::manual_seed(1);
  const ConfigNode config = small_config();
  EmbeddingNet net(*config.find("model"));
  const NamedTensors optimizer = {{"step", torch::ones({1})}};
  save_checkpoint(dir.file("run"), {net, {}, &optimizer}, config,
                  R"({"epoch":1,"step":2})");
  save_model(dir.file("export"), net, config);
  const std::string run = read_file(dir.file("run"), 1 << 20);
  const std::string exported = read_file(dir.file("export"), 1 << 20);
  return {run, exported, without_sums(run), without_sums(exported)};
}

/// The length of the header up to the last brace and the spaces behind it, and
/// its sum.
std::string repair(std::string bytes) {
  size_t end = bytes.rfind("}}");
  if (end == std::string::npos || end < 8) return bytes;
  end = std::min(bytes.find_first_not_of(' ', end + 2), bytes.size());
  const std::string header =
      with_own_sum(bytes.substr(8, end - 8), R"("kith.crc32c.header":")");
  return little_endian<uint64_t>(header.size()) + header + bytes.substr(end);
}

/// A network of a stranger's choice may be any that kith has, as large as that
/// is: those that are larger than the file are not built here.
bool is_small(const ConfigNode& config) {
  const ConfigNode* model = config.find("model");
  const ConfigNode* backbone =
      model == nullptr || !model->is_map() ? nullptr : model->find("backbone");
  const ConfigNode* name = backbone == nullptr || !backbone->is_map()
                               ? nullptr
                               : backbone->find("name");
  return name == nullptr || name->scalar == "convnet";
}

void read(std::string_view bytes) {
  const std::string& path = as_file(bytes);
  is_saved_model(path);
  const CheckpointInfo info = read_checkpoint_info(path);
  if (!is_small(info.config)) return;
  const ConfigNode config = small_config();
  static EmbeddingNet other(*config.find("model"));
  try {
    start_from_checkpoint(path, other);
  } catch (const DataError&) {
    // It may be a whole network of another shape.
  }
  load_model(path, at::kCPU);
}

const AddHarness kAdd(
    {.name = "checkpoint",
     .read = read,
     .seeds = seeds,
     .words = {"kith.config", "kith.progress", "kith.crc32c.header",
               "kith.crc32c.tensors", "backbone: ", "name: ", "width: ",
               "head: ", "dim: ", "input: ", "size: ", "model.backbone.",
               "\"data_offsets\":", "\"shape\":", "\"dtype\":\"F16\"",
               "\"dtype\":\"I64\"", "[0]", "[1,1,1,1]", "\\n"},
     .repair = repair,
     .longest = 16 << 10});

}  // namespace
}  // namespace kith
