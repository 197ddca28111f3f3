#pragma once

#include <cstdint>
#include <vector>

#include "kith/data/image_list.h"
#include "kith/eval/diagnostics.h"
#include "kith/eval/protocol.h"
#include "kith/report/insight.h"
#include "kith/report/thumbnails.h"

namespace kith {

/// Recall@1 and mean average precision of the queries of each class, by rising
/// label. Queries without positives do not count, and a class without others is
/// left out.
std::vector<ClassScore> class_scores(const Diagnostics& diagnostics,
                                     const ImageList& list);

/// The confused pairs of `diagnostics` of a task, each with a picture of a
/// query and of what it found: the most similar two.
std::vector<ConfusedClasses> confused_classes(const Diagnostics& diagnostics,
                                              const EvalTask& task,
                                              const ImageList& list,
                                              Thumbnails& thumbnails);

}  // namespace kith
