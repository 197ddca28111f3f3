#include "kith/ops/rank_kernels.h"

namespace kith {

const RankKernels kCudaRanks = {};

}  // namespace kith
