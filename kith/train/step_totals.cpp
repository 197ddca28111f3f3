#include "kith/train/step_totals.h"

#include <algorithm>

#include "kith/core/number_text.h"

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
  const auto in_gb = [](int64_t bytes) {
    return format_fixed(static_cast<double>(bytes) / (1 << 30), 2);
  };
  std::string line = std::to_string(steps_) + " steps in " +
                     format_fixed(seconds, 1) + " s, " +
                     format_fixed(static_cast<double>(images_) / seconds, 0) +
                     " images/s (";
  std::string memory;
  for (const auto& [name, phase] : sum_.all()) {
    const std::string word = (memory.empty() ? "" : ", ") + std::string(name);
    line += word + " " + format_fixed(100 * phase.seconds / seconds, 1) + "%";
    memory += word + " " + in_gb(phase.peak_bytes);
  }
  return line + "); memory at most " + in_gb(sum_.peak_bytes()) + " GB (" +
         memory + "); batches chosen in " + format_fixed(sampler_seconds_, 2) +
         " s";
}

}  // namespace kith
