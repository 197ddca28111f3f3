#include "kith/use/embed_images.h"

#include <algorithm>
#include <future>
#include <numeric>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/log.h"
#include "kith/core/number_text.h"
#include "kith/core/path.h"
#include "kith/core/timer.h"
#include "kith/data/check.h"
#include "kith/data/image_files.h"
#include "kith/eval/embed_blocks.h"
#include "kith/eval/matching_pairs.h"
#include "kith/index/tell_others.h"
#include "kith/ops/pairwise.h"
#include "kith/run/run_place.h"
#include "kith/train/model_embedding.h"
#include "kith/train/run_config.h"

namespace kith {

std::unique_ptr<DataSet> data_from_path(const std::string& path) {
  if (!path.ends_with(".yaml") && !path.ends_with(".yml")) {
    return open_data_set(path);
  }
  ConfigNode config = load_config(path);
  if (config.find("data") == nullptr) {
    throw ConfigError(path + ": no 'data' section");
  }
  follow_run(config, path);
  return make_data_set(run_data(config));
}

void set_on_broken(DataSet& data, const std::string& on_broken) {
  if (on_broken.empty()) return;
  const DataOptions options = checked(DataOptions{on_broken}, "data");
  data.skip_broken(options.on_broken == "skip");
}

std::unique_ptr<DataSet> images_below(const std::string& folder) {
  const ImageFiles files = find_image_files(folder);
  if (files.images.empty()) {
    throw DataError(folder +
                    ": no images found; a data set that is not of image files, "
                    "such as shards, is given as a configuration (.yaml)");
  }
  if (!files.ignored.empty()) {
    log_warning(folder + ": " + std::to_string(files.ignored.size()) +
                " files are not images and are left out (first: " +
                files.ignored.front() + ")");
  }
  return make_file_set(files.images);
}

EmbedOptions usual_embedding(const LoadedModel& model) {
  EmbedOptions options{EvalOptions().batch, {worker_count(0), 2}};
  if (const ConfigNode* section = model.config.find("eval")) {
    options.batch = read_options<EvalOptions>(*section, "eval").batch;
  }
  options.descriptor = model_descriptor(model);
  return options;
}

Tensor embed_files(const LoadedModel& model,
                   const std::vector<std::string>& paths, Progress& progress) {
  const std::unique_ptr<DataSet> data = make_file_set(paths);
  std::vector<int64_t> all(paths.size());
  std::iota(all.begin(), all.end(), 0);
  try {
    return normalize_rows(
               embed(*model.net, *data, all, usual_embedding(model), progress))
        .cpu();
  } catch (const BrokenImageError& error) {
    throw DataError(error.problem());  // these are no data set to be checked
  }
}

void DescriptorChoice::apply(DescriptorOptions& options) const {
  if (!scales.empty()) options.scales = scales;
  if (long_side) options.long_side = *long_side;
  if (flip) options.flip = true;
  if (dim) options.dim = *dim;
}

void tell_cut(EmbeddingNet& net, const DescriptorOptions& options) {
  const int64_t dim = options.dim_of(net.dim());
  if (dim == net.dim()) return;
  std::vector<int64_t> sizes;
  if (net.has_head()) sizes = nested_sizes(net.head().options(), net.dim());
  const bool is_trained = std::count(sizes.begin(), sizes.end(), dim) > 0;
  log_info("of embeddings the first " + std::to_string(dim) + " of " +
           std::to_string(net.dim()) + " numbers" +
           (is_trained ? ""
                       : ", which the network was not trained for "
                         "(model.head.nested)"));
}

std::optional<Whitening> make_whitening(const WhiteningChoice& choice,
                                        EmbeddingNet& net, const DataSet& data,
                                        EmbedOptions options,
                                        Progress& progress) {
  if (!choice.file.empty()) {
    return Whitening::load(choice.file, options.descriptor.dim_of(net.dim()));
  }
  if (!choice.learn) return {};
  const std::vector<int64_t> train = data.list().of_split(Split::kTrain);
  if (train.empty()) {
    throw DataError(
        "no whitening can be learnt: the data set has no training split; give "
        "a file that was learnt elsewhere");
  }
  options.whitening = nullptr;
  options.change = {};
  MatchingPairs pairs = {train, {}};
  if (choice.from_pairs) {
    Rng rng(/*seed=*/0, Stream::kInit, {2});
    pairs = draw_matching_pairs(data.list(), train, std::ssize(train), rng);
  }
  log_info("learning the whitening from " +
           std::to_string(pairs.images.size()) + " training images" +
           (choice.from_pairs ? " in " + std::to_string(pairs.rows.size(0)) +
                                    " matching pairs"
                              : ""));
  Communicator& ranks = or_alone(options.ranks);
  return telling(ranks, [&] {
    const Tensor found =
        normalize_rows(embed(net, data, pairs.images, options, progress));
    Whitening learnt = choice.from_pairs ? Whitening::learn_from_pairs(
                                               found, pairs.rows, choice.dim)
                                         : Whitening::learn(found, choice.dim);
    learnt.take_from_first(ranks);
    return learnt;
  });
}

namespace {

/// The images, read beside the model: a GPU takes longer to start than a long
/// list to be read.
class ListBeside {
 public:
  explicit ListBeside(const EmbedImagesOptions& options)
      : data_(std::async(std::launch::async, [this, &options] {
          const Timer timer;
          auto data = is_folder(options.images)
                          ? images_below(options.images)
                          : data_from_path(options.images);
          set_on_broken(*data, options.on_broken);
          seconds_ = timer.seconds();
          return data;
        })) {}

