#include "kith/losses/quadruplet.h"

#include <algorithm>
#include <tuple>

#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/losses/reduction.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

/// Positions [T], and whether there is one [T] bool.
struct SecondNegatives {
  Tensor position;
  Tensor exists;
};

/// Where the examples of each one's class are in an order of the batch by
/// classes. Classes come in the order of their first examples, so that labels
/// are only names.
struct ClassOrder {
  Tensor order;  ///< [M] positions in the batch.
  Tensor begin;  ///< [M] by position in the batch: where its class begins,
  Tensor size;   ///< [M] and how large it is.
};

ClassOrder order_by_class(const Tensor& labels) {
  const auto [sorted, place] = labels.sort(/*stable=*/true, 0, false);
  const Tensor first =
      place.index_select(0, torch::searchsorted(sorted, labels));
  ClassOrder classes;
  Tensor firsts;
  std::tie(firsts, classes.order) = first.sort(/*stable=*/true, 0, false);
  classes.begin = torch::searchsorted(firsts, first);
  classes.size = torch::searchsorted(firsts, first, /*out_int32=*/false,
                                     /*right=*/true) -
                 classes.begin;
  return classes;
}

/// T numbers of U(0, 1).
Tensor uniform_draws(int64_t count, uint64_t seed) {
  Rng rng(seed, Stream::kLossDraw);
  Tensor draws = torch::empty({count}, torch::kDouble);
  double* draw = draws.data_ptr<double>();
  for (int64_t t = 0; t < count; ++t) draw[t] = rng.uniform();
  return draws;
}

/// For each triplet an example that has neither the anchor's class nor the
/// negative's, uniformly. In the order by classes those two are stretches, and
/// the n-th of the others is found by stepping over them.
SecondNegatives draw_second_negatives(const LossInput& input) {
  const Tensor anchor = input.tuples.select(1, 0);
  const Tensor negative = input.tuples.select(1, 2);
  const ClassOrder classes = order_by_class(input.labels);
  const Tensor begin_a = classes.begin.index_select(0, anchor);
  const Tensor begin_n = classes.begin.index_select(0, negative);
  const Tensor size_a = classes.size.index_select(0, anchor);
  const Tensor size_n = classes.size.index_select(0, negative)
                            .masked_fill_(begin_a == begin_n, 0);
  const Tensor anchor_first = begin_a <= begin_n;
  const Tensor others = input.labels.size(0) - size_a - size_n;
  const Tensor draws =
      uniform_draws(anchor.size(0), input.seed).to(anchor.device());
  Tensor place = torch::minimum((draws * others).to(torch::kLong), others - 1);
  const auto step_over = [&](const Tensor& begin, const Tensor& size) {
    place = place + size * (place >= begin);
  };
  step_over(torch::minimum(begin_a, begin_n),
            torch::where(anchor_first, size_a, size_n));
  step_over(torch::maximum(begin_a, begin_n),
            torch::where(anchor_first, size_n, size_a));
  // Without any other the place is none; any will do, for it does not count.
  place.clamp_(0, std::max<int64_t>(input.labels.size(0) - 1, 0));
  return {classes.order.index_select(0, place), others > 0};
}

}  // namespace

const char* const Quadruplet::kSummary =
    "quadruplet with a second negative (Chen et al., CVPR 2017)";

const PartFacts Quadruplet::kFacts = {
    .formula =
        "l(a,p,n,l) = [D_ap - D_an + margin1]+ + [D_ap - D_nl + margin2]+\n"
        "loss = mean over tuples\n"
        "l: a second negative of a third class, given or drawn uniformly",
    .source = "Chen et al., CVPR 2017",
    .cost = "O(T D) time and memory, O(M log M) to draw",
    .golden = "rev_quadruplet"};

void QuadrupletOptions::describe(OptionSet& set) {
  set.add("margin1", margin1,
          "How much farther than the positive the negative should be from "
          "the anchor.");
  set.add("margin2", margin2,
          "How much farther than anchor and positive the two negatives "
          "should be apart.");
  describe_reduction(set, reduction, "tuples");
}

Quadruplet::Quadruplet(Options options)
    : options_(checked(std::move(options), "quadruplet")) {}

LossOutput Quadruplet::forward(const LossInput& input) const {
  Tensor tuples = input.tuples;
  Tensor exists;
  if (tuples.defined() && tuples.size(1) == 3) {
    const SecondNegatives second = draw_second_negatives(input);
    tuples = torch::cat({tuples, second.position.unsqueeze(1)}, 1);
    exists = second.exists;
  }
  const std::vector<Tensor> distance =
      tuple_distances(input.embeddings, tuples, {{0, 1}, {0, 2}, {2, 3}});
  const Tensor first = (distance[0] - distance[1] + options_.margin1).relu();
  Tensor second = (distance[0] - distance[2] + options_.margin2).relu();
  if (exists.defined()) second = second * exists;
  const Tensor mean =
      hinge_mean(first + second, options_.reduction == "active");
  return {keep_bad_visible(mean, input.embeddings), {}};
}

KITH_REGISTER(loss_registry(), "quadruplet", Quadruplet);

}  // namespace kith
