#include "kith/index/reranked.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include "kith/index/flat.h"
#include "kith/index/rerank_rows.h"
#include "kith/index/row_blocks.h"

namespace kith {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();
/// Of an item that was found for a query, while its queries are in memory.
constexpr int64_t kBytesEach = 64;

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

/// Queries with a border that some item may come before: the ranks of all other
/// borders are 1.
class OpenQueries {
 public:
  explicit OpenQueries(const RankedPairs& borders) : borders_(borders) {
    for (int64_t q = 0; q < borders.queries(); ++q) {
      const auto begin = borders.similarities.begin();
      const auto at = static_cast<size_t>(q);
      if (std::any_of(begin + borders.offsets[at],
                      begin + borders.offsets[at + 1],
                      [](float similarity) { return similarity < kNever; })) {
        queries_.push_back(q);
      }
    }
  }

  int64_t count() const { return std::ssize(queries_); }

  /// Some of them as if there were no others, and where they are among all
  /// queries of the set.
  std::pair<RankedPairs, Tensor> slice(int64_t begin, int64_t end) const {
    RankedPairs some;
    const Tensor at = torch::empty({end - begin}, torch::kLong);
    for (int64_t i = begin; i < end; ++i) {
      const auto [from, to] = pairs_of(i);
      some.items.insert(some.items.end(), borders_.items.begin() + from,
                        borders_.items.begin() + to);
      some.similarities.insert(some.similarities.end(),
                               borders_.similarities.begin() + from,
                               borders_.similarities.begin() + to);
      some.offsets.push_back(std::ssize(some.items));
      at.data_ptr<int64_t>()[i - begin] =
          borders_.first + queries_[static_cast<size_t>(i)];
    }
    return {std::move(some), at};
  }

  /// Puts the ranks of a slice from `begin` on among those of all borders.
  void put(int64_t begin, const std::vector<int64_t>& found,
           std::vector<int64_t>& ranks) const {
    for (auto from_found = found.begin(); from_found != found.end(); ++begin) {
      const auto [from, to] = pairs_of(begin);
      std::copy_n(from_found, to - from, ranks.begin() + from);
      from_found += to - from;
    }
  }

 private:
  std::pair<int64_t, int64_t> pairs_of(int64_t i) const {
    const auto q = static_cast<size_t>(queries_[static_cast<size_t>(i)]);
    return {borders_.offsets[q], borders_.offsets[q + 1]};
  }

  const RankedPairs& borders_;
  std::vector<int64_t> queries_;
};

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

/// Calls visit(q) for each of the queries [first, last), on several threads.
template <class Visit>
void for_queries(int64_t first, int64_t last, const Visit& visit) {
  at::parallel_for(first, last, 16, [&](int64_t from, int64_t to) {
    for (auto q = static_cast<size_t>(from); q < static_cast<size_t>(to); ++q) {
      visit(q);
    }
  });
}

/// Places among items, the first in an order first.
struct SortedPlaces {
  std::vector<size_t> order;  ///< Which of the given ones each is,
  std::vector<float> keys;    ///< and what it is placed by, rising.

  template <class Before, class Key>
  SortedPlaces(const std::vector<OrderedItem>& places, const Before& before,
               const Key& key)
      : order(places.size()) {
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return before(places[a], places[b]); });
    for (const size_t i : order) keys.push_back(key(places[i]));
  }

  /// How many keys are below x; without branches, which would be guessed wrong.
  size_t below(float x) const {
    const float* base = keys.data();
    size_t size = keys.size();
    while (size > 1) {
      const size_t half = size / 2;
      base += base[half - 1] < x ? half : 0;
      size -= half;
    }
    return static_cast<size_t>(base - keys.data()) +
           (size == 1 && *base < x ? 1 : 0);
  }
};

