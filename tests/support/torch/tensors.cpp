#include "tests/support/torch/tensors.h"

#include <limits>

#include <torch/torch.h>

#include "kith/core/rng.h"

namespace kith {
namespace {

at::Generator generator(uint64_t seed) {
  return torch::make_generator<at::CPUGeneratorImpl>(seed);
}

}  // namespace

Tensor random_normal(const std::vector<int64_t>& sizes, uint64_t seed,
                     at::ScalarType type) {
  return torch::randn(sizes, generator(seed), torch::kDouble).to(type);
}

Tensor random_integers(const std::vector<int64_t>& sizes, int64_t limit,
                       uint64_t seed) {
  return torch::randint(-limit, limit + 1, sizes, generator(seed),
                        torch::kFloat);
}

Tensor random_permutation(int64_t n, uint64_t seed) {
  return torch::randperm(n, generator(seed), torch::kLong);
}

Tensor labels_of(const std::vector<int64_t>& values) {
  return torch::tensor(values, torch::kLong);
}

double max_difference(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  if (a.numel() == 0) return 0;
  const auto plain = [](const Tensor& t) {
    return t.detach().cpu().to(torch::kDouble);
  };
  return (plain(a) - plain(b)).abs().max().item<double>();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return false;
  }
  const auto bytes = [](const Tensor& t) {
    return t.detach().cpu().contiguous().flatten().view(torch::kByte);
  };
  return a.numel() == 0 || torch::equal(bytes(a), bytes(b));
}

}  // namespace kith
