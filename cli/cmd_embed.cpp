#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/descriptor_flags.h"
#include "cli/usage.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/tensor_io.h"
#include "kith/data/image_files.h"
#include "kith/eval/embed.h"
#include "kith/train/checkpoint.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

struct EmbedFlags {
  std::string model;
  std::string images;
  std::string out;
  std::string ids;
  int64_t batch = 256;
  DescriptorFlags descriptor;
  bool json = false;
  DeviceFlags device;
};

/// All images below a folder, or all of a list or configuration.
std::unique_ptr<DataSet> images_from(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return data_from_path(path);
  const ImageFiles files = find_image_files(path);
  if (files.images.empty()) throw DataError(path + ": no images found");
  if (!files.ignored.empty()) {
    log_warning(path + ": " + std::to_string(files.ignored.size()) +
                " files are not images and are left out (first: " +
                files.ignored.front() + ")");
  }
  return make_file_set(files.images);
}

void run_embed(const EmbedFlags& flags) {
  const c10::Device device = flags.device.apply();
  const LoadedModel model = load_model(flags.model, device);
  const std::unique_ptr<DataSet> data = images_from(flags.images);
  const auto count = static_cast<int64_t>(data->list().items.size());
  std::vector<int64_t> all;
  std::string ids;
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(i);
    ids += data->list().items[static_cast<size_t>(i)].path + "\n";
  }
  EmbedOptions options{flags.batch, {worker_count(0), 2}};
  if (const ConfigNode* section = model.config.find("eval")) {
    options.descriptor = read_options<EvalOptions>(*section, "eval").descriptor;
  }
  flags.descriptor.apply(options.descriptor);
  const std::optional<Whitening> whitening =
      flags.descriptor.whitening(*model.net, *data, options, progress_bar());
  if (whitening) options.whitening = &*whitening;
  const Tensor embeddings =
      embed(*model.net, *data, all, options, progress_bar());
  save_npy(flags.out, embeddings);
  if (!flags.ids.empty()) write_file_atomically(flags.ids, ids);
  if (flags.json) {
    print_line(nlohmann::ordered_json({{"images", count},
                                       {"dim", embeddings.size(1)},
                                       {"out", flags.out}})
                   .dump());
  } else {
    print_line(std::to_string(count) + " images, " +
               std::to_string(embeddings.size(1)) + " dimensions -> " +
               flags.out);
  }
}

}  // namespace

void add_embed(CLI::App& app) {
  auto* command =
      app.add_subcommand("embed", "Embeddings of images as a .npy file");
  auto flags = std::make_shared<EmbedFlags>();
  command
      ->add_option("model", flags->model,
                   "A run's folder or a checkpoint (.safetensors)")
      ->required();
  command
      ->add_option("--images", flags->images,
                   "A folder (all images below it), a list (.csv) or a "
                   "configuration (.yaml)")
      ->required();
  command->add_option("--out", flags->out, "Float32 .npy [N, dim]")->required();
  command->add_option("--ids", flags->ids,
                      "The images' paths, one a line, in the order of the "
                      "rows");
  command->add_option("--batch", flags->batch, "Images at a time")
      ->check(integer(1))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->descriptor.add_to(*command);
  flags->device.add_to(*command);
  command->callback([flags] { run_embed(*flags); });
}

}  // namespace kith
