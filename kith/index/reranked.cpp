#include "kith/index/reranked.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/index/flat.h"
#include "kith/index/rerank_rows.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

/// A related item of a query.
struct OrderedItem {
  float distance = 0;
  float similarity = 0;
  int64_t item = 0;
};

bool is_more_similar(const OrderedItem& a, const OrderedItem& b) {
  return a.similarity > b.similarity ||
         (a.similarity == b.similarity && a.item < b.item);
}

bool is_before(const OrderedItem& a, const OrderedItem& b) {
  return a.distance < b.distance ||
         (a.distance == b.distance && is_more_similar(a, b));
}

/// Some queries of others, with their pairs.
RankedPairs slice_of(const RankedPairs& pairs, int64_t begin, int64_t end) {
  RankedPairs some;
  some.first = pairs.first + begin;
  const int64_t* offsets = pairs.offsets.data();
  some.items.assign(pairs.items.begin() + offsets[begin],
                    pairs.items.begin() + offsets[end]);
  for (int64_t q = begin; q < end; ++q) {
    some.offsets.push_back(offsets[q + 1] - offsets[begin]);
  }
  return some;
}

/// Floats of [0, inf) and below in their order, as integers.
int32_t ordered_bits(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? std::numeric_limits<int32_t>::min() - bits : bits;
}

float float_of_bits(int32_t ordered) {
  return std::bit_cast<float>(
      ordered < 0 ? std::numeric_limits<int32_t>::min() - ordered : ordered);
}

/// How far apart a query is from an item, by its related items.
double apart_of(const std::vector<RelatedItem>& related, int64_t item) {
  const auto found = std::lower_bound(
      related.begin(), related.end(), item,
      [](const RelatedItem& a, int64_t b) { return a.item < b; });
  return found != related.end() && found->item == item ? found->apart : 1;
}

/// Calls visit(q, begin, end) for each query with the places of its pairs, on
/// several threads.
template <class Visit>
void for_queries(const RankedPairs& pairs, const Visit& visit) {
  at::parallel_for(0, pairs.queries(), 16, [&](int64_t from, int64_t to) {
    for (auto q = static_cast<size_t>(from); q < static_cast<size_t>(to); ++q) {
      visit(q, static_cast<size_t>(pairs.offsets[q]),
            static_cast<size_t>(pairs.offsets[q + 1]));
    }
  });
}

/// The new order of one query: related items by their distance, among all
/// others, which lie where their similarity puts them.
class QueryOrder {
 public:
  QueryOrder(const ItemOrder& order, int64_t query, int64_t gallery)
      : order_(order), query_(query), gallery_(gallery) {}

  void add(const RelatedItem& related, float similarity) {
    by_distance_.push_back(place(related.item, similarity, related.apart));
  }

  void sort() {
    by_similarity_ = by_distance_;
    std::sort(by_similarity_.begin(), by_similarity_.end(), is_more_similar);
    std::sort(by_distance_.begin(), by_distance_.end(), is_before);
  }

  OrderedItem place(int64_t item, float similarity, double apart) const {
    return {order_.distance(query_, apart, similarity), similarity, item};
  }

  /// Where those that are not related and before an item end: at a similarity,
  /// and a position in the gallery.
  OrderedItem border(OrderedItem wanted, double apart) const {
    if (apart == 1 || distance_of_other(wanted.similarity) == wanted.distance) {
      return wanted;
    }
    wanted.similarity =
        least_similar_before(wanted.distance, wanted.similarity);
    wanted.item = gallery_;
    return wanted;
  }

  /// The rank of an item, where `count` of all items, related ones among them,
  /// are more similar than its border.
  int64_t rank(const OrderedItem& wanted, const OrderedItem& border,
               int64_t count) const {
    const auto counted = std::lower_bound(
        by_similarity_.begin(), by_similarity_.end(), border, is_more_similar);
    const auto before = std::lower_bound(by_distance_.begin(),
                                         by_distance_.end(), wanted, is_before);
    return 1 + count - (counted - by_similarity_.begin()) +
           (before - by_distance_.begin());
  }

