#include "kith/eval/scored.h"

#include "kith/index/products.h"

namespace kith {

void check_scored(const Scored& scored) {
  const auto check = [](const Rows& rows, const char* what) {
    const Tensor all = rows.defined() ? rows.in_memory() : Tensor();
    if (all.defined()) longest_row(all, what, 0);
  };
  check(scored.queries, "query");
  if (!scored.gallery.same_as(scored.queries)) {
    check(scored.gallery, "gallery item");
  }
}

}  // namespace kith