/// Of each of some places how many of the items(0), ..., items(count - 1) come
/// before it. key(item) rises in the order; it decides unless it is equal.
template <class Items, class Before, class Key>
std::vector<int64_t> count_before(int64_t count, const Items& items,
                                  const std::vector<OrderedItem>& places,
                                  const Before& before, const Key& key) {
  const SortedPlaces sorted(places, before, key);
  // Each item is before the places from one on.
  std::vector<int64_t> from(places.size() + 1);
  for (int64_t i = 0; i < count; ++i) {
    const OrderedItem item = items(i);
    const float x = key(item);
    size_t place = sorted.below(x);
    while (place < places.size() && sorted.keys[place] == x &&
           !before(item, places[sorted.order[place]])) {
      ++place;
    }
    ++from[place];
  }
  std::vector<int64_t> counts(places.size());
  int64_t sum = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    counts[sorted.order[i]] = sum += from[i];
  }
  return counts;
}

/// The new order of one query: related items by their distances, among all
/// others, which lie where their similarities put them.
struct QueryOrder {
  const ItemOrder& order;
  int64_t query;

  OrderedItem place(int64_t item, float similarity, double apart) const {
    return {order.distance(query, apart, similarity), similarity, item};
  }

  /// Where the items end that are not related and come before a wanted one: at
  /// a similarity, and a position in a gallery of `gallery` items.
  OrderedItem border(OrderedItem wanted, double apart, int64_t gallery) const {
    if (apart == 1 ||
        order.distance(query, 1, wanted.similarity) == wanted.distance) {
      return wanted;
    }
    wanted.similarity =
        least_similar_before(wanted.distance, wanted.similarity);
    wanted.item = gallery;
    return wanted;
  }

  /// The least similarity at which an item that is not related is no farther
  /// than `distance`; infinity if there is none. At `beyond` it is farther.
  float least_similar_before(float distance, float beyond) const {
    constexpr float kMost = 2;  // of unit vectors it is 1, but for rounding
    const auto is_farther = [&](float similarity) {
      return order.distance(query, 1, similarity) > distance;
    };
    if (is_farther(kMost)) return kNever;
    int64_t low = ordered_bits(beyond);
    int64_t high = ordered_bits(kMost);
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (is_farther(float_of_bits(static_cast<int32_t>(middle))) ? low : high) =
          middle;
    }
    return float_of_bits(static_cast<int32_t>(high));
  }
};

}  // namespace

/// Related items of some queries and where they are put.
struct Reranked::RelatedOrder {
  RelatedItems related;
  std::vector<float> similarities;
  std::vector<float> distances;

  /// The related items of a query, counted from the first.
  struct OfQuery {
    int64_t count;
    const int64_t* items;
    const double* apart;
    const float* similarity;
    const float* distance;

    OrderedItem operator()(int64_t i) const {
      return {distance[i], similarity[i], items[i]};
    }
    double apart_of(int64_t item) const {
      const int64_t* found = std::lower_bound(items, items + count, item);
      return found != items + count && *found == item ? apart[found - items]
                                                      : 1;
    }
  };
  OfQuery of(size_t query) const {
    const int64_t at = related.pairs.offsets[query];
    return {related.pairs.offsets[query + 1] - at,
            related.pairs.items.data() + at, related.apart.data() + at,
            similarities.data() + at, distances.data() + at};
  }
};

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
  if (last_->candidates() == 0) return ranks_among_all(pairs);
  std::vector<int64_t> all;
  all.reserve(pairs.items.size());
  const int64_t step =
      rows_within(set_.memory_mb, kBytesEach * last_->candidates());
  for (int64_t q = 0; q < pairs.queries(); q += step) {
    const std::vector<int64_t> ranks = ranks_of_candidates(
        slice_of(pairs, q, std::min(q + step, pairs.queries())));
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  return all;
}

