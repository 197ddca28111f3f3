#include <filesystem>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/descriptor_flags.h"
#include "cli/index_source.h"
#include "cli/usage.h"
#include "kith/core/file.h"
#include "kith/eval/embed_blocks.h"
#include "kith/train/checkpoint.h"

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

void run_embed(const EmbedFlags& flags) {
  const c10::Device device = flags.device.apply();
  const LoadedModel model = load_model(flags.model, device);
  const std::unique_ptr<DataSet> data =
      std::filesystem::is_directory(flags.images)
          ? images_below(flags.images)
          : data_from_path(flags.images);
  const auto count = static_cast<int64_t>(data->list().items.size());
  std::vector<int64_t> all;
  std::string ids;
  for (int64_t i = 0; i < count; ++i) {
    all.push_back(i);
    ids += data->list().items[static_cast<size_t>(i)].path + "\n";
  }
  EmbedOptions options = usual_embedding(model);
  options.batch = flags.batch;
  flags.descriptor.apply(options.descriptor);
  const std::optional<Whitening> whitening =
      flags.descriptor.whitening(*model.net, *data, options, progress_bar());
  if (whitening) options.whitening = &*whitening;
  embed_to_file(*model.net, *data, all, options, progress_bar(), flags.out);
  const int64_t dim = embedding_dim(*model.net, options);
  if (!flags.ids.empty()) write_file_atomically(flags.ids, ids);
  if (flags.json) {
    print_json({{"images", count}, {"dim", dim}, {"out", flags.out}}, -1);
  } else {
    print_line(std::to_string(count) + " images, " + std::to_string(dim) +
               " dimensions -> " + flags.out);
  }
}

}  // namespace

void add_embed(CLI::App& app) {
  auto* command =
      app.add_subcommand("embed", "Embeddings of images as a .npy file");
  auto flags = std::make_shared<EmbedFlags>();
  command
      ->add_option("model", flags->model,
                   "A run's folder, a checkpoint (.safetensors) or an export")
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
