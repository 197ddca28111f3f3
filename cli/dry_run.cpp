#include "cli/dry_run.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "kith/core/memory.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

std::string format(const char* pattern, auto... values) {
  char text[512];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

/// "45 s", "12 min", "3 h 20 min"
std::string duration(double seconds) {
  if (seconds < 100) return format("%.0f s", seconds);
  const auto minutes = static_cast<long long>(seconds / 60 + 0.5);
  if (minutes < 60) return format("%lld min", minutes);
  return format("%lld h %lld min", minutes / 60, minutes % 60);
}

double in_gb(int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(1 << 30);
}

double images_a_second(const DryRun& result) {
  return static_cast<double>(result.step.images) / result.step.phases.seconds();
}

}  // namespace

std::string dry_run_text(const DryRun& r) {
  const Phases& phases = r.step.phases;
  std::string text = format(
      "steps      %lld, %lld an epoch, of %lld images each\n",
      static_cast<long long>(r.steps), static_cast<long long>(r.steps_an_epoch),
      static_cast<long long>(r.step.images));
  text += format("a step     %.3f s, %.0f images/s (", phases.seconds(),
                 images_a_second(r));
  std::string separator;
  for (const auto& [name, phase] : phases.all()) {
    text += separator + format("%s %.3f", name, phase.seconds);
    separator = ", ";
  }
  text += ")\n";
  text += format("chunks     %lld; %lld are computed once, the others twice\n",
                 static_cast<long long>(r.chunks),
                 static_cast<long long>(r.graphs_kept));
  text += format("memory     %.2f GB at most (", in_gb(phases.peak_bytes()));
  separator.clear();
  for (const auto& [name, phase] : phases.all()) {
    text += separator + format("%s %.2f", name, in_gb(phase.peak_bytes));
    separator = ", ";
  }
  text += format("); host %.2f GB\n", in_gb(peak_resident_bytes().value_or(0)));
  text += format(
      "time       %s: %s for steps, %s for each of %lld evaluations of %lld "
      "images\n",
      duration(r.seconds).c_str(),
      duration(static_cast<double>(r.steps) * phases.seconds()).c_str(),
      duration(r.eval_seconds).c_str(), static_cast<long long>(r.evaluations),
      static_cast<long long>(r.eval_images));
  return text;
}

std::string dry_run_json(const DryRun& r) {
  Json seconds;
  Json peak;
  for (const auto& [name, phase] : r.step.phases.all()) {
    seconds[name] = phase.seconds;
    peak[name] = phase.peak_bytes >> 20;
  }
  return Json({{"steps", r.steps},
               {"steps_an_epoch", r.steps_an_epoch},
               {"images_a_step", r.step.images},
               {"step_seconds", seconds},
               {"images_per_second", images_a_second(r)},
               {"sub_batch", r.sub_batch},
               {"chunks", r.chunks},
               {"graphs_kept", r.graphs_kept},
               {"peak_mb", peak},
               {"host_peak_mb", peak_resident_bytes().value_or(0) >> 20},
               {"evaluations", r.evaluations},
               {"eval_images", r.eval_images},
               {"eval_seconds", r.eval_seconds},
               {"seconds", r.seconds}})
      .dump(2);
}

}  // namespace kith
