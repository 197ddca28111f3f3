#include "kith/train/cross_batch_memory.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {

CrossBatchMemory::CrossBatchMemory(int64_t size, int64_t dim,
                                   c10::Device device)
    : embeddings_(torch::zeros({size, dim}, device)),
      labels_(torch::zeros({size}, torch::dtype(torch::kLong).device(device))),
      place_(torch::zeros({2}, torch::kLong)) {
  KITH_ASSERT(size > 0);
}

int64_t CrossBatchMemory::count() const { return place_[1].item<int64_t>(); }

Database CrossBatchMemory::with(const Tensor& embeddings,
                                const Tensor& labels) const {
  const int64_t filled = count();
  Database database;
  database.embeddings = torch::cat(
      {embeddings,
       embeddings_.narrow(0, 0, filled).to(embeddings.scalar_type())});
  database.labels = torch::cat({labels, labels_.narrow(0, 0, filled)});
  database.self = torch::arange(labels.size(0), labels.options());
  return database;
}

void CrossBatchMemory::push(const Tensor& embeddings, const Tensor& labels) {
  const torch::NoGradGuard no_grad;
  const int64_t size = labels_.size(0);
  const int64_t added = std::min(size, labels.size(0));
  const int64_t first = labels.size(0) - added;
  const int64_t place = place_[0].item<int64_t>();
  // Up to the end of the queue, then from its beginning.
  const int64_t before_end = std::min(added, size - place);
  const auto copy = [&](int64_t to, int64_t from, int64_t length) {
    embeddings_.narrow(0, to, length)
        .copy_(embeddings.narrow(0, first + from, length));
    labels_.narrow(0, to, length).copy_(labels.narrow(0, first + from, length));
  };
  copy(place, 0, before_end);
  copy(0, before_end, added - before_end);
  place_[0] = (place + added) % size;
  place_[1] = std::min(size, count() + added);
}

NamedTensors CrossBatchMemory::state() const {
  return {{"embeddings", embeddings_}, {"labels", labels_}, {"place", place_}};
}

}  // namespace kith