 private:
  float distance_of_other(float similarity) const {
    return order_.distance(query_, 1, similarity);
  }

  /// The least similarity at which another item is no farther than `distance`;
  /// infinity if there is none. At `beyond` it is farther.
  float least_similar_before(float distance, float beyond) const {
    constexpr float kMost = 2;  // of unit vectors it is 1, but for rounding
    if (distance_of_other(kMost) > distance) return kNever;
    int64_t low = ordered_bits(beyond);
    int64_t high = ordered_bits(kMost);
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const float s = float_of_bits(static_cast<int32_t>(middle));
      (distance_of_other(s) > distance ? low : high) = middle;
    }
    return float_of_bits(static_cast<int32_t>(high));
  }

  const ItemOrder& order_;
  int64_t query_;
  int64_t gallery_;
  std::vector<OrderedItem> by_distance_;
  std::vector<OrderedItem> by_similarity_;
};

}  // namespace

Reranked::Reranked(const RerankSteps& steps, RerankSet set)
    : steps_(steps), set_(std::move(set)), last_(order_of(steps)) {
  const torch::NoGradGuard no_grad;
  set_.self = row_positions(set_.self, set_.queries.count(),
                            set_.gallery.count(), "places of queries");
  const bool has_self =
      set_.self.defined() && (set_.self >= 0).any().item<bool>();
  for (const RerankStep& step : steps_) {
    const auto* part = dynamic_cast<const VectorReranker*>(step.part.get());
    const bool among_itself =
        part != nullptr && part->side() == VectorReranker::Side::kGallery;
    check_enough(step,
                 set_.gallery.count() - (has_self || among_itself ? 1 : 0));
    if (part != nullptr) set_ = with_new_vectors(step, *part, std::move(set_));
  }
  if (last_ != nullptr && last_->candidates() == 0) {
    order_ = last_->order(set_);
  }
}

std::vector<int64_t> Reranked::ranks(const RankedPairs& pairs) const {
  if (last_ == nullptr) {
    return exact_ranks(set_.queries, set_.gallery, pairs, set_.self,
                       {set_.memory_mb});
  }
  // Queries at a time: what is found of each is in memory. How much that is
  // the queries before have shown.
  constexpr int64_t kBytesEach = 192;
  int64_t found = last_->candidates() > 0 ? last_->candidates() : 1 << 14;
  std::vector<int64_t> all;
  all.reserve(pairs.items.size());
  for (int64_t q = 0; q < pairs.queries();) {
    const int64_t step = std::min(
        rows_within(set_.memory_mb, kBytesEach * found), pairs.queries() - q);
    const RankedPairs some = slice_of(pairs, q, q + step);
    const std::vector<int64_t> ranks = last_->candidates() > 0
                                           ? ranks_of_candidates(some)
                                           : ranks_among_all(some, found);
    all.insert(all.end(), ranks.begin(), ranks.end());
    q += step;
  }
  return all;
}

