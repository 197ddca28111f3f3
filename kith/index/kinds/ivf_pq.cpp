#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/faiss_index.h"
#include "kith/index/kinds.h"

namespace kith {
namespace {

/// Rows that a centre should see in training, at least.
constexpr int64_t kRowsACentre = 39;

/// The largest divisor of `dim` that is at most `most`.
int64_t divisor(int64_t dim, int64_t most) {
  int64_t d = std::max<int64_t>(most, 1);
  while (dim % d != 0) --d;
  return d;
}

}  // namespace

void IvfPqOptions::describe(OptionSet& set) {
  set.add("lists", lists,
          "Lists that the vectors are divided into; 0: about 4 sqrt(N).")
      .range(0, 1 << 24);
  set.add("subvectors", subvectors,
          "Pieces a vector is coded in, a divisor of its dimension; 0: about "
          "one for 8 numbers.")
      .range(0);
  set.add("bits", bits, "Bits of the code of a piece.").range(4, 12);
  set.add("probes", probes,
          "Lists that a search looks into; 0: a sixteenth, from 8 to 64.")
      .range(0, 1 << 24);
  set.add("training_rows", training_rows,
          "Vectors to train with, drawn at random; 0: 64 a list, and 64 a "
          "code.")
      .range(0);
}

IvfPqIndex::IvfPqIndex(Options options, const VectorIndexInput& input)
    : options_(checked(std::move(options), "ivf_pq")), input_(input) {
  require_faiss("ivf_pq");
  TORCH_CHECK_VALUE(input.dim > 0, "an index needs a dimension, got ",
                    input.dim);
  if (options_.subvectors > 0 && input.dim % options_.subvectors != 0) {
    throw ConfigError(
        "index ivf_pq: subvectors " + std::to_string(options_.subvectors) +
        " does not divide the dimension " + std::to_string(input.dim) + "; " +
        std::to_string(
            divisor(input.dim, std::min(options_.subvectors, input.dim))) +
        " does");
  }
  if (input.expected > 0) check_enough(training_rows());
}

int64_t IvfPqIndex::training_rows() const {
  if (options_.training_rows > 0) {
    return input_.expected > 0
               ? std::min(options_.training_rows, input_.expected)
               : options_.training_rows;
  }
  const int64_t n = input_.expected > 0 ? input_.expected : int64_t{1} << 20;
  const int64_t wanted = 64 * std::max(lists(n), int64_t{1} << options_.bits);
  return std::min(n, wanted);
}

void IvfPqIndex::train(const Tensor& rows) {
  const int64_t n = input_.expected > 0 ? input_.expected : rows.size(0);
  IvfPqShape shape;
  shape.dim = dim();
  shape.lists = lists(n);
  shape.subvectors =
      options_.subvectors > 0 ? options_.subvectors : divisor(dim(), dim() / 8);
  shape.bits = options_.bits;
  shape.probes = std::min(options_.probes > 0
                              ? options_.probes
                              : std::clamp<int64_t>(shape.lists / 16, 8, 64),
                          shape.lists);
  shape.seed = input_.seed;
  check_enough(rows.size(0));
  auto made = make_faiss_ivf_pq(shape);
  made->train(rows);  // or throws, and what there was stays
  index_ = std::move(made);
}

void IvfPqIndex::check_enough(int64_t rows) const {
  const int64_t n = input_.expected > 0 ? input_.expected : rows;
  const int64_t least = std::max(lists(n), int64_t{1} << options_.bits);
  if (rows >= least) return;
  throw ConfigError("index ivf_pq: " + std::to_string(rows) +
                    " vectors to train with, at least " +
                    std::to_string(least) +
                    " are needed (lists, and 2^bits); so few are found "
                    "fastest by an index of kind exact");
}

int64_t IvfPqIndex::lists(int64_t n) const {
  if (options_.lists > 0) return options_.lists;
  const auto wanted =
      static_cast<int64_t>(std::lround(4 * std::sqrt(static_cast<double>(n))));
  return std::max<int64_t>(std::min(wanted, n / kRowsACentre), 1);
}

VectorIndex& IvfPqIndex::trained() const {
  TORCH_CHECK_VALUE(index_ != nullptr,
                    "an index of kind ivf_pq has no vectors before train(), "
                    "which comes before the first add()");
  return *index_;
}

KITH_REGISTER(vector_index_registry(), "ivf_pq", IvfPqIndex);

}  // namespace kith
