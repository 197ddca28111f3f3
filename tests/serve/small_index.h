#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "kith/eval/embed.h"
#include "kith/image/encode.h"
#include "kith/index/kinds.h"
#include "kith/index/stored_index.h"
#include "kith/models/embedding_net.h"
#include "kith/ops/pairwise.h"
#include "tests/support/scene.h"
#include "tests/support/temp_dir.h"

namespace kith {

/// Twelve pictures in a folder, their classes "even" and "odd", and an index of
/// them made with a small network that is not trained.
class SmallIndex {
 public:
  static constexpr int64_t kCount = 12;

  explicit SmallIndex(const DescriptorOptions& descriptor = {})
      : descriptor_(descriptor) {
    for (int64_t i = 0; i < kCount; ++i) {
      paths_.push_back(folder_.file(std::to_string(i) + ".png"));
      write_png(paths_.back(), draw_scene(i, 48, 32));
    }
  }

  const std::vector<std::string>& paths() const { return paths_; }
  static Image picture(int64_t i) { return draw_scene(i, 48, 32); }

  static std::unique_ptr<EmbeddingNet> net() {
    torch::manual_seed(1);
    auto net = std::make_unique<EmbeddingNet>(complete_model(
        parse_config("{input: {size: 16}, backbone: {name: convnet, width: 4}, "
                     "head: {dim: 6}}",
                     "test")));
    net->eval();
    return net;
  }

  /// Unit embeddings as evaluation makes them, [12, 6].
  Tensor embeddings() const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < kCount; ++i) all.push_back(i);
    const auto data = make_file_set(paths_);
    const auto model = net();
    EmbedOptions options{5, {1, 1}};
    options.descriptor = descriptor_;
    return normalize_rows(
        embed(*model, *data, all, options, silent_progress()));
  }

  StoredIndex index() const {
    auto vectors = std::make_unique<ExactIndex>(6);
    vectors->add(embeddings());
    std::vector<IndexItem> items;
    for (size_t i = 0; i < paths_.size(); ++i) {
      items.push_back({paths_[i], i % 2 == 0 ? "even" : "odd"});
    }
    IndexInfo info;
    info.kind = "exact";
    return {std::move(vectors), items, info};
  }

 private:
  TempDir folder_;
  DescriptorOptions descriptor_;
  std::vector<std::string> paths_;
};

}  // namespace kith