/// Two things are counted for each wanted item: the items that are not related
/// to the query and come before it, which is a rank by similarity less the
/// related ones that this rank counts, and the related items before it.
std::vector<int64_t> Reranked::ranks_among_all(const RankedPairs& pairs,
                                               int64_t& found) const {
  const auto related =
      order_->related(pairs.first, pairs.first + pairs.queries());
  // The related items of each query, and then those that are wanted.
  RankedPairs asked;
  asked.first = pairs.first;
  for (size_t q = 0; q < related.size(); ++q) {
    for (const RelatedItem& each : related[q]) asked.items.push_back(each.item);
    asked.items.insert(asked.items.end(),
                       pairs.items.begin() + pairs.offsets[q],
                       pairs.items.begin() + pairs.offsets[q + 1]);
    asked.offsets.push_back(std::ssize(asked.items));
  }
  found = 1 + std::ssize(asked.items) / pairs.queries();
  const std::vector<float> similarity =
      pair_similarities(set_.queries, set_.gallery, asked, {set_.memory_mb});

  std::vector<QueryOrder> orders;
  for (int64_t q = 0; q < pairs.queries(); ++q) {
    orders.emplace_back(*order_, pairs.first + q, set_.gallery.count());
  }
  std::vector<OrderedItem> wanted(pairs.items.size());
  RankedPairs borders = pairs;
  borders.similarities.resize(pairs.items.size());
  for_queries(pairs, [&](size_t q, size_t begin, size_t end) {
    const float* s = similarity.data() + asked.offsets[q];
    for (const RelatedItem& each : related[q]) orders[q].add(each, *s++);
    orders[q].sort();
    for (size_t i = begin; i < end; ++i, ++s) {
      const double apart = apart_of(related[q], pairs.items[i]);
      wanted[i] = orders[q].place(pairs.items[i], *s, apart);
      const OrderedItem border = orders[q].border(wanted[i], apart);
      borders.similarities[i] = border.similarity;
      borders.items[i] = border.item;
    }
  });
  std::vector<int64_t> ranks = exact_ranks(set_.queries, set_.gallery, borders,
                                           set_.self, {set_.memory_mb});
  for_queries(pairs, [&](size_t q, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const OrderedItem border{0, borders.similarities[i], borders.items[i]};
      ranks[i] = orders[q].rank(wanted[i], border, ranks[i] - 1);
    }
  });
  return ranks;
}

/// Candidates are the first by similarity and change places among themselves:
/// all others stay.
std::vector<int64_t> Reranked::ranks_of_candidates(
    const RankedPairs& pairs) const {
  std::vector<int64_t> ranks = exact_ranks(set_.queries, set_.gallery, pairs,
                                           set_.self, {set_.memory_mb});
  const int64_t n = pairs.queries();
  const Tensor queries = set_.queries.read(pairs.first, n);
  const Neighbours found = exact_search(
      queries, set_.gallery,
      set_.self.defined() ? set_.self.narrow(0, pairs.first, n) : set_.self,
      {last_->candidates(), set_.memory_mb});
  const int64_t k = found.indices.size(1);
  for (int64_t q = 0; q < n; ++q) {
    const int64_t* index = found.indices.data_ptr<int64_t>() + q * k;
    const std::vector<int64_t> positions(index,
                                         std::find(index, index + k, -1));
    const std::vector<int64_t> order = candidate_order(
        *last_, queries.narrow(0, q, 1).cpu(), rows_at(set_.gallery, positions),
        found.similarities.data_ptr<float>() + q * k);
    std::vector<int64_t> place(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      place[static_cast<size_t>(order[i])] = static_cast<int64_t>(i) + 1;
    }
    const int64_t* offset = pairs.offsets.data() + q;
    for (auto i = static_cast<size_t>(offset[0]);
         i < static_cast<size_t>(offset[1]); ++i) {
      if (ranks[i] > std::ssize(place)) continue;
      ranks[i] = place[static_cast<size_t>(ranks[i]) - 1];
    }
  }
  return ranks;
}

std::vector<int64_t> candidate_order(const OrderReranker& part,
                                     const Tensor& query,
                                     const Tensor& candidates,
                                     const float* similarities) {
  std::vector<int64_t> places(static_cast<size_t>(candidates.size(0)));
  std::iota(places.begin(), places.end(), 0);
  if (candidates.size(0) <= part.neighbours()) return places;
  const RerankSet set{query, candidates};
  const std::unique_ptr<ItemOrder> order = part.order(set);
  std::vector<double> apart(places.size(), 1);
  const auto related = order->related(0, 1);
  for (const RelatedItem& each : related.front()) {
    apart[static_cast<size_t>(each.item)] = each.apart;
  }
  std::vector<float> distance;
  for (size_t i = 0; i < places.size(); ++i) {
    distance.push_back(order->distance(0, apart[i], similarities[i]));
  }
  // They come in the order of similarities, and equal ones stay in it.
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    return distance[static_cast<size_t>(a)] < distance[static_cast<size_t>(b)];
  });
  return places;
}

}  // namespace kith
