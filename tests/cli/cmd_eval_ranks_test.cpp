// kith eval, embed, index and metrics as several processes.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cli/searched_run.h"

namespace kith {
namespace {

class CmdEvalRanks : public SearchedRun {
 protected:
  void SetUp() override {
    const std::string ranks = run_kith({"--version"}).out;
    if (ranks.find("gloo") == std::string::npos) {
      GTEST_SKIP() << "built without gloo";
    }
  }

  /// The same with this number of ranks. What BLAS sums up with several threads
  /// has other last digits.
  static ProgramResult with_ranks(int ranks, std::vector<std::string> words) {
    words.insert(words.end(), {"--ranks", std::to_string(ranks), "--engine",
                               "gloo", "--device", "cpu", "--threads", "1"});
    ::setenv("OMP_NUM_THREADS", "1", /*replace=*/1);
    return run_kith(words);
  }

  static std::string expect_same(const std::vector<std::string>& words) {
    const ProgramResult alone = with_ranks(1, words);
    EXPECT_EQ(alone.exit_code, 0) << alone.err;
    for (const int ranks : {2, 3}) {
      const ProgramResult together = with_ranks(ranks, words);
      EXPECT_EQ(together.exit_code, 0) << together.err;
      EXPECT_EQ(together.out, alone.out) << ranks;
    }
    return alone.out;
  }
};

TEST_F(CmdEvalRanks, EvalPrintsAndWritesWhatOneProcessDoes) {
  const std::string printed = expect_same({"eval", run(), "--metrics",
                                           "recall_any@1,map_at_r,nmi,tar@0.01",
                                           "--out", file("e"), "--json"});
  EXPECT_EQ(contents(file("e/metrics.json")), printed);
}

TEST_F(CmdEvalRanks, EmbedAndIndexWriteTheFilesOfOneProcess) {
  const auto make = [&](int ranks) {
    const std::string end = std::to_string(ranks);
    EXPECT_EQ(with_ranks(ranks, {"embed", run(), "--images", images(), "--out",
                                 file("x" + end + ".npy"), "--batch", "5"})
                  .exit_code,
              0);
    EXPECT_EQ(
        with_ranks(ranks, {"index", run(), "--out", file("i" + end)}).exit_code,
        0);
  };
  make(1);
  make(3);
  EXPECT_TRUE(contents(file("x1.npy")) == contents(file("x3.npy")));
  EXPECT_TRUE(contents(file("i1")) == contents(file("i3")));
}

TEST_F(CmdEvalRanks, AnErrorIsSaidAndEndsAll) {
  const ProgramResult other =
      with_ranks(2, {"eval", run(), "--protocol", "none"});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_EQ(other.out, "");
  EXPECT_NE(other.err.find("unknown protocol 'none'"), std::string::npos);

  const std::string taken = indexed("taken");
  const ProgramResult there = with_ranks(2, {"index", run(), "--out", taken});
  EXPECT_EQ(there.exit_code, 2);
  EXPECT_NE(there.err.find("kith: --out " + taken), std::string::npos)
      << "by the process that starts ranks: " << there.err;
}

}  // namespace
}  // namespace kith
