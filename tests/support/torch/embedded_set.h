#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/data/glyphs.h"
#include "kith/eval/embedded_split.h"

namespace kith {

/// Glyphs of the given classes, named "n.png" by their place after the first
/// `before` ones, which are for training.
class GlyphList final : public DataSet {
 public:
  explicit GlyphList(const std::vector<int64_t>& labels, int64_t before = 0)
      : before_(before) {
    for (int64_t i = 0; i < before; ++i) {
      add("train" + std::to_string(i) + ".png", 999, Split::kTrain);
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      add(std::to_string(i) + ".png", labels[i], Split::kTest);
      list_.class_names[labels[i]] = "class " + std::to_string(labels[i]);
    }
  }

  /// Makes a picture one that cannot be read.
  void damage(int64_t position) { damaged_.insert(position); }

 protected:
  StoredImage read(int64_t index) const override {
    if (damaged_.contains(index)) {
      throw DataError(item(index).path + ": damaged");
    }
    return draw_glyph(1, item(index).label, index - before_);
  }

 private:
  void add(std::string path, int64_t label, Split split) {
    Item item;
    item.path = std::move(path);
    item.label = label;
    item.split = split;
    list_.items.push_back(std::move(item));
  }

  int64_t before_;
  std::set<int64_t> damaged_;
};

/// Unit vectors in the plane, angles in degrees.
inline Tensor at_angles(const std::vector<double>& degrees) {
  const Tensor angle =
      torch::tensor(degrees, torch::kDouble) * (std::numbers::pi / 180);
  return torch::stack({angle.cos(), angle.sin()}, 1).to(torch::kFloat);
}

/// Items at positions from `first` on that are searched among themselves.
inline EmbeddedSplit embedded(const Tensor& rows, std::vector<int64_t> labels,
                              int64_t first = 0) {
  EmbeddedSplit split;
  split.embeddings = rows;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    split.rows_of.push_back(first + i);
  }
  split.labels = std::move(labels);
  split.tasks = {{"", split.rows_of, split.rows_of}};
  return split;
}

}  // namespace kith
