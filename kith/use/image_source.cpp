#include <future>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/check.h"
#include "kith/data/image_files.h"
#include "kith/eval/embed_blocks.h"
#include "kith/index/tell_others.h"
#include "kith/run/run_place.h"
#include "kith/train/experiment.h"
#include "kith/train/run_config.h"
#include "kith/use/embed_images.h"
#include "kith/use/files.h"
#include "kith/use/index_source.h"

namespace kith {
namespace {

/// Images through a model.
class ImageSource final : public IndexSource {
 public:
  ImageSource(const IndexSourceOptions& options, c10::Device device)
      : memory_mb_(options.memory_mb), ranks_(options.ranks) {
    const ChosenCheckpoint checkpoint =
        choose_checkpoint(options.source, options.checkpoint);
    std::future<bool> read;  // beside the model: a GPU takes a while to start
    if (!options.images.empty()) {
      read = std::async(std::launch::async,
                        [this, &options] { return use_images(options); });
    }
    model_loaded_ = load_model(checkpoint.file, device);
    dim_ = embedding_dim(*model_loaded_.net, usual_embedding(model_loaded_));
    set_model(options.source, checkpoint, *model_loaded_.net);
    bool has_labels = true;
    if (read.valid()) {
      has_labels = read.get();
    } else {
      use_run_data(options);
    }
    left_out_ = data_->left_out();
    skips_broken_ = data_->skips_broken();
    if (chosen_.empty()) {
      throw DataError(
          (options.images.empty() ? options.source : options.images) +
          ": no images to index; name a split that has some with "
          "option 'split', or all");
    }
    for (const int64_t index : chosen_) {
      const Item& item = data_->list().items[static_cast<size_t>(index)];
      items_.add(is_there(item.path) ? absolute_path(item.path) : item.path,
                 has_labels ? data_->list().class_name(item.label) : "");
    }
  }

  Rows rows(const std::string& scratch, Progress& progress) override {
    EmbedOptions embedding = usual_embedding(model_loaded_);
    embedding.ranks = ranks_;
    EmbedTimes times;
    embedding.times = &times;
    embed_to_file(*model_loaded_.net, *data_, chosen_, embedding, progress,
                  scratch);
    log_info("embedded " + times.text());
    if (!or_alone(ranks_).is_first()) return {};
    const Rows rows = unit_rows(scratch, memory_mb_, at::kCPU);
    remove_file(scratch);  // they have it open: a kill leaves nothing behind
    return rows;
  }

 private:
  void choose(const std::string& split) {
    if (split != "all") {
      chosen_ = data_->list().of_split(parse_split(split, "option 'split'"));
      return;
    }
    chosen_.resize(data_->list().items.size());
    std::iota(chosen_.begin(), chosen_.end(), 0);
  }

  /// Images of the split that cannot be read, if they are to be skipped.
  void leave_out(const IndexSourceOptions& options, const std::string& split) {
    set_on_broken(*data_, options.on_broken);
    std::optional<Split> of;
    if (split != "all") of = parse_split(split, "option 'split'");
    leave_out_broken(*data_, worker_count(0), silent_progress(), of);
  }

  /// What the run is evaluated with. Queries that are in no gallery are not to
  /// be found.
  void use_run_data(const IndexSourceOptions& options) {
    if (model_loaded_.config.find("data") == nullptr) {
      throw ConfigError(options.source +
                        " does not say which images it was trained with: give "
                        "option 'images', a folder, a list or a configuration");
    }
    follow_run(model_loaded_.config, options.source);
    const RunConfig config = complete_config(model_loaded_.config);
    data_ = make_training_data(config);
    const ImageList& list = data_->list();
    const std::string split = options.split.empty()
                                  ? split_name(eval_split(config.eval, list))
                                  : options.split;
    leave_out(options, split);
    choose(split);
    if (!options.split.empty() || !list.has_query_gallery) return;
    std::erase_if(chosen_, [&](int64_t index) {
      return !list.items[static_cast<size_t>(index)].is_gallery;
    });
  }

  /// Returns whether the images have labels: those of a folder without folders
  /// in it have none.
  bool use_images(const IndexSourceOptions& options) {
    const std::string& path = options.images;
    const bool plain = is_folder(path) && sub_folders(path).empty() &&
                       !path_exists(path + "/dataset.csv");
    if (plain) {
      data_ = images_below(path);
    } else {
      data_ = data_from_path(path);
      if (is_folder(path) && !path_exists(path + "/dataset.csv")) {
        warn_of_images_without_class(path);
      }
    }
    const std::string split = options.split.empty() ? "all" : options.split;
    leave_out(options, split);
    choose(split);
    return !plain;
  }

  /// Those beside the folders of the classes.
  void warn_of_images_without_class(const std::string& folder) const {
    std::unordered_set<std::string> known;
    for (const Item& item : data_->list().items) known.insert(item.path);
    std::vector<std::string> left;
    for (const std::string& path : find_image_files(folder).images) {
      if (!known.contains(path)) left.push_back(path);
    }
    if (left.empty()) return;
    log_warning(folder + ": " + std::to_string(left.size()) +
                " images are in no class's folder and are left out (first: " +
                left.front() + ")");
  }

  LoadedModel model_loaded_;
  int64_t memory_mb_;
  Communicator* ranks_;
  std::unique_ptr<DataSet> data_;
  std::vector<int64_t> chosen_;  ///< Positions in the data set's list.
};

}  // namespace

std::unique_ptr<IndexSource> image_source(const IndexSourceOptions& options,
                                          c10::Device device) {
  return std::make_unique<ImageSource>(options, device);
}

}  // namespace kith
