// How good embeddings are, and which are near: kith::metrics, kith::search.
#include <torch/library.h>
#include <torch/torch.h>

#include "kith/eval/evaluate.h"
#include "kith/eval/protocol.h"
#include "kith/index/flat.h"
#include "kith/ops/pairwise.h"
#include "python/ops/errors.h"

namespace kith::ops {
namespace {

using MaybeRows = decltype(std::declval<c10::IValue>().toOptional<Tensor>());

/// Embeddings as they are compared: float32, apart from their graph.
Tensor rows_of(const Tensor& embeddings, const char* what, bool normalize) {
  TORCH_CHECK_VALUE(embeddings.dim() == 2 && embeddings.size(1) > 0 &&
                        embeddings.is_floating_point(),
                    what, " must be floating point [N, D], got ",
                    embeddings.scalar_type(), " ", embeddings.sizes());
  const Tensor rows = embeddings.detach().to(at::kFloat).contiguous();
  return normalize ? normalize_rows(rows) : rows;
}

void check_alike(const Tensor& queries, const Tensor& gallery) {
  TORCH_CHECK_VALUE(gallery.size(1) == queries.size(1) &&
                        gallery.device() == queries.device(),
                    "the gallery has ", gallery.size(1), " numbers a row on ",
                    gallery.device(), ", but the queries have ",
                    queries.size(1), " on ", queries.device());
}

/// Names and values: a number, or [L] of a metric that is a list.
using NamedValues = std::tuple<std::vector<std::string>, std::vector<Tensor>>;

NamedValues metrics(const Tensor& embeddings, const Tensor& labels,
                    const c10::List<std::string>& names,
                    const MaybeRows& gallery, const MaybeRows& gallery_labels,
                    const MaybeRows& clusters, bool misses, int64_t seed,
                    int64_t memory_mb) {
  const torch::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(gallery.has_value() == gallery_labels.has_value(),
                    "gallery and gallery_labels belong together");
  TORCH_CHECK_VALUE(memory_mb > 0, "memory_mb must be positive, got ",
                    memory_mb);
  Scored scored;
  scored.queries = rows_of(embeddings, "embeddings", true);
  scored.query_labels = labels;
  if (gallery) {
    check_alike(embeddings, *gallery);
    scored.gallery = rows_of(*gallery, "the gallery", true);
    scored.gallery_labels = *gallery_labels;
  }
  EvaluateOptions options;
  options.misses = misses;
  options.seed = static_cast<uint64_t>(seed);
  options.memory_mb = memory_mb;
  options.clusters = clusters.value_or(Tensor());
  return for_python([&] {
    const std::vector<std::string> wanted(names.begin(), names.end());
    NamedValues values;
    const EvalResult result = evaluate(
        scored,
        parse_metrics(wanted.empty() ? usual_metrics("standard", "") : wanted),
        options);
    for (const MetricValue& metric : result.metrics) {
      std::get<0>(values).push_back(metric.name);
      std::get<1>(values).push_back(
          metric.list.empty() ? torch::tensor(metric.value, at::kDouble)
                              : torch::tensor(metric.list, at::kDouble));
    }
    return values;
  });
}

std::tuple<Tensor, Tensor> search(const Tensor& queries, const Tensor& gallery,
                                  int64_t k, const MaybeRows& excluded,
                                  bool normalize, int64_t memory_mb) {
  const torch::NoGradGuard no_grad;
  TORCH_CHECK_VALUE(k > 0, "k must be positive, got ", k);
  TORCH_CHECK_VALUE(memory_mb > 0, "memory_mb must be positive, got ",
                    memory_mb);
  const Tensor of_queries = rows_of(queries, "queries", normalize);
  const Tensor of_gallery = rows_of(gallery, "the gallery", normalize);
  check_alike(of_queries, of_gallery);
  return for_python([&]() -> std::tuple<Tensor, Tensor> {
    const Neighbours found =
        exact_search(of_queries, of_gallery, excluded.value_or(Tensor()),
                     {.k = k, .memory_mb = memory_mb});
    return {found.indices.to(queries.device()),
            found.similarities.to(queries.device())};
  });
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(kith, m) {
  m.def(
      ("metrics(Tensor embeddings, Tensor labels, str[] names, *, "
       "Tensor? gallery=None, Tensor? gallery_labels=None, "
       "Tensor? clusters=None, bool misses=False, int seed=0, int memory_mb=" +
       std::to_string(EvaluateOptions().memory_mb) + ") -> (str[], Tensor[])")
          .c_str());
  m.def(("search(Tensor queries, Tensor gallery, int k, *, "
         "Tensor? excluded=None, bool normalize=True, int memory_mb=" +
         std::to_string(SearchOptions().memory_mb) + ") -> (Tensor, Tensor)")
            .c_str());
}

TORCH_LIBRARY_IMPL(kith, CPU, m) {
  m.impl("metrics", metrics);
  m.impl("search", search);
}

TORCH_LIBRARY_IMPL(kith, CUDA, m) {
  m.impl("metrics", metrics);
  m.impl("search", search);
}

}  // namespace kith::ops
