#include "kith/eval/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/class_index.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

struct Spectrum {
  std::vector<double> values;
};

Spectrum compute_spectrum(const ScoredSet& set) {
  const torch::NoGradGuard no_grad;
  const int64_t dim = set.gallery.dim();
  // A row in double, and room for one copy that the product makes.
  const int64_t block = rows_within(set.memory_mb, 16 * dim);
  const auto options =
      torch::TensorOptions().dtype(torch::kDouble).device(set.gallery.device());
  Tensor gram = torch::zeros({dim, dim}, options);
  for_each_block(set.gallery, block, [&](int64_t, const Tensor& rows) {
    const Tensor x = rows.to(torch::kDouble);
    gram.addmm_(x.t(), x);
  });
  Spectrum result{spectrum_of_gram(gram)};
  if (set.gallery.count() < dim) {
    result.values.resize(static_cast<size_t>(set.gallery.count()));
  }
  return result;
}

/// Adds the values of one class's rows [n, D].
void add_class(const Tensor& rows, std::vector<double>& sums) {
  const Tensor x = rows.to(torch::kDouble);
  const Tensor small = x.size(0) < x.size(1) ? x : x.t();
  const std::vector<double> values =
      spectrum_of_gram(torch::mm(small, small.t()));
  const size_t count = std::min(values.size(), sums.size());
  for (size_t i = 0; i < count; ++i) sums[i] += values[i];
}

}  // namespace

std::vector<double> spectrum_of_gram(const Tensor& gram) {
  const Tensor eigenvalues =
      torch::linalg_eigvalsh(gram.to(torch::kCPU), "L").contiguous();
  const double* rising = eigenvalues.data_ptr<double>();
  const int64_t count = eigenvalues.numel();
  std::vector<double> values(rising, rising + count);
  std::reverse(values.begin(), values.end());
  const double least = static_cast<double>(count) *
                       std::numeric_limits<double>::epsilon() * values.front();
  for (double& value : values) value = value > least ? std::sqrt(value) : 0;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  for (double& value : values) value /= sum;
  return values;
}

const std::vector<double>& spectrum(const ScoredSet& set) {
  return set.cache->get<Spectrum>([&] { return compute_spectrum(set); }).values;
}

std::vector<double> occupied_spectrum(const std::vector<double>& spectrum) {
  constexpr double kLeast = 1e-6;
  std::vector<double> occupied;
  for (const double value : spectrum) {
    if (value > kLeast * spectrum.front()) occupied.push_back(value);
  }
  return occupied;
}

std::vector<double> class_spectrum(const ScoredSet& set, int64_t length) {
  const torch::NoGradGuard no_grad;
  const ClassIndex index = index_classes(set.gallery_labels);
  const std::vector<int64_t> items = items_by_class(index);
  const int64_t dim = set.gallery.dim();
  const int64_t block = rows_within(set.memory_mb, 12 * dim);
  const int64_t largest =
      *std::max_element(index.sizes.begin(), index.sizes.end());
  if (largest < 2) return {};
  std::vector<double> sums(
      static_cast<size_t>(std::min({length, dim, largest})));
  int64_t classes = 0;
  auto first = items.begin();  // Of the group of classes.
  for (size_t c = 0; c < index.sizes.size();) {
    int64_t rows = 0;
    const size_t group = c;
    while (c < index.sizes.size() &&
           (c == group || rows + index.sizes[c] <= block)) {
      rows += index.sizes[c++];
    }
    const Tensor all = gather_rows(set.gallery, {first, first + rows}, block);
    first += rows;
    int64_t row = 0;
    for (size_t own = group; own < c; row += index.sizes[own++]) {
      if (index.sizes[own] < 2) continue;
      add_class(all.narrow(0, row, index.sizes[own]), sums);
      ++classes;
    }
  }
  for (double& sum : sums) sum /= static_cast<double>(classes);
  return sums;
}

double spectral_decay(const std::vector<double>& spectrum, int64_t dropped) {
  KITH_ASSERT(dropped >= 0 && dropped < static_cast<int64_t>(spectrum.size()));
  const auto first = spectrum.begin() + dropped;
  const double sum = std::accumulate(first, spectrum.end(), 0.0);
  const auto count = static_cast<double>(spectrum.end() - first);
  double divergence = -std::log(count);
  for (auto value = first; value != spectrum.end(); ++value) {
    if (*value == 0) return std::numeric_limits<double>::infinity();
    divergence -= std::log(*value / sum) / count;
  }
  return divergence;
}

}  // namespace kith
