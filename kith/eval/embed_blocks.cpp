#include "kith/eval/embed_blocks.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/eval/embed_steps.h"
#include "kith/index/tell_others.h"
#include "kith/io/npy.h"
#include "kith/ops/kept_memory.h"

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

/// The rows of all ranks on the first one; none on the others.
Tensor to_first(const Tensor& rows, Communicator& ranks) {
  std::vector<int64_t> counts(static_cast<size_t>(ranks.size()));
  counts[0] = rows.size(0);
  return ranks.exchange(rows, counts);
}

void embed_rounds(EmbeddingNet& net, const DataSet& data,
                  const std::vector<int64_t>& indices,
                  const EmbedOptions& options, Progress& progress,
                  const std::function<void(const Tensor&)>& take) {
  const torch::NoGradGuard no_grad;
  const KeptMemory kept;
  Communicator& ranks = or_alone(options.ranks);
  // Enough batches that starting the loader anew costs nothing; as many for
  // each rank.
  constexpr int64_t kBatches = 64;
  const int64_t block = options.batch * kBatches;
  const int64_t round = block * ranks.size();
  progress.start("embed", std::ssize(indices));
  int64_t done = 0;
  for (const std::vector<int64_t>& images : in_batches(indices, round)) {
    BlockProgress part(progress, done);
    const Tensor rows =
        to_first(embed_raw(net, data, images, options, part).rows, ranks);
    // Whitened in blocks of the same size whatever the number of ranks.
    int64_t row = 0;
    for (const std::vector<int64_t>& some : in_batches(images, block)) {
      if (!ranks.is_first()) break;
      const int64_t count = std::ssize(some);
      take(finish_embeddings(rows.narrow(0, row, count), data, some, options)
               .cpu());
      row += count;
    }
    done += std::ssize(images);
  }
  progress.finish();
}

}  // namespace

int64_t embedding_dim(const EmbeddingNet& net, const EmbedOptions& options) {
  return options.whitening != nullptr ? options.whitening->dim()
                                      : options.descriptor.dim_of(net.dim());
}

void embed_in_blocks(EmbeddingNet& net, const DataSet& data,
                     const std::vector<int64_t>& indices,
                     const EmbedOptions& options, Progress& progress,
                     const std::function<void(const Tensor&)>& take) {
  telling(or_alone(options.ranks),
          [&] { embed_rounds(net, data, indices, options, progress, take); });
}

void embed_to_file(EmbeddingNet& net, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options, Progress& progress,
                   const std::string& path) {
  const std::vector<int64_t> shape = {std::ssize(indices),
                                      embedding_dim(net, options)};
  const auto embed_all = [&](const std::function<void(const Tensor&)>& take) {
    embed_in_blocks(net, data, indices, options, progress, take);
  };
  Communicator& ranks = or_alone(options.ranks);
  telling(ranks, [&] {
    if (ranks.is_first()) {
      write_npy(path, DType::kF32, shape, [&](FileWriter& writer) {
        embed_all([&](const Tensor& embeddings) {
          const Tensor rows = embeddings.to(torch::kFloat).contiguous();
          writer.write(rows.data_ptr(), rows.nbytes());
        });
      });
    } else {
      embed_all({});
    }
    ranks.barrier();  // the file is there, or all know that it is not
  });
}

}  // namespace kith
