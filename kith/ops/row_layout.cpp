#include "kith/ops/row_layout.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "kith/ops/small_sort.h"

namespace kith {
namespace {

/// Slots, the largest class and the classes of one.
void set_facts(ClassRanges& ranges, const Tensor& facts) {
  const int64_t* fact = facts.data_ptr<int64_t>();
  ranges.slots = fact[0];
  ranges.largest = fact[1];
  ranges.alone = fact[2];
}

using Ints = std::vector<int64_t>;

/// Lists that become one tensor on a device, and parts of it.
template <class T>
class Package {
 public:
  /// The list becomes `to` when the package is sent.
  void add(Tensor& to, const std::vector<T>& list) {
    parts_.push_back({&to, static_cast<int64_t>(all_.size()),
                      static_cast<int64_t>(list.size())});
    all_.insert(all_.end(), list.begin(), list.end());
  }

  void send(c10::Device device) {
    const Tensor sent =
        torch::tensor(all_, c10::CppTypeToScalarType<T>::value).to(device);
    for (const Part& part : parts_) {
      *part.to = sent.narrow(0, part.begin, part.size);
    }
  }

 private:
  struct Part {
    Tensor* to;
    int64_t begin;
    int64_t size;
  };
  std::vector<Part> parts_;
  std::vector<T> all_;
};

/// A batch as lists, in the order of SortedSet's fields.
class MixedLayout {
 public:
  MixedLayout(const int64_t* labels, int64_t count, const int64_t* pairs,
              const double* alphas, int64_t mixed)
      : label_(labels), count_(count) {
    sort();
    add_items(pairs, alphas, mixed);
    add_children();
  }

  SortedBatch send(c10::Device device) {
    SortedBatch batch;
    SortedSet& set = batch.set;
    set.examples = count_;
    set.items = static_cast<int64_t>(labels_.size());
    set.classes = classes_;
    Package<int64_t> ints;
    ints.add(set.order, order_);
    ints.add(set.labels, labels_);
    ints.add(set.first_parent, first_parent_);
    ints.add(set.second_parent, second_parent_);
    ints.add(set.child_start, child_start_);
    ints.add(set.children, children_);
    add_ranges(
        batch.ranges, [](const auto& end) { return end.item; }, ints);
    add_ranges(
        batch.example_ranges, [](const auto& end) { return end.example; },
        ints);
    ints.send(device);
    Package<double> shares;
    shares.add(set.alpha, alpha_);
    shares.add(set.child_share, child_share_);
    shares.send(device);
    return batch;
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  void sort() {
    order_.resize(at(count_));
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
      return label_[a] < label_[b];
    });
    for (int64_t n = 0; n < count_; ++n) {
      const bool ends =
          n + 1 == count_ || label_[order_[at(n)]] != label_[order_[at(n + 1)]];
      class_of_.push_back(static_cast<int64_t>(classes_.size()));
      if (ends) classes_.push_back({n + 1, 0});
    }
  }

  /// Examples of a class, then its virtual ones in the order of the pairs.
  void add_items(const int64_t* pairs, const double* alphas, int64_t mixed) {
    Ints place(at(count_));
    for (int64_t n = 0; n < count_; ++n) place[at(order_[at(n)])] = n;
    std::vector<Ints> of_class(classes_.size());
    for (int64_t v = 0; v < mixed; ++v) {
      of_class[at(class_of_[at(place[at(pairs[2 * v])])])].push_back(v);
    }
    int64_t n = 0;
    for (size_t c = 0; c < classes_.size(); ++c) {
      const int64_t label = label_[order_[at(n)]];
      for (; n < classes_[c].example; ++n) add_item(label, n, n, 1);
      for (const int64_t v : of_class[c]) {
        add_item(label, place[at(pairs[2 * v])], place[at(pairs[2 * v + 1])],
                 alphas[v]);
      }
      classes_[c].item = static_cast<int64_t>(labels_.size());
    }
  }

  void add_item(int64_t label, int64_t i, int64_t j, double alpha) {
    labels_.push_back(label);
    first_parent_.push_back(i);
    second_parent_.push_back(j);
    alpha_.push_back(alpha);
  }

  /// An example is a child of itself alone, a virtual one of both parents.
  void add_children() {
    child_start_.assign(at(count_ + 1), 0);
    const auto each = [&](const auto& f) {
      for (size_t item = 0; item < labels_.size(); ++item) {
        const int64_t i = first_parent_[item];
        const int64_t j = second_parent_[item];
        f(i, item, alpha_[item]);
        if (i != j) f(j, item, 1 - alpha_[item]);
      }
    };
    each([&](int64_t parent, size_t, double) {
      ++child_start_[at(parent + 1)];
    });
    std::partial_sum(child_start_.begin(), child_start_.end(),
                     child_start_.begin());
    Ints next(child_start_.begin(), child_start_.end() - 1);
    children_.resize(at(child_start_.back()));
    child_share_.resize(children_.size());
    each([&](int64_t parent, size_t item, double share) {
      const size_t to = at(next[at(parent)]++);
      children_[to] = static_cast<int64_t>(item);
      child_share_[to] = share;
    });
  }

  /// Ranges of the items or of the examples, whose classes end at end_of().
  template <class EndOf>
  void add_ranges(ClassRanges& ranges, const EndOf& end_of,
                  Package<int64_t>& ints) const {
    Ints first, last, slot;
    int64_t begin = 0;
    for (const SortedSet::ClassEnd& end : classes_) {
      const int64_t size = end_of(end) - begin;
      for (int64_t n = begin; n < end_of(end); ++n) {
        first.push_back(begin);
        last.push_back(end_of(end));
        slot.push_back(ranges.slots);
        ranges.slots += size;
      }
      ranges.largest = std::max(ranges.largest, size);
      ranges.alone += size == 1;
      begin = end_of(end);
    }
    ints.add(ranges.first, first);
    ints.add(ranges.last, last);
    ints.add(ranges.slot, slot);
  }

