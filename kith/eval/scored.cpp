#include "kith/eval/scored.h"

#include "kith/index/products.h"
#include "kith/index/shared_rows.h"

namespace kith {

Scored checked_scored(Scored scored) {
  TORCH_CHECK_VALUE(scored.queries.defined(), "there are no queries to score");
  const int64_t queries = scored.queries.count();
  scored.query_labels =
      row_numbers(scored.query_labels, queries, "labels of queries");
  const int64_t items =
      scored.gallery.defined() ? scored.gallery.count() : queries;
  scored.self = row_positions(scored.self, queries, items, "places of queries");
  if (scored.gallery.defined()) {
    scored.gallery_labels =
        row_numbers(scored.gallery_labels, scored.gallery.count(),
                    "labels of gallery items");
  }
  const auto check = [](const Rows& rows, const char* what) {
    const Tensor all = rows.defined() ? rows.in_memory() : Tensor();
    if (all.defined()) longest_row(all, what, 0);
  };
  check(scored.queries, "query");
  if (!scored.gallery.same_as(scored.queries)) {
    check(scored.gallery, "gallery item");
  }
  return scored;
}

Scored divided_scored(Scored scored, Communicator& ranks) {
  const bool apart =
      scored.gallery.defined() && !scored.gallery.same_as(scored.queries);
  Rows& gallery = apart ? scored.gallery : scored.queries;
  if (gallery.shard() == nullptr) gallery = divided_rows(gallery, ranks);
  // The same rows stay the same: each pair's similarity is computed once.
  if (!apart && scored.gallery.defined()) scored.gallery = scored.queries;
  return scored;
}

}  // namespace kith
