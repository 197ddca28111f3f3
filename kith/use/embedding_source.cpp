#include <optional>

#include <torch/torch.h>

#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/train/model_embedding.h"
#include "kith/use/files.h"
#include "kith/use/index_source.h"

namespace kith {
namespace {

/// The labels: numbers of a .npy file, or the lines of a text.
std::vector<std::string> read_label_file(const std::string& path) {
  if (!path.ends_with(".npy")) return read_lines(path);
  const Tensor numbers = load_labels(path);
  std::vector<std::string> labels;
  for (int64_t i = 0; i < numbers.size(0); ++i) {
    labels.push_back(std::to_string(numbers[i].item<int64_t>()));
  }
  return labels;
}

void check_count(const std::string& file, size_t found,
                 const std::string& embeddings, int64_t rows) {
  if (static_cast<int64_t>(found) == rows) return;
  throw DataError(file + ": " + std::to_string(found) + " entries, but " +
                  embeddings + " has " + std::to_string(rows) +
                  " rows; expected one per row, in the same order");
}

/// Embeddings in a .npy file.
class EmbeddingSource final : public IndexSource {
 public:
  EmbeddingSource(const IndexSourceOptions& options, int64_t first_name)
      : rows_(unit_rows(options.source, options.memory_mb, at::kCPU)) {
    dim_ = rows_.dim();
    const int64_t count = rows_.count();
    std::vector<std::string> paths;
    if (options.ids.empty()) {
      for (int64_t i = 0; i < count; ++i) {
        paths.push_back(std::to_string(first_name + i));
      }
    } else {
      paths = read_lines(options.ids);
      check_count(options.ids, paths.size(), options.source, count);
    }
    std::vector<std::string> labels(paths.size());
    if (!options.labels.empty()) {
      labels = read_label_file(options.labels);
      check_count(options.labels, labels.size(), options.source, count);
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      const bool is_file = !options.ids.empty() && is_there(paths[i]);
      items_.add(is_file ? absolute_path(paths[i]) : paths[i], labels[i]);
    }
    if (!options.model.empty()) name_model(options);
  }

  Rows rows(const std::string&, Progress&) override { return rows_; }

 private:
  void name_model(const IndexSourceOptions& options) {
    const ChosenCheckpoint checkpoint =
        choose_checkpoint(options.model, options.checkpoint);
    LoadedModel model = load_model(checkpoint.file, at::kCPU);
    const int64_t made = model_descriptor(model).dim_of(model.net->dim());
    // Fewer may be the first numbers, but only images can tell.
    if (dim_ < made) cut_embeddings(model, dim_);
    if (dim_ > made || (!check_made_by(model, options) && dim_ < made)) {
      throw ConfigError(options.source + " has " + std::to_string(dim_) +
                        " dimensions, but option 'model' " + options.model +
                        " gives " + std::to_string(made) +
                        ": name the model that made them, or leave it out");
    }
    set_model(options.model, checkpoint, *model.net);
  }

  /// The weights do not tell whether vectors were made at other scales, with
  /// mirror images or whitened: the first image that can be read does. False
  /// if there is none.
  bool check_made_by(const LoadedModel& model,
                     const IndexSourceOptions& options) const {
    for (int64_t i = 0; i < items_.size(); ++i) {
      const std::string path(items_.path(i));
      if (!is_there(path)) continue;
      std::optional<Image> image;
      try {
        image = decode_image(path);
      } catch (const DataError&) {
        continue;  // a file, but no image
      }
      const Tensor made = embed_image(model, *image).unsqueeze(0);
      const Tensor unit = normalize_rows(made)[0];
      const double similarity = unit.dot(rows_.read(i, 1)[0]).item<double>();
      if (similarity > 0.999) return true;
      throw ConfigError(
          options.source + ": row " + std::to_string(i) +
          " is not what option 'model' " + options.model + " makes of " + path +
          " (similarity " + format_fixed(similarity, 2) +
          "): made of other pictures, or with another option 'scales', "
          "option 'flip' or whitening, it cannot be searched with images; "
          "leave option 'model' out");
    }
    return false;
  }

  Rows rows_;
};

}  // namespace

std::unique_ptr<IndexSource> embedding_source(const IndexSourceOptions& options,
                                              int64_t first_name) {
  return std::make_unique<EmbeddingSource>(options, first_name);
}

}  // namespace kith