  std::unique_ptr<DataSet> get() { return data_.get(); }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
  std::future<std::unique_ptr<DataSet>> data_;
};

EmbeddedImages embed_together(const EmbedImagesOptions& options,
                              c10::Device device, Progress& progress) {
  Timer timer;
  const ChosenCheckpoint checkpoint =
      choose_checkpoint(options.model, options.checkpoint);
  ListBeside list(options);
  const LoadedModel model = load_model(checkpoint.file, device);
  const double model_seconds = timer.lap();
  const std::unique_ptr<DataSet> data = list.get();
  leave_out_broken(*data, worker_count(0), progress);
  std::vector<int64_t> all(data->list().items.size());
  std::iota(all.begin(), all.end(), 0);
  EmbedOptions embedding = usual_embedding(model);
  embedding.batch = options.batch;
  embedding.ranks = options.ranks;
  options.descriptor.apply(embedding.descriptor);
  tell_cut(*model.net, embedding.descriptor);
  const std::optional<Whitening> whitening = make_whitening(
      options.descriptor.whitening, *model.net, *data, embedding, progress);
  if (whitening) embedding.whitening = &*whitening;
  EmbedTimes times;
  embedding.times = &times;
  const double list_seconds = timer.lap();
  embed_to_file(*model.net, *data, all, embedding, progress, options.out);
  const double file_seconds = timer.lap() - times.seconds;
  log_info("embedded " + times.text());
  const auto part = [](const char* name, double seconds) {
    return name + (" " + format_fixed(seconds, 3));
  };
  log_info("seconds: " + part("model", model_seconds) + " (" +
           part("list", list.seconds()) + " beside it), " +
           part("until embedding", list_seconds) + ", " + times.parts() + ", " +
           part("the file's end", file_seconds));
  Communicator& ranks = or_alone(options.ranks);
  if (ranks.is_first()) {
    if (!options.ids.empty()) {
      std::string ids;
      for (const Item& item : data->list().items) ids += item.path + "\n";
      write_file_atomically(options.ids, ids);
    }
    if (data->skips_broken()) {
      write_left_out(options.out + ".left_out.csv", data->left_out());
    }
  }
  ranks.barrier();  // the files are there
  return {checkpoint, std::ssize(all), std::ssize(data->left_out()),
          embedding_dim(*model.net, embedding)};
}

}  // namespace

EmbeddedImages embed_images(const EmbedImagesOptions& options,
                            c10::Device device, Progress& progress) {
  return telling(or_alone(options.ranks),
                 [&] { return embed_together(options, device, progress); });
}

}  // namespace kith
