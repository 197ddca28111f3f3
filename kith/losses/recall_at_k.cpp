#include "kith/losses/recall_at_k.h"

#include <algorithm>

#include "kith/losses/rows/recall_at_k.h"
#include "kith/ops/row_engine.h"
#include "kith/ops/row_replay.h"

namespace kith {

const char* const RecallAtK::kSummary =
    "Recall@k surrogate, RS@k (Patel et al., CVPR 2022)";

const PartFacts RecallAtK::kFacts = {
    .formula =
        "r(q,x) = 1 + sum_{z != q,x} sigma_t2(s_qz - s_qx) for x in P_q\n"
        "R_k(q) = min(k, sum_{x in P_q} sigma_t1(k - r(q,x))) / min(k, "
        "|P_q|)\n"
        "loss = mean over k and over queries with positives of 1 - R_k(q)",
    .source = "Patel, Tolias & Matas, CVPR 2022",
    .cost =
        "O(M^2 (D + P)) time, P positives a row; memory_mb and O(M D) memory",
    .golden = "rsk, rsk_simix"};

void RecallAtKOptions::describe(OptionSet& set) {
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
  rows.describe(set);
}

RecallAtK::RecallAtK(Options options)
    : options_(checked(std::move(options), "recall_at_k")),
      replay_(std::make_shared<RowReplay>()) {
  if (options_.k.size() > RecallAtKParams::kMostK) {
    throw ConfigError("'recall_at_k.k' has " +
                      std::to_string(options_.k.size()) + " entries; at most " +
                      std::to_string(RecallAtKParams::kMostK));
  }
}

LossOutput RecallAtK::forward(const LossInput& input) const {
  std::vector<int64_t> k = options_.k;
  const bool mixed = options_.rows.simix || input.mixed.defined();
  if (k.empty() && mixed) k = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32};
  if (k.empty()) k = {1, 2, 4, 8, 16};
  RecallAtKParams params;
  params.t1 = options_.t1;
  params.t2 = options_.t2;
  params.query_in_database = options_.query_in_database;
  params.k_count = static_cast<int>(k.size());
  std::copy(k.begin(), k.end(), params.k);
  return compute_rows(make_row_loss(params), input, options_.rows, "queries",
                      *replay_);
}

KITH_REGISTER(loss_registry(), "recall_at_k", RecallAtK);

}  // namespace kith
