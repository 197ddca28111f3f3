#include "kith/onnx/triton.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/path.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTritonConfig = "config.pbtxt";
constexpr const char* kTritonVersion = "1";
constexpr const char* kTritonModel = "model.onnx";
constexpr const char* kTritonMark =
    "# A network for the Triton server, exported by kith.\n";
/// The most pictures that the server puts together.
constexpr int kMostPictures = 64;

/// Without the number of pictures, which the server counts itself.
std::string port_text(const std::string& kind, const OnnxPort& port) {
  std::string dims;
  for (size_t i = 1; i < port.shape.size(); ++i) {
    const auto* size = std::get_if<int64_t>(&port.shape[i]);
    dims += (i == 1 ? " " : ", ") +
            std::to_string(size == nullptr ? int64_t{-1} : *size);
  }
  return kind + " [\n  {\n    name: \"" + port.name + "\"\n    data_type: " +
         (port.type == at::kByte ? "TYPE_UINT8" : "TYPE_FP32") +
         "\n    dims: [" + dims + " ]\n  }\n]\n";
}

std::string config_text(const OnnxModel& model, const std::string& name) {
  return std::string(kTritonMark) + "name: \"" + name +
         "\"\nplatform: \"onnxruntime_onnx\"\nmax_batch_size: " +
         std::to_string(kMostPictures) + "\n" +
         port_text("input", model.input) + port_text("output", model.output) +
         "dynamic_batching { }\n";
}

/// Whether a folder has files of these names alone, also on their way.
bool has_only(const fs::path& folder, const std::vector<std::string>& allowed) {
  const std::vector<std::string> names = names_in(folder);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(allowed.begin(), allowed.end(), name) != allowed.end() ||
           is_temporary_file(name);
  });
}

}  // namespace

std::string triton_model_name(const std::string& folder) {
  const std::string name = full_path(folder).filename().string();
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ||
           c == '_' || c == '.';
  });
  if (!name.empty() && is_plain) return name;
  throw ConfigError("option 'out' " + folder +
                    ": the Triton server calls the model as the folder, whose "
                    "name must be letters, digits, '-', '_' and '.'");
}

int64_t write_triton_model(const OnnxModel& model, const std::string& name,
                           const std::string& folder) {
  const std::string config = config_text(model, name);
  const fs::path out(folder), version = out / kTritonVersion;
  make_folders(version);
  remove_file(out / kTritonConfig);
  const std::string path = (version / kTritonModel).string();
  write_onnx(model, path);
  write_file_atomically((out / kTritonConfig).string(), config);
  const std::string data = onnx_data_file(path);
  return bytes_of(path) + (path_exists(data) ? bytes_of(data) : 0);
}

bool is_triton_model(const std::string& folder) {
  const fs::path out(folder), version = out / kTritonVersion;
  if (!has_only(out, {kTritonConfig, kTritonVersion})) return false;
  if (!is_folder(version) ||
      !has_only(version, {kTritonModel, onnx_data_file(kTritonModel)})) {
    return false;
  }
  if (!is_file(out / kTritonConfig)) return true;
  constexpr uint64_t kMost = 1 << 16;
  return bytes_of(out / kTritonConfig) <= static_cast<int64_t>(kMost) &&
         read_file((out / kTritonConfig).string(), kMost)
             .starts_with(kTritonMark);
}

}  // namespace kith
