#include "kith/report/image_group.h"

#include <algorithm>
#include <numeric>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/diagnostics.h"
#include "kith/eval/similarity_histogram.h"
#include "kith/eval/spectrum.h"
#include "kith/report/class_scores.h"
#include "kith/report/embedding_scatter.h"
#include "kith/report/examples.h"
#include "kith/report/retrieval_faults.h"
#include "kith/report/thumbnails.h"

namespace kith {
namespace {

constexpr int64_t kListedHubs = 8;
constexpr int64_t kListedPairs = 8;          // look-alikes and duplicates
constexpr int64_t kBins = 80;                // of similarities
constexpr int64_t kHistogramQueries = 2000;  // enough for smooth shares
constexpr int kScatterCell = 48;             // pixels
constexpr int64_t kMostScatterPoints = 3000;

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
                              const InsightOptions& options) {
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

Diagnostics diagnose_all(const Scored& scored, const InsightOptions& options) {
  DiagnosticsOptions wanted;
  wanted.hardest = scored.queries.count();
  wanted.pairs = options.confused;
  wanted.hubs = kListedHubs;
  wanted.memory_mb = options.memory_mb;
  return diagnose(scored, wanted);
}

/// Fills everything but the scatter, and returns what went wrong. Pictures are
/// those of `first`, which has the same images.
Diagnostics fill_insight(EmbeddedRun& run, const EmbeddedRun& first,
                         const InsightOptions& options,
                         Thumbnails& thumbnails) {
  const EvalTask& task = run.split.tasks.front();
  const EvalTask& shown = first.split.tasks.front();
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
    insight.confused = confused_classes(diagnosis, shown, list, thumbnails);
    insight.lookalikes =
        lookalikes_of(diagnosis, shown, kListedPairs, thumbnails);
  }
  insight.first_right = first_right_of(diagnosis);
  insight.hubs = hubs_of(diagnosis, shown, thumbnails);
  if (run.duplicates != nullptr) {
    insight.duplicates = duplicate_pictures(*run.duplicates, first.data->list(),
                                            kListedPairs, thumbnails);
  }
  return diagnosis;
}

void add_scatters(const std::vector<EmbeddedRun*>& runs,
                  const InsightOptions& options, ImageGroup& group) {
  const EmbeddedRun& first = *runs.front();
  const EvalTask& shown = first.split.tasks.front();
  const std::vector<int64_t> items = draw_scatter_items(
      shown, std::min(options.scatter_points, kMostScatterPoints),
      options.seed);
  group.scatter_all = count_scatter_items(shown);
  for (EmbeddedRun* run : runs) {
    const EvalTask& task = run->split.tasks.front();
    std::vector<int64_t> own;
    for (const int64_t item : items) {
      own.push_back(same_item(shown, item, task));
    }
    run->insight.scatter =
        embedding_scatter(run->split, task, own, options.memory_mb);
    if (run != runs.front())
      turn_like(first.insight.scatter, run->insight.scatter);
    add_map(run->split, own, run->insight.scatter);
  }
  const ImageList& list = first.data->list();
  for (const int64_t position : items) {
    const Item& item = list.items[static_cast<size_t>(position)];
    group.scatter_items.push_back({list.class_name(item.label), item.path});
  }
  group.scatter_sheet = picture_sheet(*first.data, items, kScatterCell);
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

int64_t same_item(const EvalTask& from, int64_t item, const EvalTask& to) {
  const bool in_gallery =
      std::binary_search(from.gallery.begin(), from.gallery.end(), item);
  const auto& items = in_gallery ? from.gallery : from.queries;
  const auto found = std::lower_bound(items.begin(), items.end(), item);
  KITH_ASSERT(found != items.end() && *found == item);
  return (in_gallery ? to.gallery
                     : to.queries)[static_cast<size_t>(found - items.begin())];
}

bool same_images(const EmbeddedRun& a, const EmbeddedRun& b) {
  const EvalTask& x = a.split.tasks.front();
  const EvalTask& y = b.split.tasks.front();
  const ImageList& of_a = a.data->list();
  const ImageList& of_b = b.data->list();
  return same_items(of_a, x.queries, of_b, y.queries) &&
         same_items(of_a, x.gallery, of_b, y.gallery);
}

ImageGroup make_image_group(const std::vector<EmbeddedRun*>& runs,
                            const InsightOptions& options) {
  KITH_ASSERT(!runs.empty());
  const torch::NoGradGuard no_grad;
  ImageGroup group;
  group.runs.resize(runs.size());
  std::iota(group.runs.begin(), group.runs.end(), size_t{0});
  Thumbnails thumbnails(*runs.front()->data,
                        static_cast<int>(options.thumbnail));
  std::vector<Diagnostics> diagnoses;
  for (EmbeddedRun* run : runs) {
    diagnoses.push_back(fill_insight(*run, *runs.front(), options, thumbnails));
  }
  group.examples = make_examples(runs, diagnoses, options, thumbnails);
  group.album = thumbnails.album();
  add_scatters(runs, options, group);
  return group;
}

}  // namespace kith
