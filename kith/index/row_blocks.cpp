#include "kith/index/row_blocks.h"

#include <algorithm>
#include <numeric>

#include <torch/torch.h>

namespace kith {

Tensor gather_rows(const Rows& rows, const std::vector<int64_t>& positions,
                   int64_t size) {
  const auto on_device = [&](const std::vector<int64_t>& indices) {
    return torch::tensor(indices, torch::kLong).to(rows.device());
  };
  const Tensor all = rows.in_memory();
  if (all.defined()) return all.index_select(0, on_device(positions));

  // From a file: in the order of the file, and only blocks with rows in them.
  std::vector<int64_t> order(positions.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto position = [&](int64_t i) {
    return positions[static_cast<size_t>(i)];
  };
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return position(a) < position(b); });
  const auto count = static_cast<int64_t>(positions.size());
  Tensor result = torch::empty(
      {count, rows.dim()},
      torch::TensorOptions().dtype(torch::kFloat).device(rows.device()));
  for (auto next = order.begin(); next != order.end();) {
    const int64_t first = position(*next);
    const int64_t end = std::min(first + size, rows.count());
    std::vector<int64_t> from;
    std::vector<int64_t> to;
    for (; next != order.end() && position(*next) < end; ++next) {
      from.push_back(position(*next) - first);
      to.push_back(*next);
    }
    const Tensor block = rows.read(first, from.back() + 1);
    result.index_copy_(0, on_device(to),
                       block.index_select(0, on_device(from)));
  }
  return result;
}

}  // namespace kith
