#include "kith/eval/image_share.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/data/loader.h"

namespace kith {

ImageShare image_share(const std::vector<int64_t>& indices, int64_t batch,
                       Communicator& ranks) {
  if (ranks.size() > 1) {
    // It may depend on the threads of a rank, and shares must fit together.
    Tensor agreed = torch::tensor({batch}, torch::kLong);
    ranks.broadcast(agreed);
    batch = agreed.item<int64_t>();
  }
  ImageShare share;
  share.batches = in_batches(indices, batch);
  share.all_batches = std::ssize(share.batches);
  share.all_images = std::ssize(indices);
  const auto begin_of = [&](int64_t rank) {
    return share.all_batches * rank / ranks.size();
  };
  const int64_t begin = begin_of(ranks.rank());
  const int64_t end = begin_of(ranks.rank() + 1);
  share.batches = {share.batches.begin() + begin, share.batches.begin() + end};
  share.first = std::min(begin * batch, share.all_images);
  const int64_t last = std::min(end * batch, share.all_images);
  share.images = {indices.begin() + share.first, indices.begin() + last};
  return share;
}

}  // namespace kith
