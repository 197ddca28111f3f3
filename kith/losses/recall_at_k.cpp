#include "kith/losses/rows/recall_at_k.h"

#include <algorithm>

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct RecallAtKOptions : MixedRowOptions {
  std::vector<int64_t> k;
  double t1 = 1.0;
  double t2 = 0.01;
  bool query_in_database = false;

  void describe(OptionSet& set) {
    set.add("k", k,
            "Recall@k is averaged over these k. Empty: [1, 2, 4, 8, 16], and "
            "with simix [1, 2, 4, 8, 12, 16, 20, 24, 28, 32].")
        .range(1);
    set.add("t1", t1, "Temperature of the sigmoid that counts ranks up to k.")
        .positive();
    set.add("t2", t2, "Temperature of the sigmoid that compares similarities.")
        .positive();
    set.add("query_in_database", query_in_database,
            "Also rank the query against itself, as the published code does.");
    MixedRowOptions::describe(set);
  }
};

/// Recall@k surrogate, RS@k (Patel, Tolias & Matas, CVPR 2022).
///
///     r(q,x) = 1 + sum_{z != q,x} sigma_t2(s_qz - s_qx)        x in P_q
///     R_k(q) = min(k, sum_{x in P_q} sigma_t1(k - r(q,x))) / min(k, |P_q|)
///     loss   = mean over q and k of 1 - R_k(q)
///
/// s is the inner product; embeddings are unit vectors. Queries without
/// positives are left out and counted. M |P| M sigmoids on the row engine.
class RecallAtKLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "Recall@k surrogate, RS@k (Patel et al., CVPR 2022)";
  static constexpr PartFacts kFacts = {
      .formula =
          "r(q,x) = 1 + sum_{z != q,x} sigma_t2(s_qz - s_qx) for x in P_q\n"
          "R_k(q) = min(k, sum_{x in P_q} sigma_t1(k - r(q,x))) / min(k, "
          "|P_q|)\n"
          "loss = mean over k and over queries with positives of 1 - R_k(q)",
      .source = "Patel, Tolias & Matas, CVPR 2022",
      .cost =
          "O(M^2 (D + P)) time, P positives a row; memory_mb and O(M D) memory",
      .golden = "rsk, rsk_simix"};
  using Options = RecallAtKOptions;

  explicit RecallAtKLoss(Options options) : options_(std::move(options)) {
    params_.t1 = options_.t1;
    params_.t2 = options_.t2;
    params_.query_in_database = options_.query_in_database;
    if (options_.k.size() > RecallAtKParams::kMostK) {
      throw ConfigError("'loss.k' has " + std::to_string(options_.k.size()) +
                        " entries; at most " +
                        std::to_string(RecallAtKParams::kMostK));
    }
  }

  LossOutput forward(const LossInput& input) const override {
    RecallAtKParams params = params_;
    set_k(params, options_.simix || input.mixed.defined());
    return compute_rows(make_row_loss(params), input, options_, "queries");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  void set_k(RecallAtKParams& params, bool mixed) const {
    std::vector<int64_t> k = options_.k;
    if (k.empty() && mixed) k = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
    if (k.empty()) k = {1, 2, 4, 8, 16};
    params.k_count = static_cast<int>(k.size());
    std::copy(k.begin(), k.end(), params.k);
  }

  Options options_;
  RecallAtKParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "recall_at_k", RecallAtKLoss);

}  // namespace kith
