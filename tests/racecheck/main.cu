// What compute-sanitizer watches: every row kernel and every other kernel of
// kith on small batches, without LibTorch, which takes minutes to start under
// it. scripts/racecheck runs it.

#include <cstdio>
#include <exception>
#include <string>

#include "tests/racecheck/check.h"

namespace kith::racecheck {

std::vector<Check>& checks() {
  static std::vector<Check> all;
  return all;
}

namespace {

/// A race of two lanes, with only a shuffle between: lane 0 of the next slot
/// adds to what another may not have cleared yet.
__global__ void racing_kernel(int* out) {
  __shared__ int slots[33];
  const int lane = threadIdx.x;
  slots[lane] = 0;
  const int other = __shfl_xor_sync(0xffffffffu, lane, 1);
  slots[(lane + 1) % 32] += other;
  __syncwarp();
  out[lane] = slots[lane];
}

/// For the script to see that races are seen.
void race() {
  const Shared<int> out(32);
  racing_kernel<<<1, 32>>>(out.data());
  finish();
}

int run_all() {
  int wrong = 0;
  for (const Check& check : checks()) {
    const bool right = check.run();
    std::printf("%-28s %s\n", check.name.c_str(), right ? "ok" : "WRONG");
    if (!right) ++wrong;
  }
  std::printf("%zu checks, %d wrong\n", checks().size(), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kith::racecheck

int main(int count, char** arguments) {
  try {
    if (count == 2 && std::string(arguments[1]) == "--race") {
      kith::racecheck::race();
      return 0;
    }
    return kith::racecheck::run_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
