#include "kith/eval/embed_blocks.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/io/npy.h"

namespace kith {
namespace {

/// The progress of one block as part of that of all.
class BlockProgress final : public Progress {
 public:
  BlockProgress(Progress& whole, int64_t before)
      : whole_(whole), before_(before) {}

  void start(const std::string&, int64_t) override {}
  void advance(int64_t done, const std::string& note) override {
    whole_.advance(before_ + done, note);
  }
  void finish() override {}

 private:
  Progress& whole_;
  int64_t before_;
};

}  // namespace

int64_t embedding_dim(const EmbeddingNet& net, const EmbedOptions& options) {
  return options.whitening != nullptr ? options.whitening->dim() : net.dim();
}

void embed_in_blocks(EmbeddingNet& net, const DataSet& data,
                     const std::vector<int64_t>& indices,
                     const EmbedOptions& options, Progress& progress,
                     const std::function<void(const Tensor&)>& take) {
  // Enough batches that starting the loader anew costs nothing.
  constexpr int64_t kBatches = 32;
  progress.start("embed", std::ssize(indices));
  int64_t done = 0;
  for (const std::vector<int64_t>& block :
       in_batches(indices, options.batch * kBatches)) {
    BlockProgress part(progress, done);
    take(embed(net, data, block, options, part).cpu());
    done += std::ssize(block);
  }
  progress.finish();
}

void embed_to_file(EmbeddingNet& net, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options, Progress& progress,
                   const std::string& path) {
  const std::vector<int64_t> shape = {std::ssize(indices),
                                      embedding_dim(net, options)};
  write_npy(path, DType::kF32, shape, [&](FileWriter& writer) {
    embed_in_blocks(
        net, data, indices, options, progress, [&](const Tensor& embeddings) {
          const Tensor rows = embeddings.to(torch::kFloat).contiguous();
          writer.write(rows.data_ptr(), rows.nbytes());
        });
  });
}

}  // namespace kith
