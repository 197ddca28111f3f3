#pragma once

#include <memory>

#include "kith/index/rows.h"

namespace kith {

/// What rows come from.
class Rows::Source {
 public:
  Source(int64_t rows, int64_t columns, c10::Device where)
      : count(rows), dim(columns), device(where) {}
  virtual ~Source() = default;

  virtual Tensor read(int64_t first, int64_t rows) const = 0;
  virtual Tensor in_memory() const { return {}; }
  virtual const RowShard* shard() const { return nullptr; }
  virtual std::shared_ptr<const Source> on(c10::Device where) const = 0;

  const int64_t count;
  const int64_t dim;
  const c10::Device device;
};

}  // namespace kith
