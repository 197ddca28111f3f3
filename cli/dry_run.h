#pragma once

#include <string>

#include "kith/train/trainer.h"

namespace kith {

/// What `kith train --dry-run` prints: steps, time and memory of a run.
std::string dry_run_text(const DryRun& result);
std::string dry_run_json(const DryRun& result);

}  // namespace kith
