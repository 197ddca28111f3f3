#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/data/data_set.h"
#include "kith/eval/embedded_split.h"
#include "kith/models/embedding_net.h"
#include "kith/report/insight.h"
#include "kith/run/diagnostics_file.h"

namespace kith {

/// A run whose evaluation split is embedded. Pictures are shown of the first
/// task, the one part of most protocols.
struct EmbeddedRun {
  const DataSet* data = nullptr;
  EmbeddedSplit split;
  /// That were found by pixels; null: nothing is known of them.
  const StoredDuplicates* duplicates = nullptr;
  RunInsight insight = {};  ///< Filled by the functions below.
};

/// Fills `insight.activations`, which needs the network: of queries drawn with
/// the seed, the first ones of the random examples.
void add_activations(EmbeddingNet& net, const DataSet& data,
                     const EmbeddedSplit& split, const InsightOptions& options,
                     RunInsight& insight);

/// Whether two runs are tested with the same images: the same queries among
/// the same gallery, by path and label.
bool same_images(const EmbeddedRun& a, const EmbeddedRun& b);

/// The item of a task `to` that has the place of `item` in the task `from`.
/// Both have the same images, whose positions in two lists may differ: one data
/// set may hold training images that the other leaves out.
int64_t same_item(const EvalTask& from, int64_t item, const EvalTask& to);

/// Everything that embeddings show, for runs with the same images: fills the
/// `insight` of each and returns their examples. The third set, "most
/// improved", is there with two runs or more: by the gain in average precision
/// of the last run against the first. `runs` of the group are places in the
/// given ones. RunError if embeddings are not finite.
ImageGroup make_image_group(const std::vector<EmbeddedRun*>& runs,
                            const InsightOptions& options);

}  // namespace kith