/// Items that are not related and come before a wanted one are a rank by
/// similarity less the related ones that this rank counts; related ones before
/// it are counted by themselves.
std::vector<int64_t> Reranked::ranks_among_all(const RankedPairs& pairs) const {
  RankedPairs borders = pairs;  // first with similarities of their own
  pair_similarities(set_.queries, set_.gallery, pairs, borders.similarities,
                    {set_.memory_mb});
  std::vector<int64_t> more(pairs.items.size());  // than ranks of the borders
  RelatedOrder room;
  // How many items a query has is what those before it have shown.
  int64_t found = 1 << 14;
  for (int64_t q = 0; q < pairs.queries();) {
    const int64_t last = std::min(
        q + rows_within(set_.memory_mb, kBytesEach * found), pairs.queries());
    find_borders(q, last, room, borders, more);
    found = 1 + std::ssize(room.distances) / (last - q);
    q = last;
  }
  std::vector<int64_t> ranks = ranks_of_borders(borders);
  for (size_t i = 0; i < ranks.size(); ++i) ranks[i] += more[i];
  return ranks;
}

std::vector<int64_t> Reranked::ranks_of_borders(
    const RankedPairs& borders) const {
  const OpenQueries open(borders);
  const Tensor queries = set_.queries.in_memory();
  // On a CPU all together take half of the products.
  if (2 * open.count() >= borders.queries() || !queries.defined() ||
      set_.gallery.shard() != nullptr) {
    // Of all queries together: each time the gallery is walked through.
    return exact_ranks(set_.queries, set_.gallery, borders, set_.self,
                       {set_.memory_mb});
  }
  std::vector<int64_t> ranks(borders.items.size(), 1);
  const int64_t step = rows_within(set_.memory_mb, 16 * set_.queries.dim());
  for (int64_t i = 0; i < open.count(); i += step) {
    const auto [some, at] = open.slice(i, std::min(i + step, open.count()));
    const Tensor self =
        set_.self.defined() ? set_.self.index_select(0, at) : set_.self;
    const std::vector<int64_t> found =
        exact_ranks(queries.index_select(0, at.to(queries.device())),
                    set_.gallery, some, self, {set_.memory_mb});
    open.put(i, found, ranks);
  }
  return ranks;
}

void Reranked::find_borders(int64_t first, int64_t last, RelatedOrder& room,
                            RankedPairs& borders,
                            std::vector<int64_t>& more) const {
  order_->related(borders.first + first, borders.first + last, room.related);
  pair_similarities(set_.queries, set_.gallery, room.related.pairs,
                    room.similarities, {set_.memory_mb});
  room.distances.resize(room.similarities.size());
  for_queries(first, last, [&](size_t q) {
    const QueryOrder order{*order_, borders.first + static_cast<int64_t>(q)};
    const auto at = q - static_cast<size_t>(first);
    const RelatedOrder::OfQuery related = room.of(at);
    order_->distances(order.query, related.count, related.apart,
                      related.similarity,
                      room.distances.data() + room.related.pairs.offsets[at]);
    std::vector<OrderedItem> wanted;
    std::vector<OrderedItem> ends;
    const auto from = static_cast<size_t>(borders.offsets[q]);
    const auto to = static_cast<size_t>(borders.offsets[q + 1]);
    for (size_t i = from; i < to; ++i) {
      const double apart = related.apart_of(borders.items[i]);
      wanted.push_back(
          order.place(borders.items[i], borders.similarities[i], apart));
      ends.push_back(order.border(wanted.back(), apart, set_.gallery.count()));
      borders.similarities[i] = ends.back().similarity;
      borders.items[i] = ends.back().item;
    }
    const auto before =
        count_before(related.count, related, wanted, is_before,
                     [](const OrderedItem& item) { return item.distance; });
    const auto counted =
        count_before(related.count, related, ends, is_more_similar,
                     [](const OrderedItem& item) { return -item.similarity; });
    for (size_t i = from; i < to; ++i) {
      more[i] = before[i - from] - counted[i - from];
    }
  });
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
  RelatedItems related;
  order->related(0, 1, related);
  for (size_t i = 0; i < related.apart.size(); ++i) {
    apart[static_cast<size_t>(related.pairs.items[i])] = related.apart[i];
  }
  std::vector<float> distance(places.size());
  order->distances(0, std::ssize(places), apart.data(), similarities,
                   distance.data());
  // They come in the order of similarities, and equal ones stay in it.
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    return distance[static_cast<size_t>(a)] < distance[static_cast<size_t>(b)];
  });
  return places;
}

}  // namespace kith
