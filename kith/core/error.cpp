#include "kith/core/error.h"

namespace kith {

void assertion_failed(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string("bug in kith: ") + condition + " at " +
                         file + ":" + std::to_string(line));
}

}  // namespace kith
