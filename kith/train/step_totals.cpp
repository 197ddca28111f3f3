#include "kith/train/step_totals.h"

#include <algorithm>
#include <cstdio>

namespace kith {

void StepTotals::add(const StepRecord& record) {
  const auto add_phase = [](Phase& sum, const Phase& phase) {
    sum.seconds += phase.seconds;
    sum.peak_bytes = std::max(sum.peak_bytes, phase.peak_bytes);
  };
  ++steps_;
  images_ += record.images;
  sampler_seconds_ += record.sampler_seconds;
  add_phase(sum_.data, record.phases.data);
  add_phase(sum_.forward, record.phases.forward);
  add_phase(sum_.loss, record.phases.loss);
  add_phase(sum_.backward, record.phases.backward);
  add_phase(sum_.optimizer, record.phases.optimizer);
}

std::string StepTotals::summary() const {
  const double seconds = std::max(sum_.seconds(), 1e-9);
  char text[128];
  std::snprintf(text, sizeof(text), "%lld steps in %.1f s, %.0f images/s (",
                static_cast<long long>(steps_), seconds,
                static_cast<double>(images_) / seconds);
  std::string line = text;
  std::string memory;
  for (const auto& [name, phase] : sum_.all()) {
    const char* comma = memory.empty() ? "" : ", ";
    std::snprintf(text, sizeof(text), "%s%s %.1f%%", comma, name,
                  100 * phase.seconds / seconds);
    line += text;
    std::snprintf(text, sizeof(text), "%s%s %.2f", comma, name,
                  static_cast<double>(phase.peak_bytes) / (1 << 30));
    memory += text;
  }
  std::snprintf(text, sizeof(text), "); memory at most %.2f GB (",
                static_cast<double>(sum_.peak_bytes()) / (1 << 30));
  line += text + memory + ")";
  std::snprintf(text, sizeof(text), "; batches chosen in %.2f s",
                sampler_seconds_);
  return line + text;
}

}  // namespace kith
