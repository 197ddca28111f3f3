#include "cli/source_flags.h"

#include "cli/usage.h"

namespace kith {

void add_source_flags(CLI::App& command, IndexSourceOptions& options) {
  command.add_option("source", options.source,
                     "Embeddings (.npy), a model (a run, a checkpoint, an "
                     "export) for images, or another index");
  add_checkpoint_flag(command, options.checkpoint);
  command.add_option("--images", options.images,
                     "With a model: a folder (one folder per class, or images "
                     "alone), a list (.csv) or a configuration (.yaml); "
                     "default: what the run is evaluated with");
  command
      .add_option("--split", options.split,
                  "With a model: which images; default: all of --images, or "
                  "the run's evaluation split")
      ->check(one_of({"train", "validation", "test", "all"}));
  command
      .add_option("--on-broken", options.on_broken,
                  "With a model, images that cannot be read: stop, or skip "
                  "them; default: as a configuration says, else stop")
      ->check(one_of({"stop", "skip"}));
  command.add_option("--ids", options.ids,
                     "With embeddings: paths or names, one per line; default: "
                     "numbers");
  command.add_option("--labels", options.labels,
                     "With embeddings: classes, one per line, or a .npy of "
                     "integers");
  command.add_option("--model", options.model,
                     "With embeddings: the model that made them, so that "
                     "images can be searched for");
  command
      .add_option("--dim", options.dim,
                  "Only the first so many numbers of each vector, made unit "
                  "vectors: of networks trained with model.head.nested; "
                  "default: all, or as many as an index has that is added to")
      ->check(integer(1, 1 << 20));
  command
      .add_option("--memory-mb", options.memory_mb,
                  "Vectors that take more are read a block at a time")
      ->check(integer(1, kMostMemoryMb))
      ->capture_default_str();
}

}  // namespace kith
