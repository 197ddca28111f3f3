#include "cli/dry_run.h"

#include <nlohmann/json.hpp>

#include "kith/core/memory.h"
#include "kith/core/number_text.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

std::string gb_text(int64_t bytes) {
  return format_fixed(static_cast<double>(bytes) / (1 << 30), 2);
}

double images_a_second(const DryRun& result) {
  return static_cast<double>(result.step.images) / result.step.phases.seconds();
}

}  // namespace

std::string dry_run_text(const DryRun& r) {
  const Phases& phases = r.step.phases;
  std::string seconds;
  std::string peaks;
  for (const auto& [name, phase] : phases.all()) {
    const std::string separator = seconds.empty() ? "" : ", ";
    seconds += separator + name + " " + format_fixed(phase.seconds, 3);
    peaks += separator + name + " " + gb_text(phase.peak_bytes);
  }
  const double step_seconds = phases.seconds();
  return "steps      " + std::to_string(r.steps) + ", " +
         std::to_string(r.steps_an_epoch) + " an epoch, of " +
         std::to_string(r.step.images) + " images each\n" +  //
         "a step     " + format_fixed(step_seconds, 3) + " s, " +
         format_fixed(images_a_second(r), 0) + " images/s (" + seconds +
         ")\n" +  //
         "chunks     " + std::to_string(r.chunks) + "; " +
         std::to_string(r.graphs_kept) +
         " are computed once, the others twice\n" +  //
         "memory     " + gb_text(phases.peak_bytes()) + " GB at most (" +
         peaks + "); host " + gb_text(peak_resident_bytes().value_or(0)) +
         " GB\n" +  //
         "time       " + rough_duration_text(r.seconds) + ": " +
         rough_duration_text(static_cast<double>(r.steps) * step_seconds) +
         " for steps, " + rough_duration_text(r.eval_seconds) +
         " for each of " + std::to_string(r.evaluations) + " evaluations of " +
         std::to_string(r.eval_images) + " images\n";
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
