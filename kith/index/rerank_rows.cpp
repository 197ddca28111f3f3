#include "kith/index/rerank_rows.h"

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/flat.h"
#include "kith/index/row_blocks.h"
#include "kith/index/shared_rows.h"

namespace kith {
namespace {

/// Other rows, which are divided among ranks if these are.
Rows divided_as(const Rows& these, const Rows& others) {
  return these.shard() == nullptr ? others
                                  : divided_rows(others, *these.shard()->ranks);
}

void check_room(const RerankStep& step, const Rows& rows, int64_t memory_mb) {
  const int64_t bytes = 4 * rows.count() * rows.dim();
  if (rows.in_memory().defined() || bytes <= memory_mb << 20) return;
  throw ConfigError("re-ranking " + step.text + " makes " +
                    std::to_string((bytes >> 20) + 1) +
                    " MB of new vectors, which must be in memory, and " +
                    std::to_string(memory_mb) + " MB are allowed: allow more");
}

}  // namespace

Rows rows_before(const Rows& queries, const std::vector<int64_t>& positions,
                 const RerankSet& set) {
  const Rows& gallery = set.gallery;
  const bool all = std::ssize(positions) == queries.count();
  const int64_t block = rows_within(set.memory_mb, 16 * queries.dim());
  const Rows own = all ? queries : Rows(gather_rows(queries, positions, block));
  const Tensor first = own.in_memory();
  const Tensor rest = gallery.in_memory();
  const bool in_memory = first.defined() && rest.defined();
  return divided_as(gallery,
                    in_memory ? Rows(torch::cat({first, rest}))
                              : joined_rows(own, gallery).on(gallery.device()));
}

RerankSet with_new_vectors(const RerankStep& step, const VectorReranker& part,
                           RerankSet set) {
  const bool of_gallery = part.side() == VectorReranker::Side::kGallery;
  const Rows old = of_gallery ? set.gallery : set.queries;
  check_room(step, old, set.memory_mb);
  const Tensor own =
      of_gallery ? torch::arange(old.count(), at::kLong) : set.self;
  const Neighbours found =
      exact_search(old, set.gallery, own, {part.neighbours(), set.memory_mb});
  const int64_t k = found.indices.size(1);
  Tensor rows = torch::empty({old.count(), old.dim()},
                             torch::TensorOptions(old.device()));
  const int64_t step_rows = rows_within(set.memory_mb, 8 * (k + 4) * old.dim());
  for_each_block(old, step_rows, [&](int64_t first, const Tensor& block) {
    const int64_t n = block.size(0);
    const Tensor at = found.indices.narrow(0, first, n).contiguous();
    const std::vector<int64_t> positions(at.data_ptr<int64_t>(),
                                         at.data_ptr<int64_t>() + at.numel());
    const Tensor near = gather_rows(set.gallery, positions,
                                    rows_within(set.memory_mb, 16 * old.dim()))
                            .view({n, k, old.dim()});
    rows.narrow(0, first, n)
        .copy_(sum_with(part, block, near,
                        found.similarities.narrow(0, first, n)));
  });
  (of_gallery ? set.gallery : set.queries) =
      of_gallery ? divided_as(old, rows) : Rows(rows);
  return set;
}

Tensor sum_with(const VectorReranker& part, const Tensor& rows,
                const Tensor& near, const Tensor& similarities) {
  const Tensor weights = part.weights(similarities).to(rows.device());
  Tensor sum = rows.to(at::kDouble);
  for (int64_t j = 0; j < near.size(1); ++j) {
    sum = sum + weights.narrow(1, j, 1) * near.select(1, j);
  }
  return (sum / sum.norm(2, {1}, /*keepdim=*/true)).to(at::kFloat);
}

}  // namespace kith
