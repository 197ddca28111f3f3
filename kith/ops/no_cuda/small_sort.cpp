#include "kith/ops/small_sort.h"

namespace kith {

int64_t most_for_small_sort() { return 0; }
void sort_small_batch(const SmallSort&, void*) {}

}  // namespace kith
