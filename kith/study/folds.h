#pragma once

#include <string>

#include <c10/core/Device.h>

#include "kith/core/progress.h"
#include "kith/eval/evaluate.h"

namespace kith {

/// Scores networks that were trained on the folds of a run (`train.folds`), in
/// folder/fold-1, folder/fold-2, ..., on the test split: each by its best
/// checkpoint, all by their protocol and metrics.
///
///     separated/metric      mean over the networks
///     concatenated/metric   of the unit embeddings side by side, unit again
///
/// Each network's embeddings are kept in fold-i/test.npy and used again for the
/// same network and pictures (fold-i/test.json). Writes folder/metrics.json, as
/// a training does, with the mark of each fold's training (training_mark).
/// Metrics that are lists are left out. DataError, with the folder, if a fold
/// is missing, is not finished or does not belong to the others.
EvalResult score_folds(const std::string& folder, c10::Device device,
                       Progress& progress);

}  // namespace kith
