#include "kith/report/look.h"

#include <algorithm>
#include <numeric>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/diagnostics.h"
#include "kith/eval/similarity_histogram.h"
#include "kith/eval/spectrum.h"
#include "kith/report/class_scores.h"
#include "kith/report/embedding_map.h"
#include "kith/report/gallery.h"
#include "kith/report/same_item.h"
#include "kith/report/thumbnails.h"

namespace kith {
namespace {

constexpr int64_t kBins = 80;                // of similarities
constexpr int64_t kHistogramQueries = 2000;  // enough for smooth shares
constexpr int kMapCell = 48;                 // pixels

/// Counts as shares of their sum, zeros if there are none. Returns the sum.
int64_t to_shares(const std::vector<int64_t>& counts,
                  std::vector<double>& shares) {
  const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (const int64_t count : counts) {
    shares.push_back(
        sum == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(sum));
  }
  return sum;
}

SimilarityHistogram histogram(const Scored& scored,
                              const LookOptions& options) {
  const SimilarityCounts counts = similarity_counts(
      scored, kBins, kHistogramQueries, options.seed, options.memory_mb);
  SimilarityHistogram result;
  result.positive_pairs = to_shares(counts.positive, result.positive);
  result.negative_pairs = to_shares(counts.negative, result.negative);
  result.queries = counts.queries;
  result.all_queries = scored.queries.count();
  return result;
}

std::vector<double> spectrum_of(const Scored& scored, int64_t memory_mb) {
  ScoredSet set;
  set.gallery = scored.gallery;
  set.memory_mb = memory_mb;
  return spectrum(set);
}

Diagnostics diagnose_all(const Scored& scored, const LookOptions& options) {
  DiagnosticsOptions wanted;
  wanted.hardest = scored.queries.count();
  wanted.pairs = options.confused;
  wanted.hubs = 0;
  wanted.k = 1;
  wanted.memory_mb = options.memory_mb;
  return diagnose(scored, wanted);
}

/// Fills everything but the map, and returns what went wrong. Pictures are
/// those of `first`, which has the same images.
Diagnostics look_at(SeenRun& run, const SeenRun& first,
                    const LookOptions& options, Thumbnails& thumbnails) {
  const EvalTask& task = run.split.tasks.front();
  const Scored scored = run.split.scored(task);
  Diagnostics diagnosis = diagnose_all(scored, options);
  RunInsight& insight = run.insight;
  insight.task = task.name;
  insight.similarities = histogram(scored, options);
  insight.spectrum = spectrum_of(scored, options.memory_mb);
  // Where lists say what is right, labels mean nothing: there are no classes.
  if (task.lists.empty()) {
    const ImageList& list = first.data->list();
    insight.classes = class_scores(diagnosis, list);
    insight.confused = confused_classes(diagnosis, first.split.tasks.front(),
                                        list, thumbnails);
  }
  return diagnosis;
}

void add_maps(const std::vector<SeenRun*>& runs, const LookOptions& options,
              ImageGroup& group) {
  const SeenRun& first = *runs.front();
  const EvalTask& shown = first.split.tasks.front();
  const std::vector<int64_t> items =
      draw_map_items(shown, options.map_points, options.seed);
  for (SeenRun* run : runs) {
    const EvalTask& task = run->split.tasks.front();
    std::vector<int64_t> own;
    for (const int64_t item : items) {
      own.push_back(same_item(shown, item, task));
    }
    run->insight.map = embedding_map(run->split, task, own, options.memory_mb);
    if (run != runs.front()) turn_like(first.insight.map, run->insight.map);
  }
  const ImageList& list = first.data->list();
  for (const int64_t position : items) {
    const Item& item = list.items[static_cast<size_t>(position)];
    group.map_items.push_back({list.class_name(item.label), item.path});
  }
  group.map_sheet = picture_sheet(*first.data, items, kMapCell);
}

bool same_items(const ImageList& a, const std::vector<int64_t>& of_a,
                const ImageList& b, const std::vector<int64_t>& of_b) {
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                    [&](int64_t i, int64_t j) {
                      const Item& x = a.items[static_cast<size_t>(i)];
                      const Item& y = b.items[static_cast<size_t>(j)];
                      return x.path == y.path && x.label == y.label;
                    });
}

}  // namespace

bool same_images(const SeenRun& a, const SeenRun& b) {
  const EvalTask& x = a.split.tasks.front();
  const EvalTask& y = b.split.tasks.front();
  const ImageList& of_a = a.data->list();
  const ImageList& of_b = b.data->list();
  return same_items(of_a, x.queries, of_b, y.queries) &&
         same_items(of_a, x.gallery, of_b, y.gallery);
}

ImageGroup look_at_group(const std::vector<SeenRun*>& runs,
                         const LookOptions& options) {
  KITH_ASSERT(!runs.empty());
  const torch::NoGradGuard no_grad;
  ImageGroup group;
  group.runs.resize(runs.size());
  std::iota(group.runs.begin(), group.runs.end(), size_t{0});
  Thumbnails thumbnails(*runs.front()->data,
                        static_cast<int>(options.thumbnail));
  std::vector<Diagnostics> diagnoses;
  for (SeenRun* run : runs) {
    diagnoses.push_back(look_at(*run, *runs.front(), options, thumbnails));
  }
  group.galleries = make_galleries(runs, diagnoses, options, thumbnails);
  group.album = thumbnails.album();
  add_maps(runs, options, group);
  return group;
}

}  // namespace kith
