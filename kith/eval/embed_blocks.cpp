#include "kith/eval/embed_blocks.h"

#include <algorithm>
#include <future>
#include <utility>

#include <torch/torch.h>

#include "kith/core/timer.h"
#include "kith/data/loader.h"
#include "kith/eval/embed_steps.h"
#include "kith/eval/image_share.h"
#include "kith/index/tell_others.h"
#include "kith/io/npy.h"
#include "kith/ops/kept_memory.h"
#include "kith/ops/upload.h"

namespace kith {
namespace {

/// The rows of all ranks on the first one; none on the others.
Tensor to_first(const Tensor& rows, Communicator& ranks) {
  std::vector<int64_t> counts(static_cast<size_t>(ranks.size()));
  counts[0] = rows.size(0);
  return ranks.exchange(rows, counts);
}

/// Gives embeddings away, each block by a thread of its own, while the next
/// one is computed.
class Giver {
 public:
  Giver(const DataSet& data, const EmbedOptions& options, const TakeRows& take)
      : data_(data), options_(options), take_(take) {}

  /// `whole`: what the network gave, of which the rows are made.
  void give(const Tensor& whole, const Tensor& rows,
            std::vector<int64_t> images) {
    const Download largest(largest_of(whole));
    const Download copy(rows);
    finish();
    // It waits for the copies, not this thread.
    at_work_ = std::async(
        std::launch::async, [this, largest, copy, images = std::move(images)] {
          check_largest(largest.get(), data_, images, options_);
          take_(copy.get());
        });
  }

  /// What was given is taken. Throws what `take` threw, or the check.
  void finish() {
    if (!at_work_.valid()) return;
    const Timer timer;
    at_work_.get();
    if (options_.times != nullptr) options_.times->writing += timer.seconds();
  }

 private:
  const DataSet& data_;
  const EmbedOptions& options_;
  const TakeRows& take_;
  std::future<void> at_work_;
};

int64_t in_whole_batches(int64_t images, int64_t batch) {
  return std::max<int64_t>(images / batch, 1) * batch;
}

/// Images that all ranks embed before the first one is given the rows.
struct Round {
  std::vector<int64_t> images;
  ImageShare share;
};

/// embed_in_blocks() on one rank: batches come one after another through all
/// rounds, so that nothing waits where one ends.
class Rounds {
 public:
  Rounds(EmbeddingNet& net, const DataSet& data,
         const std::vector<int64_t>& indices, const EmbedOptions& options,
         Progress& progress, const TakeRows& take)
      : net_(net),
        data_(data),
        options_(options),
        ranks_(or_alone(options.ranks)),
        progress_(progress),
        all_images_(std::ssize(indices)),
        giver_(data, options, take) {
    // Few batches, so that little is left to be written when the last one is
    // computed; but ranks wait for each other at the end of a round, and
    // whitening has the same bits in blocks of the same size only.
    const int64_t batch = images_together(net, options);
    const bool few = ranks_.is_alone() && options.whitening == nullptr;
    block_ =
        few ? in_whole_batches(options.batch * 8, batch) : options.batch * 64;
    for (auto& images : in_batches(indices, block_ * ranks_.size())) {
      ImageShare share = image_share(images, batch, ranks_);
      rounds_.push_back({std::move(images), std::move(share)});
    }
  }

  void run() {
    std::vector<std::vector<int64_t>> batches;
    for (const Round& round : rounds_) {
      const auto& own = round.share.batches;
      batches.insert(batches.end(), own.begin(), own.end());
    }
    progress_.start("embed", all_images_);
    finish_rounds();
    embed_batches(net_, data_, {batches, all_images_}, options_,
                  [&](const Tensor& rows) {
                    parts_.push_back(rows);
                    own_done_ += rows.size(0);
                    const ImageShare& share = rounds_[round_].share;
                    progress_.advance(done_ + share.done_by_all(own_done_), "");
                    finish_rounds();
                  });
    giver_.finish();
    progress_.finish();
  }

 private:
  /// Those of which this rank has no batch to come.
  void finish_rounds() {
    while (round_ < rounds_.size() &&
           parts_.size() == rounds_[round_].share.batches.size()) {
      finish_round(rounds_[round_]);
      done_ += std::ssize(rounds_[round_].images);
      own_done_ = 0;
      parts_.clear();
      ++round_;
    }
  }

  void finish_round(const Round& round) {
    const Tensor rows = to_first(
        parts_.empty() ? no_rows(net_, options_) : torch::cat(parts_), ranks_);
    if (!ranks_.is_first()) return;
    int64_t row = 0;
    for (auto& images : in_batches(round.images, block_)) {
      const Tensor whole = rows.narrow(0, row, std::ssize(images));
      const Tensor made = finish_embeddings(whole, data_, images, options_);
      row += std::ssize(images);
      giver_.give(whole, made, std::move(images));
    }
  }

  EmbeddingNet& net_;
  const DataSet& data_;
  const EmbedOptions& options_;
  Communicator& ranks_;
  Progress& progress_;
  const int64_t all_images_;
  int64_t block_ = 0;
  std::vector<Round> rounds_;
  size_t round_ = 0;           ///< The one at work,
  std::vector<Tensor> parts_;  ///< its batches of this rank,
  int64_t own_done_ = 0;       ///< the images in them,
  int64_t done_ = 0;           ///< and those of all ranks before it.
  Giver giver_;
};

}  // namespace

int64_t embedding_dim(const EmbeddingNet& net, const EmbedOptions& options) {
  return options.whitening != nullptr ? options.whitening->dim()
                                      : options.descriptor.dim_of(net.dim());
}

void embed_in_blocks(EmbeddingNet& net, const DataSet& data,
                     const std::vector<int64_t>& indices,
                     const EmbedOptions& options, Progress& progress,
                     const std::function<void(const Tensor&)>& take) {
  const torch::NoGradGuard no_grad;
  const KeptMemory kept;
  telling(or_alone(options.ranks), [&] {
    const Timer timer;
    Rounds(net, data, indices, options, progress, take).run();
    if (options.times != nullptr) {
      options.times->images += std::ssize(indices);
      options.times->seconds += timer.seconds();
    }
  });
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