  const int64_t* label_;
  int64_t count_;
  Ints order_, class_of_;
  Ints labels_, first_parent_, second_parent_, child_start_, children_;
  std::vector<double> alpha_, child_share_;
  std::vector<SortedSet::ClassEnd> classes_;
};

/// Sorts a batch with virtual examples. Done on the CPU in O(M + V) after the
/// sort, and sent to the labels' device in two copies: there it would be some
/// sixty small operations.
SortedBatch sort_mixed(const Tensor& labels, const MixedPairs& mixed) {
  const Tensor here = labels.cpu().contiguous();
  const Tensor pairs = mixed.pairs.cpu().contiguous();
  const Tensor alphas = mixed.alphas.to(at::kCPU, at::kDouble).contiguous();
  MixedLayout layout(here.data_ptr<int64_t>(), here.numel(),
                     pairs.data_ptr<int64_t>(), alphas.data_ptr<double>(),
                     pairs.size(0));
  return layout.send(labels.device());
}

}  // namespace

SortedSet sort_by_label(const Tensor& labels) {
  SortedSet set;
  std::tie(set.labels, set.order) = labels.sort(/*stable=*/true, 0, false);
  set.examples = set.items = labels.size(0);
  return set;
}

ClassRanges class_ranges(const Tensor& row_labels,
                         const Tensor& column_labels) {
  ClassRanges ranges;
  ranges.first = torch::searchsorted(column_labels, row_labels);
  ranges.last = torch::searchsorted(column_labels, row_labels,
                                    /*out_int32=*/false, /*right=*/true);
  const Tensor sizes = ranges.last - ranges.first;
  const Tensor ends = sizes.cumsum(0);
  ranges.slot = ends - sizes;
  if (sizes.numel() == 0) return ranges;
  set_facts(ranges,
            torch::stack({ends[-1], sizes.max(), (sizes == 1).sum()}).cpu());
  return ranges;
}

SortedBatch sort_batch(const Tensor& labels, const MixedPairs& mixed) {
  if (mixed.defined()) return sort_mixed(labels, mixed);
  SortedBatch batch;
  const int64_t count = labels.size(0);
  if (!labels.is_cuda() || count == 0 || count > most_for_small_sort()) {
    batch.set = sort_by_label(labels);
    batch.ranges = class_ranges(batch.set.labels, batch.set.labels);
    return batch;
  }
  const Tensor all = torch::empty({4 * count + 3}, labels.options());
  const auto part = [&](int64_t n) {
    return all.narrow(0, n * count, n < 4 ? count : 3);
  };
  const Tensor given = labels.contiguous();
  batch.set.order = part(0);
  batch.set.examples = batch.set.items = count;
  batch.ranges.first = part(1);
  batch.ranges.last = part(2);
  batch.ranges.slot = part(3);
  SmallSort sort;
  sort.labels = given.data_ptr<int64_t>();
  sort.count = count;
  sort.order = batch.set.order.data_ptr<int64_t>();
  sort.first = batch.ranges.first.data_ptr<int64_t>();
  sort.last = batch.ranges.last.data_ptr<int64_t>();
  sort.slot = batch.ranges.slot.data_ptr<int64_t>();
  sort.facts = part(4).data_ptr<int64_t>();
  sort_small_batch(sort, current_stream());
  batch.facts = Download(part(4));
  return batch;
}

void SortedBatch::finish() {
  const Tensor known = facts.get();
  if (known.defined()) set_facts(ranges, known);
}

std::vector<Stretch> cut(const SortedSet& set, int64_t length) {
  return cut(set, {0, set.examples, 0, set.items}, length);
}

std::vector<Stretch> cut(const SortedSet& set, const Stretch& part,
                         int64_t length) {
  std::vector<Stretch> stretches;
  if (!set.mixed()) {
    for (int64_t begin = part.begin; begin < part.end; begin += length) {
      const int64_t end = std::min(begin + length, part.end);
      stretches.push_back({begin, end, begin, end});
    }
    return stretches;
  }
  Stretch stretch = {part.begin, part.begin, part.item_begin, part.item_begin};
  for (const SortedSet::ClassEnd& end : set.classes) {
    if (end.example <= part.begin) continue;
    if (end.example > part.end) break;
    if (stretch.end > stretch.begin && end.example - stretch.begin > length) {
      stretches.push_back(stretch);
      stretch = {stretch.end, stretch.end, stretch.item_end, stretch.item_end};
    }
    stretch.end = end.example;
    stretch.item_end = end.item;
  }
  if (stretch.end > stretch.begin) stretches.push_back(stretch);
  return stretches;
}

Stretch cut_lane(const SortedSet& set, int64_t lane, int64_t lanes) {
  /// Where a lane begins: an example and an item.
  const auto begin_of = [&](int64_t n) -> SortedSet::ClassEnd {
    const int64_t even = set.examples * n / lanes;
    if (!set.mixed() || even == 0) return {even, even};
    const auto end = std::lower_bound(
        set.classes.begin(), set.classes.end(), even,
        [](const auto& one, int64_t example) { return one.example < example; });
    return *end;
  };
  const SortedSet::ClassEnd begin = begin_of(lane);
  const SortedSet::ClassEnd end = begin_of(lane + 1);
  return {begin.example, end.example, begin.item, end.item};
}

}  // namespace kith
