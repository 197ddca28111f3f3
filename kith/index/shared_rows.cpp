#include "kith/index/shared_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <torch/torch.h>

#include "kith/index/row_source.h"

namespace kith {
namespace {

class SharedRows final : public Rows::Source {
 public:
  SharedRows(int64_t rows, RowShard shard)
      : Source(rows, shard.mine.dim(), shard.mine.device()),
        shard_(std::move(shard)) {}

  Tensor read(int64_t first, int64_t rows) const override {
    const int64_t border = shard_.first + shard_.mine.count();
    const int64_t begin = std::clamp(first, shard_.first, border);
    const int64_t end = std::clamp(first + rows, begin, border);
    return shard_.ranks->all_gather(
        shard_.mine.read(begin - shard_.first, end - begin));
  }
  const RowShard* shard() const override { return &shard_; }
  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<SharedRows>(
        count, RowShard{shard_.mine.on(where), shard_.first, shard_.ranks});
  }

 private:
  RowShard shard_;
};

/// Some neighbours of other rows.
class RowRange final : public Rows::Source {
 public:
  RowRange(Rows all, int64_t first, int64_t rows)
      : Source(rows, all.dim(), all.device()),
        all_(std::move(all)),
        first_(first) {}

  Tensor read(int64_t first, int64_t rows) const override {
    return all_.read(first_ + first, rows);
  }
  Tensor in_memory() const override {
    const Tensor all = all_.in_memory();
    return all.defined() ? all.narrow(0, first_, count) : all;
  }
  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<RowRange>(all_.on(where), first_, count);
  }

 private:
  Rows all_;
  int64_t first_;
};

class DividedRows final : public Rows::Source {
 public:
  DividedRows(Rows all, RowShard shard)
      : Source(all.count(), all.dim(), all.device()),
        all_(std::move(all)),
        shard_(std::move(shard)) {}

  Tensor read(int64_t first, int64_t rows) const override {
    return all_.read(first, rows);
  }
  Tensor in_memory() const override { return all_.in_memory(); }
  const RowShard* shard() const override { return &shard_; }
  std::shared_ptr<const Source> on(c10::Device where) const override {
    return std::make_shared<DividedRows>(
        all_.on(where),
        RowShard{shard_.mine.on(where), shard_.first, shard_.ranks});
  }

 private:
  Rows all_;
  RowShard shard_;
};

}  // namespace

Rows shared_rows(const Tensor& mine, Communicator& ranks) {
  if (ranks.is_alone()) return mine;
  const Rows rows(mine);
  const Tensor counts =
      ranks.all_gather(torch::tensor({rows.count()}, torch::kLong));
  const int64_t* count = counts.data_ptr<int64_t>();
  const int64_t first =
      std::accumulate(count, count + ranks.rank(), int64_t{0});
  const int64_t all = std::accumulate(count, count + ranks.size(), int64_t{0});
  return Rows(std::make_shared<SharedRows>(all, RowShard{rows, first, &ranks}));
}

Rows divided_rows(const Rows& all, Communicator& ranks) {
  if (ranks.is_alone()) return all;
  const int64_t first = all.count() * ranks.rank() / ranks.size();
  const int64_t last = all.count() * (ranks.rank() + 1) / ranks.size();
  const Rows mine(std::make_shared<RowRange>(all, first, last - first));
  return Rows(
      std::make_shared<DividedRows>(all, RowShard{mine, first, &ranks}));
}

}  // namespace kith
