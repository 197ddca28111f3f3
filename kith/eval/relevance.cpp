#include "kith/eval/relevance.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <torch/torch.h>

namespace kith {

Relevance::Relevance(const Scored& scored)
    : lists_(scored.lists),
      query_labels_(scored.query_labels),
      gallery_labels_(scored.gallery.defined() ? scored.gallery_labels
                                               : scored.query_labels),
      self_(scored.self),
      queries_(scored.queries.count()),
      gallery_((scored.gallery.defined() ? scored.gallery : scored.queries)
                   .count()) {
  if (!self_.defined() && !scored.gallery.defined()) {
    self_ = torch::arange(queries_, at::kLong);
  }
  if (self_.defined()) {
    self_ = self_.contiguous();
    own_ = self_.data_ptr<int64_t>();
  }
  if (!lists_.empty()) {
    TORCH_CHECK_VALUE(
        static_cast<int64_t>(lists_.positives.size()) == queries_ &&
            static_cast<int64_t>(lists_.junk.size()) == queries_,
        "lists of positives and of junk must have an entry for each of the ",
        queries_, " queries");
    return;
  }
  TORCH_CHECK_VALUE(query_labels_.defined() && gallery_labels_.defined(),
                    "a label is needed for every query and gallery item");
  const int64_t* label = gallery_labels_.data_ptr<int64_t>();
  order_.resize(static_cast<size_t>(gallery_));
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int64_t a, int64_t b) { return label[a] < label[b]; });
  std::unordered_map<int64_t, std::span<const int64_t>> class_items;
  for (size_t begin = 0; begin < order_.size();) {
    size_t end = begin;
    while (end < order_.size() && label[order_[end]] == label[order_[begin]]) {
      ++end;
    }
    class_items[label[order_[begin]]] = {order_.data() + begin, end - begin};
    begin = end;
  }
  const int64_t* query_label = query_labels_.data_ptr<int64_t>();
  members_.reserve(static_cast<size_t>(queries_));
  for (int64_t q = 0; q < queries_; ++q) {
    const auto found = class_items.find(query_label[q]);
    members_.push_back(found == class_items.end() ? std::span<const int64_t>()
                                                  : found->second);
  }
}

bool Relevance::self_excluded() const {
  return self_.defined() && (self_ >= 0).any().item<bool>();
}

int64_t Relevance::own(int64_t query) const {
  return own_ != nullptr ? own_[query] : -1;
}

std::span<const int64_t> Relevance::members(int64_t query) const {
  const auto at = static_cast<size_t>(query);
  return lists_.empty() ? members_[at] : lists_.positives[at];
}

bool Relevance::is_own_positive(int64_t query) const {
  const int64_t position = own(query);
  if (position < 0) return false;
  const auto items = members(query);
  // Those of a label are in rising order.
  if (lists_.empty()) {
    return std::binary_search(items.begin(), items.end(), position);
  }
  return std::find(items.begin(), items.end(), position) != items.end();
}

int64_t Relevance::positives(int64_t query) const {
  return static_cast<int64_t>(members(query).size()) -
         (is_own_positive(query) ? 1 : 0);
}

int64_t Relevance::junk(int64_t query) const {
  return lists_.empty() ? 0
                        : static_cast<int64_t>(
                              lists_.junk[static_cast<size_t>(query)].size());
}

int64_t Relevance::candidates(int64_t query) const {
  return gallery_ - junk(query) - (own(query) >= 0 ? 1 : 0);
}

int64_t Relevance::class_size(int64_t query) const {
  return positives(query) + (own(query) >= 0 ? 1 : 0);
}

void Relevance::append_items(int64_t query, std::vector<int64_t>& items) const {
  const int64_t skip = own(query);
  for (int64_t item : members(query)) {
    if (item != skip) items.push_back(item);
  }
  if (lists_.empty()) return;
  const std::vector<int64_t>& junk = lists_.junk[static_cast<size_t>(query)];
  items.insert(items.end(), junk.begin(), junk.end());
}

RankedPairs next_pairs(const Relevance& relevance, int64_t first,
                       int64_t most_queries, int64_t bytes) {
  constexpr int64_t kPairBytes = 64;  // while its rank is computed
  const int64_t most_pairs =
      std::max<int64_t>(bytes / kPairBytes, int64_t{1} << 16);
  const int64_t last = std::min(first + most_queries, relevance.queries());
  RankedPairs pairs;
  pairs.first = first;
  for (int64_t q = first; q < last; ++q) {
    const int64_t more = relevance.positives(q) + relevance.junk(q);
    const auto before = static_cast<int64_t>(pairs.items.size());
    if (q > first && before + more > most_pairs) break;
    relevance.append_items(q, pairs.items);
    pairs.offsets.push_back(static_cast<int64_t>(pairs.items.size()));
  }
  return pairs;
}

}  // namespace kith
