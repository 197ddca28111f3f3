#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "kith/miners/miner.h"

namespace kith {

/// A miner from YAML, such as "{name: semihard, margin: 0}".
inline std::unique_ptr<Miner> make_miner(const std::string& yaml) {
  return miner_registry().make(parse_config(yaml, "test"), "miner");
}

using Row = std::vector<int64_t>;

/// The rows of an int64 matrix, in its order.
inline std::vector<Row> rows_of(const Tensor& tuples) {
  const Tensor host = tuples.cpu().contiguous();
  const int64_t* values = host.data_ptr<int64_t>();
  std::vector<Row> rows;
  for (int64_t i = 0; i < host.size(0); ++i) {
    rows.emplace_back(values + i * host.size(1),
                      values + (i + 1) * host.size(1));
  }
  return rows;
}

/// The same sorted: sets of tuples, with repetitions.
inline std::vector<Row> sorted_rows(const Tensor& tuples) {
  std::vector<Row> rows = rows_of(tuples);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace kith
