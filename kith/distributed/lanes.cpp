#include "kith/distributed/lanes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <ATen/ATen.h>

namespace kith {
namespace {

/// Up to this size tensors are gathered whole: one round instead of two.
constexpr int64_t kSmallBytes = 32 << 10;

struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

int64_t middle(const Span& node) { return (node.begin + node.end + 1) / 2; }

/// Whether `a` and `b` are the halves of a node of the tree over `lanes`.
bool are_halves(const Span& a, const Span& b, int64_t lanes) {
  Span node{0, lanes};
  while (node.begin < a.begin || node.end > b.end) {
    const int64_t m = middle(node);
    if (b.end <= m) {
      node.end = m;
    } else if (a.begin >= m) {
      node.begin = m;
    } else {
      return false;
    }
  }
  return middle(node) == a.end;
}

/// The largest nodes of the tree that make up the lanes [begin, end), from left
/// to right: what merging neighbours leads to.
void add_nodes(const Span& node, const Span& wanted, std::vector<Span>& nodes) {
  if (node.end <= wanted.begin || node.begin >= wanted.end) return;
  if (node.begin >= wanted.begin && node.end <= wanted.end) {
    nodes.push_back(node);
    return;
  }
  const int64_t m = middle(node);
  add_nodes({node.begin, m}, wanted, nodes);
  add_nodes({m, node.end}, wanted, nodes);
}

std::vector<Span> nodes_of(int64_t rank, const Lanes& lanes, int64_t ranks) {
  std::vector<Span> nodes;
  add_nodes({0, lanes.count},
            {lanes.begin_of(rank, ranks), lanes.begin_of(rank + 1, ranks)},
            nodes);
  return nodes;
}

std::vector<Span> all_nodes(const Lanes& lanes, int64_t ranks) {
  std::vector<Span> all;
  for (int64_t r = 0; r < ranks; ++r) {
    const std::vector<Span> nodes = nodes_of(r, lanes, ranks);
    all.insert(all.end(), nodes.begin(), nodes.end());
  }
  return all;
}

/// Adds up the rows, which are the sums of these nodes, from left to right, in
/// the order of the tree. The rows are used up.
Tensor add_up(const std::vector<Span>& nodes, const Tensor& rows,
              int64_t lanes) {
  size_t next = 0;
  const std::function<Tensor(const Span&)> sum_of_node =
      [&](const Span& node) -> Tensor {
    if (nodes[next].end == node.end) {
      return rows[static_cast<int64_t>(next++)];
    }
    const int64_t m = middle(node);
    const Tensor left = sum_of_node({node.begin, m});
    return left.add_(sum_of_node({m, node.end}));
  };
  return sum_of_node({0, lanes});
}

}  // namespace

Lanes::Lanes(int64_t lanes, const Communicator& ranks)
    : count(lanes == 0 ? ranks.size() : lanes) {
  if (count < 0 || count % ranks.size() != 0) {
    throw ConfigError(std::to_string(count) +
                      " lanes cannot be divided among " +
                      std::to_string(ranks.size()) +
                      " ranks: the number of lanes must be a multiple of that "
                      "of the ranks");
  }
  first = begin_of(ranks.rank(), ranks.size());
  last = begin_of(ranks.rank() + 1, ranks.size());
}

LaneSum::LaneSum(const Lanes& lanes, Communicator& ranks)
    : lanes_(lanes), ranks_(ranks), next_(lanes.first) {}

void LaneSum::add(Tensor lane) {
  KITH_ASSERT(next_ < lanes_.last);
  const at::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(nodes_.empty() || nodes_.back().sum.sizes() == lane.sizes(),
                    "a lane's tensor is ", lane.sizes(),
                    ", that of the lane before ", nodes_.back().sum.sizes());
  nodes_.push_back({next_, next_ + 1, lane.detach().contiguous()});
  ++next_;
  while (nodes_.size() > 1) {
    Node& left = nodes_[nodes_.size() - 2];
    const Node& right = nodes_.back();
    if (!are_halves({left.begin, left.end}, {right.begin, right.end},
                    lanes_.count)) {
      return;
    }
    left.sum.add_(right.sum);
    left.end = right.end;
    nodes_.pop_back();
  }
}

std::vector<Tensor> LaneSum::waiting() const {
  std::vector<Tensor> sums;
  for (const Node& node : nodes_) sums.push_back(node.sum);
  return sums;
}

Tensor LaneSum::total() {
  KITH_ASSERT(next_ == lanes_.last && !nodes_.empty());
  if (ranks_.is_alone()) {
    next_ = lanes_.first;
    return std::exchange(nodes_, {}).front().sum;
  }
  const Tensor sum = at::empty_like(nodes_.front().sum);
  total_into(sum);
  return sum;
}

void LaneSum::total_into(const Tensor& sum) {
  KITH_ASSERT(next_ == lanes_.last && !nodes_.empty());
  const at::NoGradGuard no_grad;
  const std::vector<Node> mine = std::exchange(nodes_, {});
  next_ = lanes_.first;
  const Tensor& first = mine.front().sum;
  if (ranks_.is_alone()) {
    if (!sum.is_alias_of(first)) sum.copy_(first);
    return;
  }
  const std::vector<Span> nodes = all_nodes(lanes_, ranks_.size());
  std::vector<Tensor> sums;
  for (const Node& node : mine) sums.push_back(node.sum);
  const int64_t count = first.numel();
  const auto width = static_cast<int64_t>(first.element_size());
  if (count * width <= kSmallBytes) {
    const Tensor all = sums.size() == 1 ? first.unsqueeze(0) : at::stack(sums);
    sum.copy_(add_up(nodes, ranks_.all_gather(all), lanes_.count));
    return;
  }

  ranks_.agree_on_sum(first);
  // Rank r adds up the numbers [begin_of(r), begin_of(r + 1)).
  const auto begin_of = [&](int64_t r) { return count * r / ranks_.size(); };
  const auto held = static_cast<int64_t>(sums.size());
  std::vector<Tensor> slices;
  std::vector<int64_t> counts;
  for (int64_t r = 0; r < ranks_.size(); ++r) {
    const int64_t length = begin_of(r + 1) - begin_of(r);
    for (const Tensor& part : sums) {
      slices.push_back(part.view({-1}).narrow(0, begin_of(r), length));
    }
    counts.push_back(held * length);
  }
  const Tensor send = held == 1 ? first.view({-1}) : at::cat(slices);
  const Tensor flat = sum.view({-1});
  const int64_t length = begin_of(ranks_.rank() + 1) - begin_of(ranks_.rank());
  // A single lane is its own sum: it comes to where that is wanted.
  const bool is_sum = nodes.size() == 1 && !sum.is_alias_of(first);
  const Tensor received =
      ranks_.exchange(send, counts, is_sum ? flat : Tensor())
          .view({static_cast<int64_t>(nodes.size()), length});
  ranks_.all_gather(add_up(nodes, received, lanes_.count), flat);
}

}  // namespace kith
