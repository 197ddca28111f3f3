#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct RecallAtKOptions {
  std::vector<int64_t> k = {1, 2, 4, 8, 16};
  double t1 = 1.0;
  double t2 = 0.01;
  bool query_in_database = false;

  void describe(OptionSet& set) {
    set.add("k", k, "Recall@k is averaged over these k.").range(1).not_empty();
    set.add("t1", t1, "Temperature of the sigmoid that counts ranks up to k.")
        .positive();
    set.add("t2", t2, "Temperature of the sigmoid that compares similarities.")
        .positive();
    set.add("query_in_database", query_in_database,
            "Also rank the query against itself, as the published code does.");
  }
};

/// Recall@k surrogate, RS@k (Patel, Tolias & Matas, CVPR 2022).
///
///     r(q,x) = 1 + sum_{z != q,x} sigma_t2(s_qz - s_qx)        x in P_q
///     R_k(q) = min(k, sum_{x in P_q} sigma_t1(k - r(q,x))) / min(k, |P_q|)
///     loss   = mean over q and k of 1 - R_k(q)
///
/// s is the inner product; embeddings are unit vectors. Queries without
/// positives are left out and counted. Plain autograd on a [T, M] block, T the
/// number of ordered positive pairs: O(T M) memory.
class RecallAtKLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "Recall@k surrogate, RS@k (Patel et al., CVPR 2022)";
  using Options = RecallAtKOptions;

  explicit RecallAtKLoss(Options options) : options_(std::move(options)) {}

  LossOutput forward(const LossInput& input) const override {
    const Tensor& x = input.embeddings;
    const Tensor positives = positive_mask(input.labels);
    const Tensor count = positives.sum(1);  // [M] |P_q|
    const Tensor used = count > 0;
    const auto queries = used.sum().item<int64_t>();
    const std::vector<std::pair<std::string, double>> stats = {
        {"queries", static_cast<double>(queries)},
        {"queries_without_positives",
         static_cast<double>(x.size(0) - queries)}};
    if (queries == 0) return {x.sum() * 0, stats};

    const Tensor pairs = positives.nonzero();  // [T, 2] (q, x)
    const Tensor q = pairs.select(1, 0);
    const Tensor rank = ranks(x, q, pairs.select(1, 1));  // [T]

    Tensor total = x.new_zeros({});
    for (int64_t k : options_.k) {
      const Tensor within =
          ((static_cast<double>(k) - rank) / options_.t1).sigmoid();
      const Tensor recall =
          x.new_zeros({x.size(0)}).index_add(0, q, within).clamp_max(k) /
          count.clamp(1, k);
      total = total + (1 - recall).masked_select(used).sum();
    }
    const auto terms =
        static_cast<double>(queries) * static_cast<double>(options_.k.size());
    return {total / terms, stats};
  }

 private:
  /// Smooth rank of positive p among the database of query q, for each pair.
  Tensor ranks(const Tensor& x, const Tensor& q, const Tensor& p) const {
    const Tensor rows = torch::mm(x, x.t()).index_select(0, q);  // [T, M]
    const Tensor own = rows.gather(1, p.unsqueeze(1));           // [T, 1]
    Tensor left_out = torch::zeros(
        rows.sizes(), torch::dtype(torch::kBool).device(x.device()));
    left_out.scatter_(1, p.unsqueeze(1), true);
    if (!options_.query_in_database) {
      left_out.scatter_(1, q.unsqueeze(1), true);
    }
    const Tensor above = ((rows - own) / options_.t2).sigmoid();
    return 1 + above.masked_fill(left_out, 0).sum(1);
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "recall_at_k", RecallAtKLoss);

}  // namespace kith
