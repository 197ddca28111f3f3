#include "tests/fuzz/harness.h"

namespace kith {

bool run_libfuzzer(const Harness&, std::vector<std::string>) { return false; }

}  // namespace kith
