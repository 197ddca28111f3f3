// `kith bench`: what it reports, that memory does not grow with the square of
// the batch, and what it says to wrong input. Times are only checked for sense.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace kith {
namespace {

using Json = nlohmann::json;

/// As short a run as there is: 3 repeats.
std::vector<std::string> bench(const std::string& name,
                               const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"bench",     name, "--seconds", "0",
                                        "--threads", "1",  "--device",  "cpu",
                                        "--dim",     "32"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json bench_json(const std::string& name, std::vector<std::string> more) {
  more.push_back("--json");
  return Json::parse(expect_success(bench(name, more)).out);
}

void expect_sane(const Json& json) {
  SCOPED_TRACE(json.dump());
  const Json& time = json.at("time_ms");
  EXPECT_GT(time.at("min"), 0.0);
  EXPECT_GE(time.at("median"), time.at("min"));
  EXPECT_GE(time.at("repeats"), 3);
  EXPECT_LE(time.at("repeats"), 100);
  const double products = json.at("products_ms");
  ASSERT_GT(products, 0.0);
  const double ratio = time.at("median").get<double>() / products;
  // Rounded to three digits after the point.
  EXPECT_NEAR(json.at("ratio"), ratio, 0.0005 + 0.01 * ratio);
  const double m = json.at("batch");
  const double gflops =
      6 * m * m * json.at("dim").get<double>() / 1e6 / products;
  EXPECT_NEAR(json.at("products_gflops"), gflops, 0.05 + 0.01 * gflops);
  EXPECT_EQ(json.at("products_rows_timed"), json.at("batch"));
  EXPECT_GT(json.at("value"), 0.0);
  EXPECT_LT(json.at("value"), 2.0);
  const Json& memory = json.at("extra_memory_mb");
  if (!memory.is_null()) {
    EXPECT_GE(memory, 0.0);
    EXPECT_LT(memory, 1000.0);
  }
}

TEST(BenchCommand, ReportsALoss) {
  const Json json =
      bench_json("loss:recall_at_k", {"--batch", "256", "--set", "t2=0.05"});
  expect_sane(json);
  EXPECT_EQ(json.at("name"), "loss:recall_at_k");
  EXPECT_EQ(json.at("device"), "cpu");
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_NE(json.at("cpu"), "");
  EXPECT_EQ(json.at("batch"), 256);
  EXPECT_EQ(json.at("dim"), 32);
  EXPECT_EQ(json.at("per_class"), 4);
  EXPECT_EQ(json.at("positives"), 3);
  EXPECT_EQ(json.at("simix"), false);
  EXPECT_EQ(json.at("rows"), 256);
  EXPECT_EQ(json.at("precision"), "float32");
  EXPECT_EQ(json.at("products"), "float32");
  EXPECT_EQ(json.at("options").at("t2"), 0.05);
  EXPECT_EQ(json.at("options").at("k"), Json::array());
  EXPECT_FALSE(json.at("options").contains("name"));
}

TEST(BenchCommand, TheBatchIsTheSameInBothPrecisions) {
  const std::vector<std::string> flags = {
      "--batch", "240", "--per-class", "8", "--sorted", "--seed", "7"};
  const Json narrow = bench_json("loss:recall_at_k", flags);
  std::vector<std::string> more = flags;
  more.insert(more.end(), {"--precision", "float64"});
  const Json wide = bench_json("loss:recall_at_k", more);
  expect_sane(narrow);
  expect_sane(wide);
  EXPECT_EQ(narrow.at("positives"), 7);
  EXPECT_EQ(wide.at("products"), "float64");
  EXPECT_NE(narrow.at("value"), wide.at("value"));
  EXPECT_NEAR(narrow.at("value"), wide.at("value"), 1e-4);
}

TEST(BenchCommand, CountsVirtualExamples) {
  const Json json =
      bench_json("loss:recall_at_k", {"--batch", "128", "--simix"});
  expect_sane(json);
  EXPECT_EQ(json.at("simix"), true);
  EXPECT_EQ(json.at("options").at("simix"), true);
  // Four examples of a class and their six pairs.
  EXPECT_EQ(json.at("rows"), 128 / 4 * 10);
  EXPECT_EQ(json.at("positives"), 9);
}

TEST(BenchCommand, TakesALossThatIsNotOnTheRowEngine) {
  const Json json = bench_json("loss:contrastive", {"--batch", "128"});
  expect_sane(json);
  EXPECT_EQ(json.at("products"), "float32");
  EXPECT_EQ(json.at("options").at("neg_margin"), 1.0);
}

TEST(BenchCommand, PrintsATable) {
  const std::string out =
      expect_success(bench("loss:recall_at_k", {"--batch", "64"})).out;
  for (const char* part :
       {"loss:recall_at_k on cpu, float32, 1 thread", "M = 64 (4 a class)",
        "d = 32", "|P| = 3", "value and gradient", "ms", "three products",
        "GFLOP/s", "ratio", "extra memory", "value  "}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << " not in\n" << out;
  }
}

TEST(BenchCommand, ReportsAMiner) {
  const Json json = bench_json("miner:distance_weighted",
                               {"--batch", "256", "--set", "cutoff=0.4"});
  EXPECT_EQ(json.at("name"), "miner:distance_weighted");
  EXPECT_EQ(json.at("batch"), 256);
  EXPECT_EQ(json.at("dim"), 32);
  EXPECT_EQ(json.at("tuples"), 256);
  EXPECT_EQ(json.at("width"), 3);
  EXPECT_EQ(json.at("options").at("cutoff"), 0.4);
  EXPECT_FALSE(json.at("options").contains("name"));
  EXPECT_GT(json.at("time_ms").at("min"), 0.0);
  EXPECT_GE(json.at("time_ms").at("repeats"), 3);
  EXPECT_TRUE(json.contains("extra_memory_mb"));
  EXPECT_FALSE(json.contains("products_ms"));
}

TEST(BenchCommand, PrintsATableOfAMiner) {
  const std::string out =
      expect_success(bench("miner:multi_similarity", {"--batch", "64"})).out;
  for (const char* part : {"miner:multi_similarity on cpu, float32, 1 thread",
                           "M = 64 (4 a class), d = 32", "mining", "ms",
                           "extra memory", "tuples", " of 2"}) {
    EXPECT_NE(out.find(part), std::string::npos) << part << " not in\n" << out;
  }
}

// A loss on tuples gets those of its miner.
TEST(BenchCommand, MinesForALossThatNeedsTuples) {
  const Json json = bench_json("loss:triplet", {"--batch", "128"});
  expect_sane(json);
  EXPECT_EQ(json.at("tuples"), 128);
  EXPECT_NE(json.at("miner"), "");
  const Json whole = bench_json("loss:recall_at_k", {"--batch", "128"});
  EXPECT_TRUE(whole.at("tuples").is_null());
  EXPECT_TRUE(whole.at("miner").is_null());
}

// In one object; a part that cannot be measured stops no other.
TEST(BenchCommand, MeasuresSeveralParts) {
  const ProgramResult result =
      run_kith(bench("loss:fast_ap", {"miner:random", "loss:no_such",
                                      "loss:contrastive", "--json"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("kith: could not be measured: loss:no_such"),
            std::string::npos);
  const Json parts = Json::parse(result.out).at("benchmarks");
  ASSERT_EQ(parts.size(), 4u) << result.out;
  expect_sane(parts[0]);
  EXPECT_EQ(parts[1].at("name"), "miner:random");
  EXPECT_EQ(parts[2].at("name"), "loss:no_such");
  EXPECT_NE(parts[2].at("error").get<std::string>().find("unknown loss"),
            std::string::npos);
  EXPECT_EQ(parts[3].at("miner"), "distance_weighted");
  expect_failure(2, bench("loss:nt_xent", {"los:circle"}),
                 {"unknown benchmark 'los:circle'"});
}

TEST(BenchCommand, ClassesAreAsFarApartAsIsAskedFor) {
  const auto recall = [](const char* similarity) {
    return bench_json("knn", {"--batch", "400", "--similarity", similarity})
        .at("recall_any@1")
        .get<double>();
  };
  EXPECT_EQ(recall("0.95"), 1.0);
  EXPECT_LT(recall("0.1"), 0.5);
}

TEST(BenchCommand, WrongNamesAreRefused) {
  expect_failure(2, bench("los:recall_at_k", {}),
                 {"unknown benchmark 'los:recall_at_k'",
                  "did you mean 'loss:recall_at_k'?", "loss:contrastive"});
  expect_failure(2, bench("loss:recal_at_k", {}),
                 {"unknown loss 'recal_at_k'", "did you mean 'recall_at_k'?"});
  expect_failure(2, bench("miner:semihrad", {}),
                 {"unknown miner 'semihrad'", "did you mean 'semihard'?"});
  expect_failure(2, bench("mine:semihard", {}),
                 {"did you mean 'miner:semihard'?"});
  expect_failure(2, bench("miner:semihard", {"--set", "margn=1"}),
                 {"unknown key 'miner.margn'"});
  expect_failure(2, bench("loss:triplet", {"--simix"}),
                 {"--simix", "unknown key 'loss.simix'"});
}

TEST(BenchCommand, WrongSizesAreRefused) {
  const auto refused = [](const std::vector<std::string>& more,
                          const std::vector<std::string_view>& parts) {
    expect_failure(2, bench("loss:recall_at_k", more), parts);
  };
  refused({"--batch", "1001"},
          {"--batch 1001", "--per-class 4", "--batch 1000 or 1004"});
  refused({"--batch", "0"}, {"--batch", "'0'"});
  refused({"--per-class", "1"}, {"--per-class", "from 2", "'1'"});
  refused({"--simix", "--set", "simix_limit=10"}, {"simix_limit (10)"});
}

/// MB of c M d values, where d is 32. c = 8 covers the sorted vectors, their
/// gradient and what the engine notes of each row.
double linear_mb(double m) { return 8 * m * 32 * 4 / (1 << 20); }

Json extra_memory(const std::string& loss, const std::string& batch,
                  std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--batch", batch});
  const Json json = bench_json(loss, more);
  expect_sane(json);
  return json.at("extra_memory_mb");
}

/// An M x M matrix grows from 36 MB to 144 MB here.
TEST(BenchCommand, MemoryGrowsWithTheBatchNotItsSquare) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "the address sanitizer keeps what is freed";
#endif
  // This loss has M x M matrices, of 4 MB each: they are seen.
  const Json square = extra_memory("loss:margin_all", "1024");
  if (square.is_null()) GTEST_SKIP() << "no high-water mark on this system";
  EXPECT_GT(square, 4.0);

  constexpr double kBudget = 8, kNoise = 4;  // MB
  const std::vector<std::string> budget = {"--set", "memory_mb=8"};
  const double small = extra_memory("loss:recall_at_k", "3072", budget);
  const double large = extra_memory("loss:recall_at_k", "6144", budget);
  EXPECT_LT(small, kBudget + linear_mb(3072) + kNoise);
  EXPECT_LT(large, kBudget + linear_mb(6144) + kNoise);
  EXPECT_LT(large - small, linear_mb(3072) + kNoise);
}

}  // namespace
}  // namespace kith
