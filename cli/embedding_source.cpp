#include <optional>

#include <torch/torch.h>

#include "cli/files.h"
#include "cli/index_source.h"
#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/image/decode.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/train/model_embedding.h"

namespace kith {
namespace {

/// The labels of --labels: numbers of a .npy file, or the lines of a text.
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
                  " rows; expected one a row, in the same order");
}

/// Embeddings in a .npy file.
class EmbeddingSource final : public IndexSource {
 public:
  EmbeddingSource(const SourceFlags& flags, int64_t first_name)
      : rows_(unit_rows(flags.source, flags.memory_mb, at::kCPU)) {
    dim_ = rows_.dim();
    const int64_t count = rows_.count();
    std::vector<std::string> paths;
    if (flags.ids.empty()) {
      for (int64_t i = 0; i < count; ++i) {
        paths.push_back(std::to_string(first_name + i));
      }
    } else {
      paths = read_lines(flags.ids);
      check_count(flags.ids, paths.size(), flags.source, count);
    }
    std::vector<std::string> labels(paths.size());
    if (!flags.labels.empty()) {
      labels = read_label_file(flags.labels);
      check_count(flags.labels, labels.size(), flags.source, count);
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      const bool is_file = !flags.ids.empty() && is_there(paths[i]);
      items_.add(is_file ? absolute_path(paths[i]) : paths[i], labels[i]);
    }
    if (!flags.model.empty()) name_model(flags);
  }

  Rows rows(const std::string&, Progress&) override { return rows_; }

 private:
  void name_model(const SourceFlags& flags) {
    const LoadedModel model = load_model(flags.model, at::kCPU);
    if (model.net->dim() != dim_) {
      throw ConfigError(flags.source + " has " + std::to_string(dim_) +
                        " dimensions, but --model " + flags.model + " gives " +
                        std::to_string(model.net->dim()) +
                        ": name the model that made them, or leave it out");
    }
    check_made_by(model, flags);
    set_model(flags.model, *model.net);
  }

  /// The weights do not tell whether vectors were made at other scales, with
  /// mirror images or whitened: the first image that can be read does.
  void check_made_by(const LoadedModel& model, const SourceFlags& flags) const {
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
      if (similarity > 0.999) return;
      throw ConfigError(
          flags.source + ": row " + std::to_string(i) +
          " is not what --model " + flags.model + " makes of " + path +
          " (similarity " + format_fixed(similarity, 2) +
          "): made of other pictures or with other options (--scales, --flip, "
          "--whiten), it cannot be searched with images; leave --model out");
    }
  }

  Rows rows_;
};

}  // namespace

std::unique_ptr<IndexSource> embedding_source(const SourceFlags& flags,
                                              int64_t first_name) {
  return std::make_unique<EmbeddingSource>(flags, first_name);
}

}  // namespace kith
