#include "kith/report/embedding_scatter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/core/error.h"
#include "kith/index/row_blocks.h"
#include "kith/report/tsne.h"

namespace kith {
namespace {

/// Queries and gallery, each item once, rising.
std::vector<int64_t> items_of(const EvalTask& task) {
  std::vector<int64_t> items = task.queries;
  items.insert(items.end(), task.gallery.begin(), task.gallery.end());
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

/// Rows of the split's embeddings.
std::vector<int64_t> rows_of(const EmbeddedSplit& split,
                             const std::vector<int64_t>& items) {
  std::vector<int64_t> rows;
  rows.reserve(items.size());
  for (const int64_t item : items) {
    const auto found =
        std::lower_bound(split.rows_of.begin(), split.rows_of.end(), item);
    KITH_ASSERT(found != split.rows_of.end() && *found == item);
    rows.push_back(found - split.rows_of.begin());
  }
  return rows;
}

Tensor read_rows(const Tensor& embeddings, const std::vector<int64_t>& rows) {
  return embeddings
      .index_select(0,
                    torch::tensor(rows, torch::kLong).to(embeddings.device()))
      .to(torch::kDouble);
}

/// Calls visit(rows in double) for blocks of the rows.
template <class Visit>
void for_each_part(const Tensor& embeddings, const std::vector<int64_t>& rows,
                   int64_t size, const Visit& visit) {
  for (int64_t first = 0; first < std::ssize(rows); first += size) {
    const int64_t end = std::min(first + size, std::ssize(rows));
    visit(read_rows(embeddings, {rows.begin() + first, rows.begin() + end}));
  }
}

struct Plane {
  Tensor mean;        ///< [D] double on the CPU, as the others.
  Tensor directions;  ///< [D, 2], the second of zeros if D = 1.
  std::array<double, 2> explained = {0, 0};
};

/// [D, D] sums of products of the centred rows.
Tensor scatter_matrix(const Tensor& embeddings,
                      const std::vector<int64_t>& rows, int64_t block,
                      const Tensor& mean) {
  const int64_t dim = embeddings.size(1);
  Tensor scatter = torch::zeros({dim, dim}, mean.options());
  for_each_part(embeddings, rows, block, [&](const Tensor& part) {
    const Tensor x = part - mean;
    scatter.addmm_(x.t(), x);
  });
  return scatter;
}

Plane principal_plane(const Tensor& embeddings,
                      const std::vector<int64_t>& rows, int64_t memory_mb) {
  const int64_t dim = embeddings.size(1);
  // A row as it is, in double, and centred.
  const int64_t block = rows_within(memory_mb, 24 * dim);
  Tensor mean = torch::zeros({dim}, embeddings.options().dtype(torch::kDouble));
  for_each_part(embeddings, rows, block,
                [&](const Tensor& part) { mean += part.sum(0); });
  mean /= static_cast<double>(std::max<int64_t>(std::ssize(rows), 1));
  const Tensor scatter =
      scatter_matrix(embeddings, rows, block, mean).to(torch::kCPU);
  const auto [values, vectors] = torch::linalg_eigh(scatter, "L");

  Plane plane;
  plane.mean = mean.to(torch::kCPU);
  plane.directions = torch::zeros({dim, 2}, torch::kDouble);
  const double total = scatter.trace().item<double>();
  for (int64_t axis = 0; axis < std::min<int64_t>(dim, 2); ++axis) {
    const Tensor v = vectors.select(1, dim - 1 - axis);
    const double largest = v[v.abs().argmax()].item<double>();
    plane.directions.select(1, axis).copy_(largest < 0 ? -v : v);
    const double value = values[dim - 1 - axis].item<double>();
    plane.explained[static_cast<size_t>(axis)] =
        total > 0 ? std::max(value, 0.0) / total : 0;
  }
  return plane;
}

/// Sum of products of a coordinate's deviations from its mean in both scatters.
double covariation(const EmbeddingScatter& a, const EmbeddingScatter& b,
                   double ScatterPoint::*coordinate) {
  const auto mean = [coordinate](const EmbeddingScatter& scatter) {
    double sum = 0;
    for (const ScatterPoint& point : scatter.points) sum += point.*coordinate;
    return sum / static_cast<double>(scatter.points.size());
  };
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  double sum = 0;
  for (size_t i = 0; i < a.points.size(); ++i) {
    sum +=
        (a.points[i].*coordinate - mean_a) * (b.points[i].*coordinate - mean_b);
  }
  return sum;
}

}  // namespace

int64_t count_scatter_items(const EvalTask& task) {
  return std::ssize(items_of(task));
}

std::vector<int64_t> draw_scatter_items(const EvalTask& task, int64_t most,
                                        uint64_t seed) {
  const std::vector<int64_t> all = items_of(task);
  Rng rng(seed, Stream::kReport, {1});
  std::vector<int64_t> drawn = draw_distinct(std::ssize(all), most, rng);
  for (int64_t& place : drawn) place = all[static_cast<size_t>(place)];
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

EmbeddingScatter embedding_scatter(const EmbeddedSplit& split,
                                   const EvalTask& task,
                                   const std::vector<int64_t>& items,
                                   int64_t memory_mb) {
  const torch::NoGradGuard no_grad;
  const std::vector<int64_t> all = rows_of(split, items_of(task));
  const Plane plane = principal_plane(split.embeddings, all, memory_mb);
  std::vector<int64_t> labels;
  for (const int64_t row : all) {
    labels.push_back(split.labels[static_cast<size_t>(row)]);
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  const auto class_of = [&](int64_t row) -> int64_t {
    if (!task.lists.empty()) return 0;
    const int64_t label = split.labels[static_cast<size_t>(row)];
    return std::lower_bound(labels.begin(), labels.end(), label) -
           labels.begin();
  };

  EmbeddingScatter scatter;
  std::copy(plane.explained.begin(), plane.explained.end(), scatter.explained);
  const std::vector<int64_t> shown = rows_of(split, items);
  const Tensor places =
      torch::mm(read_rows(split.embeddings, shown).to(torch::kCPU) - plane.mean,
                plane.directions);
  const auto at = places.accessor<double, 2>();
  for (size_t i = 0; i < shown.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    scatter.points.push_back({at[row][0], at[row][1], class_of(shown[i]), i});
  }
  return scatter;
}

void add_map(const EmbeddedSplit& split, const std::vector<int64_t>& items,
             EmbeddingScatter& scatter) {
  const torch::NoGradGuard no_grad;
  std::vector<PlanePoint> start;
  for (const ScatterPoint& point : scatter.points) {
    start.push_back({point.x, point.y});
  }
  const Tensor rows =
      read_rows(split.embeddings, rows_of(split, items)).to(torch::kCPU);
  const Tensor similarities =
      torch::mm(rows, rows.t()).to(torch::kFloat).contiguous();
  const float* values = similarities.data_ptr<float>();
  const std::vector<PlanePoint> map =
      tsne({values, values + similarities.numel()}, start);
  for (size_t i = 0; i < map.size(); ++i) {
    scatter.points[i].map_x = map[i][0];
    scatter.points[i].map_y = map[i][1];
  }
  scatter.has_map = true;
}

void turn_like(const EmbeddingScatter& other, EmbeddingScatter& scatter) {
  KITH_ASSERT(other.points.size() == scatter.points.size());
  for (double ScatterPoint::*coordinate :
       {&ScatterPoint::x, &ScatterPoint::y}) {
    if (covariation(other, scatter, coordinate) >= 0) continue;
    for (ScatterPoint& point : scatter.points)
      point.*coordinate = -(point.*coordinate);
  }
}

}  // namespace kith
