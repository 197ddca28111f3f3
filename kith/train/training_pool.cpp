#include "kith/train/training_pool.h"

#include <torch/torch.h>

namespace kith {

TrainingPool::TrainingPool(const std::vector<int64_t>& images, int64_t dim)
    : now_(torch::zeros({static_cast<int64_t>(images.size()), dim})),
      at_start_(torch::zeros_like(now_)) {
  for (size_t i = 0; i < images.size(); ++i) {
    rows_[images[i]] = static_cast<int64_t>(i);
  }
}

void TrainingPool::fill(const Tensor& embeddings) {
  const torch::NoGradGuard no_grad;
  now_.copy_(embeddings);
}

void TrainingPool::update(const std::vector<int64_t>& images,
                          const Tensor& embeddings) {
  const torch::NoGradGuard no_grad;
  std::vector<int64_t> rows;
  rows.reserve(images.size());
  for (int64_t image : images) rows.push_back(rows_.at(image));
  // An image that is in the batch twice has one embedding but for
  // augmentation; the copy is sequential, so that the last one stays.
  const Tensor values = embeddings.detach().to(at::kCPU, at::kFloat);
  for (size_t i = 0; i < rows.size(); ++i) {
    now_[rows[i]].copy_(values[static_cast<int64_t>(i)]);
  }
}

void TrainingPool::begin_epoch() { at_start_.copy_(now_); }

EmbeddingPool TrainingPool::planned_from() const {
  return {at_start_.size(1), at_start_.data_ptr<float>()};
}

NamedTensors TrainingPool::state() const {
  return {{"now", now_}, {"at_start", at_start_}};
}

}  // namespace kith
