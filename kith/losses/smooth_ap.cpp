#include "kith/losses/rows/smooth_ap.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct SmoothApOptions : MixedRowOptions {
  double temperature = 0.01;
  bool query_in_database = false;

  void describe(OptionSet& set) {
    set.add("temperature", temperature,
            "Temperature of the sigmoid that compares similarities.")
        .positive();
    set.add("query_in_database", query_in_database,
            "Count the query among its own positives, in both rankings, as "
            "the published code does.");
    MixedRowOptions::describe(set);
  }
};

/// Smooth-AP (Brown, Xie, Kalogeiton & Zisserman, ECCV 2020).
///
///     AP(q) = 1/|P_q| sum_{x in P_q} R(x, P_q) / R(x, all),
///     R(x, Z) = 1 + sum_{z in Z, z != x} sigma_t(s_qz - s_qx)
///     loss = mean over queries with positives of 1 - AP(q)
///
/// "all" is the batch without the query. M |P| M sigmoids on the row engine.
class SmoothApLoss final : public Loss {
 public:
  static constexpr const char* kSummary = "Smooth-AP (Brown et al., ECCV 2020)";
  static constexpr PartFacts kFacts = {
      .formula =
          "R(x, Z) = 1 + sum_{z in Z, z != x} sigma_t(s_qz - s_qx)\n"
          "AP(q) = 1/|P_q| sum_{x in P_q} R(x, P_q) / R(x, all but q)\n"
          "loss = mean over queries with positives of 1 - AP(q)",
      .source = "Brown, Xie, Kalogeiton & Zisserman, ECCV 2020",
      .cost =
          "O(M^2 (D + P)) time, P positives a row; memory_mb and O(M D) memory",
      .golden = "smoothap"};
  using Options = SmoothApOptions;

  explicit SmoothApLoss(Options options) : options_(std::move(options)) {
    params_.temperature = options_.temperature;
    params_.query_in_database = options_.query_in_database;
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "queries");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

 private:
  Options options_;
  SmoothApParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "smooth_ap", SmoothApLoss);

}  // namespace kith
