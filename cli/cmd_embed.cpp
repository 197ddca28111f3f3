#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/descriptor_flags.h"
#include "cli/rank_flags.h"
#include "cli/this_rank.h"
#include "cli/usage.h"
#include "kith/use/embed_images.h"

namespace kith {
namespace {

struct EmbedFlags {
  EmbedImagesOptions options;
  DescriptorFlags descriptor;
  bool json = false;
  DeviceFlags device;
  RankFlags ranks;
};

void run_embed(const EmbedFlags& flags) {
  EmbedImagesOptions options = flags.options;
  options.descriptor = flags.descriptor.choice();
  flags.ranks.start();
  const c10::Device device = flags.ranks.device(flags.device);
  options.ranks = &flags.ranks.join(device);
  const EmbeddedImages made = embed_images(options, device, progress_bar());
  if (!speaks()) return;
  if (flags.json) {
    print_json({{"checkpoint", made.checkpoint.text()},
                {"images", made.images},
                {"left_out", made.left_out},
                {"dim", made.dim},
                {"out", options.out}},
               -1);
  } else {
    print_line(std::to_string(made.images) + " images" +
               (made.left_out > 0
                    ? " (" + std::to_string(made.left_out) + " left out)"
                    : "") +
               ", " + std::to_string(made.dim) + " dimensions, by the " +
               made.checkpoint.text() + " -> " + options.out);
  }
}

}  // namespace

void add_embed(CLI::App& app) {
  auto* command =
      app.add_subcommand("embed", "Embeddings of images as a .npy file");
  auto flags = std::make_shared<EmbedFlags>();
  command
      ->add_option("model", flags->options.model,
                   "A run's folder, a checkpoint (.safetensors) or an export")
      ->required();
  add_checkpoint_flag(*command, flags->options.checkpoint);
  command
      ->add_option("--images", flags->options.images,
                   "A folder (all images below it), a list (.csv) or a "
                   "configuration (.yaml)")
      ->required();
  command
      ->add_option("--on-broken", flags->options.on_broken,
                   "Images that cannot be read: stop, or skip them; "
                   "default: as a configuration says, else stop")
      ->check(one_of({"stop", "skip"}));
  command->add_option("--out", flags->options.out, "Float32 .npy [N, dim]")
      ->required();
  command->add_option("--ids", flags->options.ids,
                      "The images' paths, one per line, in the order of the "
                      "rows");
  command->add_option("--batch", flags->options.batch, "Images at a time")
      ->check(integer(1))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->descriptor.add_to(*command);
  flags->device.add_to(*command);
  flags->ranks.add_to(*command);
  command->callback([flags] { run_embed(*flags); });
}

}  // namespace kith
