#include "kith/samplers/pool/scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <torch/torch.h>

namespace kith {
namespace {

/// Keeps the roots of singular covariances defined.
constexpr double kDiagonal = 1e-8;

void check_shapes(const Tensor& pool, const Tensor& batches) {
  TORCH_CHECK_VALUE(pool.dim() == 2 && batches.dim() == 2 && pool.size(0) > 1 &&
                        batches.size(1) > 1,
                    "scores: pool ", pool.sizes(), " must be [P, D], batches ",
                    batches.sizes(), " [C, M], with two images or more");
}

/// The embeddings of batches [C, M], as [C, M, D].
Tensor rows_of(const Tensor& pool, const Tensor& batches) {
  return pool.index_select(0, batches.flatten())
      .view({batches.size(0), batches.size(1), pool.size(1)});
}

/// Which bin the distance of each pair of a pool is in.
struct PairBins {
  std::vector<int32_t> bin;  ///< [P, P], the upper half.
  double width = 0;          ///< Of a bin.
};

PairBins bin_pairs(const Tensor& pool, int64_t bins) {
  const Tensor norms = pool.square().sum({1});  // [P]
  const Tensor distances =
      torch::addmm(norms.unsqueeze(0) + norms.unsqueeze(1), pool, pool.t(), 1,
                   -2)
          .clamp_min_(0)
          .sqrt_();  // [P, P]
  const float* d = distances.data_ptr<float>();
  const int64_t size = pool.size(0);
  float least = d[1];
  float most = d[1];
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = i + 1; j < size; ++j) {
      least = std::min(least, d[i * size + j]);
      most = std::max(most, d[i * size + j]);
    }
  }
  PairBins pairs;
  pairs.bin.resize(static_cast<size_t>(size * size));
  pairs.width = static_cast<double>(most - least) / static_cast<double>(bins);
  const float scale =
      most > least ? static_cast<float>(bins) / (most - least) : 0;
  const auto last = static_cast<int32_t>(bins - 1);
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = i + 1; j < size; ++j) {
      const int64_t at = i * size + j;
      pairs.bin[static_cast<size_t>(at)] =
          std::min(last, static_cast<int32_t>((d[at] - least) * scale));
    }
  }
  return pairs;
}

/// The share of the pairs of `rows` (count of them) in each bin and those
/// below it.
std::vector<double> cumulative(const PairBins& pairs, int64_t size,
                               const int64_t* rows, int64_t count,
                               int64_t bins) {
  std::vector<int64_t> counts(static_cast<size_t>(bins), 0);
  for (int64_t a = 0; a < count; ++a) {
    for (int64_t b = a + 1; b < count; ++b) {
      // The pair of a row with itself is in bin 0.
      const auto [i, j] = std::minmax(rows[a], rows[b]);
      ++counts[static_cast<size_t>(
          pairs.bin[static_cast<size_t>(i * size + j)])];
    }
  }
  const double all =
      static_cast<double>(count) * static_cast<double>(count - 1) / 2;
  std::vector<double> shares;
  int64_t sum = 0;
  for (const int64_t n : counts) {
    sum += n;
    shares.push_back(static_cast<double>(sum) / all);
  }
  return shares;
}

/// W1 of the distances of the pool and of each of `batches`, [C].
Tensor histogram_distances(const Tensor& pool, const Tensor& batches,
                           int64_t bins) {
  const PairBins pairs = bin_pairs(pool, bins);
  const int64_t size = pool.size(0);
  const Tensor all = torch::arange(size);
  const std::vector<double> of_pool =
      cumulative(pairs, size, all.data_ptr<int64_t>(), size, bins);
  const Tensor rows = batches.contiguous();
  Tensor result = torch::zeros({batches.size(0)}, torch::kDouble);
  for (int64_t c = 0; c < batches.size(0); ++c) {
    const std::vector<double> of_batch =
        cumulative(pairs, size, rows.data_ptr<int64_t>() + c * rows.size(1),
                   rows.size(1), bins);
    double sum = 0;
    for (size_t b = 0; b < of_pool.size(); ++b) {
      sum += std::abs(of_pool[b] - of_batch[b]);
    }
    result.data_ptr<double>()[c] = sum * pairs.width;
  }
  return result;
}

/// Covariance matrices of x [..., M, D] about `mean` [..., 1, D].
Tensor covariance(const Tensor& x, const Tensor& mean) {
  const Tensor centred = x - mean;
  return torch::matmul(centred.transpose(-1, -2), centred) /
         static_cast<double>(x.size(-2) - 1);
}

}  // namespace

Tensor distance_scores(const Tensor& pool, const Tensor& batches, int64_t bins,
                       double weight) {
  check_shapes(pool, batches);
  const Tensor x = rows_of(pool, batches);  // [C, M, D]
  const auto moments = [](const Tensor& points, int64_t dim) {
    const Tensor mean = points.mean({dim}, true);
    const Tensor variance = (points - mean).square().mean({dim}, true);
    return std::pair(mean, variance.sqrt());
  };
  const auto [mean, deviation] = moments(pool, 0);  // [1, D]
  const auto [means, deviations] = moments(x, 1);   // [C, 1, D]
  const Tensor distance = (means - mean).square().sum({1, 2}).sqrt() +
                          (deviations - deviation).square().sum({1, 2}).sqrt();
  return distance.to(torch::kDouble) +
         weight * histogram_distances(pool, batches, bins);
}

Tensor frechet_scores(const Tensor& pool, const Tensor& batches) {
  check_shapes(pool, batches);
  const Tensor all = pool.to(torch::kDouble);
  const Tensor x = rows_of(all, batches);   // [C, M, D]
  const Tensor mean = all.mean({0}, true);  // [1, D]
  const Tensor means = x.mean({1}, true);   // [C, 1, D]
  const Tensor a = covariance(all, mean);   // [D, D]
  const Tensor b = covariance(x, means);    // [C, D, D]
  const auto trace = [](const Tensor& matrix) {
    return matrix.diagonal(0, -2, -1).sum({-1});
  };

  const Tensor diagonal = torch::eye(pool.size(1), torch::kDouble) * kDiagonal;
  const auto [values, vectors] = torch::linalg_eigh(a + diagonal);
  const Tensor root = torch::mm(vectors * values.clamp_min(0).sqrt(),
                                vectors.t());  // (A + e I)^1/2
  const Tensor product = torch::matmul(torch::matmul(root, b + diagonal), root);
  const Tensor cross =
      torch::linalg_eigvalsh(product).clamp_min(0).sqrt().sum({-1});  // [C]
  return (means - mean).square().sum({1, 2}) + trace(a) + trace(b) - 2 * cross;
}

}  // namespace kith
