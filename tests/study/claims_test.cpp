#include "kith/study/claims.h"

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/study/table.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

/// Losses a and b in batches of 8 and 64.
Study claims_study() {
  Study study;
  study.title = "A study";
  study.axes = {{"batch", {{"8", {}}, {"64", {}}}},
                {"loss", {{"a", {}}, {"b", {}}}}};
  study.seeds = {1, 2, 3};
  study.metrics = {"recall_any@1", "rho"};
  study.search.emplace();
  study.base = ConfigNode::map();
  return study;
}

RunResult run_of_claim(const char* batch, const char* loss, int64_t seed,
                       double recall) {
  RunResult run;
  run.labels = {batch, loss};
  run.seed = seed;
  run.metrics = {{"recall_any@1", recall}, {"rho", 1 - recall}};
  CurvePoint start, end;
  start.metrics = {{"recall_any@1", 0.2}};
  end.step = 10;
  end.metrics = run.metrics;
  run.curve = {start, end};
  return run;
}

class Claims : public ::testing::Test {
 protected:
  Claims() : study_(claims_study()) {
    results_.study = &study_;
    for (int64_t seed = 1; seed <= 3; ++seed) {
      const double noise = 0.01 * static_cast<double>(seed);
      results_.runs.push_back(run_of_claim("8", "a", seed, 0.50 + noise));
      results_.runs.push_back(run_of_claim("8", "b", seed, 0.40 + 2 * noise));
      results_.runs.push_back(run_of_claim("64", "a", seed, 0.60 + noise));
      results_.runs.push_back(run_of_claim("64", "b", seed, 0.60 + 2 * noise));
    }
  }

  void claim(const char* yaml) {
    const ConfigNode node = parse_config(yaml, "study.yaml");
    study_.claims = read_claims(node.items, study_);
  }

  Study study_;
  StudyResults results_;
};

TEST_F(Claims, CompareSeedBySeedForEachOpenLabel) {
  claim("[{says: a above b, higher: {loss: a}, lower: {loss: b}}]");
  const auto judged = judge_claims(results_);
  ASSERT_EQ(judged.size(), 2u);
  // Differences 0.09, 0.08, 0.07; half width 4.303 * 0.01 / sqrt(3).
  EXPECT_EQ(judged[0].open, (Labels{"8", ""}));
  EXPECT_NEAR(judged[0].difference.mean, 0.08, 1e-12);
  EXPECT_NEAR(judged[0].difference.half_width, 0.024843, 1e-6);
  EXPECT_NEAR(judged[0].higher, 0.52, 1e-12);
  EXPECT_EQ(judged[0].verdict, "confirmed");
  // -0.01, -0.02, -0.03.
  EXPECT_EQ(judged[1].open, (Labels{"64", ""}));
  EXPECT_NEAR(judged[1].difference.mean, -0.02, 1e-12);
  EXPECT_EQ(judged[1].verdict, "undecided");
  EXPECT_EQ(judged[1].reason, "");
}

TEST_F(Claims, MayBeOfDifferences) {
  claim(R"([{says: the lead is larger in small batches,
             higher: [{batch: 8, loss: a}, {batch: 8, loss: b}],
             lower: [{batch: 64, loss: a}, {batch: 64, loss: b}]},
            {says: and the other way round,
             higher: [{batch: 64, loss: a}, {batch: 64, loss: b}],
             lower: [{batch: 8, loss: a}, {batch: 8, loss: b}]}])");
  const auto judged = judge_claims(results_);
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_NEAR(judged[0].difference.mean, 0.10, 1e-12);
  EXPECT_EQ(judged[0].verdict, "confirmed");
  EXPECT_EQ(judged[1].verdict, "refuted");
}

TEST_F(Claims, AreUndecidedWithoutWhatAVerdictNeeds) {
  claim("[{says: x, higher: {loss: a, batch: 8}, lower: {loss: b, batch: 8}}]");
  study_.search.reset();
  EXPECT_EQ(judge_claims(results_)[0].reason, "nothing was searched");
  study_.search.emplace();
  // The network before training was better than one of those that follow.
  CurvePoint start, end;
  start.metrics = {{"recall_any@1", 0.45}};
  end.step = 10;
  for (RunResult& run : results_.runs) {
    end.metrics = run.metrics;
    run.curve = {start, end};
  }
  const JudgedClaim collapsed = judge_claims(results_)[0];
  EXPECT_EQ(collapsed.verdict, "undecided");
  EXPECT_EQ(collapsed.reason, "a training ended below its start");
  // Another split, which validation images chose a network for, may be harder.
  end.metrics = {{"recall_any@1", 0.9}};
  for (RunResult& run : results_.runs) run.curve = {start, end};
  EXPECT_EQ(judge_claims(results_)[0].reason, "");
  for (RunResult& run : results_.runs) run.curve = {end};
  EXPECT_EQ(judge_claims(results_)[0].reason,
            "a start was not evaluated (eval.before)");
  results_.runs.resize(8);
  EXPECT_EQ(judge_claims(results_)[0].reason, "fewer than three seeds");
  results_.runs.clear();
  EXPECT_EQ(judge_claims(results_)[0].reason, "not run");
}

TEST_F(Claims, AreATableAndInJson) {
  claim(
      "[{says: rho falls, metric: rho, higher: {loss: b, batch: 8}, "
      "lower: {loss: a, batch: 8}}]");
  const std::string text = claims_markdown(results_);
  EXPECT_NE(text.find("| rho falls |  | 3 | rho | 0.56 | 0.48 | 0.08 ± 0.02484 "
                      "| confirmed |"),
            std::string::npos)
      << text;
  EXPECT_NE(study_json(results_).find("\"verdict\": \"confirmed\""),
            std::string::npos);
}

TEST_F(Claims, RefuseWhatCannotBeCompared) {
  const auto refused = [&](const char* yaml, const char* why) {
    expect_error<ConfigError>([&] { claim(yaml); }, "study.yaml:1", why);
  };
  refused("[{higher: {loss: a}, lower: {loss: b}}]",
          "'study.claims.0' needs 'says'");
  refused("[{says: x, higher: {loss: a}}]", "'study.claims.0' needs 'lower'");
  refused("[{says: x, higher: {loss: c}, lower: {loss: b}}]",
          "value of the axis 'loss'");
  refused("[{says: x, higher: {}, lower: {loss: b}}]",
          "'study.claims.0.higher' must name labels by axis");
  refused("[{says: x, higher: {loss: a, batch: 8}, lower: {loss: b}}]",
          "must name the axis 'batch' on both sides or on none");
  refused("[{says: x, higher: [{loss: a}], lower: {loss: b}}]",
          "must be labels by axis, or a list of two such: the first less the "
          "second");
  refused("[{says: x, metric: nmi, higher: {loss: a}, lower: {loss: b}}]",
          "not in 'study.metrics'");
}

}  // namespace
}  // namespace kith
