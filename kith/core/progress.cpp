#include "kith/core/progress.h"

namespace kith {
namespace {

class SilentProgress final : public Progress {
 public:
  void start(const std::string&, int64_t) override {}
  void advance(int64_t, const std::string&) override {}
  void finish() override {}
};

}  // namespace

Progress::~Progress() = default;

void Progress::set_pace(const Pace&) {}

Progress& silent_progress() {
  static SilentProgress silent;
  return silent;
}

}  // namespace kith
