// `--rerank` of kith eval, metrics and search: that the numbers and answers
// before and after it are both where they belong, and what is said to wrong
// input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/io/csv.h"
#include "tests/cli/searched_run.h"

namespace kith {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kSmall = "k_reciprocal:k1=6,k2=3";
constexpr const char* kWhole = "k_reciprocal:k1=6,k2=3,lambda=0.3,candidates=0";

class RerankFlag : public SearchedRun {
 protected:
  static std::vector<std::string> eval(const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "eval", run(), "--metrics", "recall_any@1,4,nmi", "--device", "cpu"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(RerankFlag, EvalAddsTheNumbersAfterIt) {
  const Json plain = json_of(eval({}));
  const Json json = json_of(eval({"--rerank", kSmall}));
  const Json& after = json.at("reranked");
  EXPECT_EQ(after.at("by"), kWhole);
  EXPECT_EQ(json.at("recall_any@1"), plain.at("recall_any@1"));
  EXPECT_EQ(json.at("intervals"), plain.at("intervals"));
  EXPECT_TRUE(after.at("recall_any@4").is_number());
  EXPECT_TRUE(after.at("intervals").contains("recall_any@1"));
  EXPECT_FALSE(after.contains("nmi"));

  const std::string table = expect_success(eval({"--rerank", kSmall})).out;
  EXPECT_THAT(table, HasSubstr("before  re-ranked"));
  EXPECT_THAT(table, HasSubstr(std::string("re-ranked by ") + kWhole));
  const std::string markdown =
      expect_success(eval({"--rerank", kSmall, "--format", "markdown"})).out;
  EXPECT_THAT(markdown, HasSubstr("| run, re-ranked |"));
  EXPECT_THAT(markdown, HasSubstr(std::string("Re-ranked by ") + kWhole));
  const std::string csv =
      expect_success(eval({"--rerank", kSmall, "--format", "csv"})).out;
  EXPECT_THAT(csv, HasSubstr("\"run, re-ranked\",clean"));

  const std::string page = file("page.html");
  expect_success({"report", run(), "--out", page});
  const std::string html = read_file(page, uint64_t{1} << 28);
  EXPECT_THAT(html, HasSubstr("Re-ranked"));
  EXPECT_THAT(html, HasSubstr(kWhole));
}

TEST_F(RerankFlag, EvalFollowsTheConfiguration) {
  const std::string config = folder_->write(
      "other.yaml", "data: {name: csv, path: '" + images() +
                        "'}\neval: {rerank: [query_expansion, '" +
                        std::string(kSmall) + "']}\n");
  const Json json = json_of(eval({"--data", config, "--split", "test"}));
  EXPECT_EQ(json.at("reranked").at("by"),
            std::string("query_expansion:k=5,alpha=3, ") + kWhole);
}

TEST_F(RerankFlag, SeveralRanksGiveTheSame) {
  const Json alone = json_of(eval({"--rerank", kSmall, "--threads", "1"}));
  const Json two =
      json_of(eval({"--rerank", kSmall, "--threads", "1", "--ranks", "2"}));
  EXPECT_EQ(alone.at("reranked"), two.at("reranked"));
}

TEST_F(RerankFlag, SearchOrdersWhatItFinds) {
  const std::string index = indexed("index.faiss");
  const std::string image =
      read_csv(index + ".items.csv").rows().at(0).fields.at(0);
  const auto positions = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"search", "--index", index, "--image",
                                    image,    "-k",      "20"};
    all.insert(all.end(), more.begin(), more.end());
    std::vector<int64_t> found;
    const Json answer = json_of(all);
    for (const Json& hit : answer.at("queries")[0].at("results")) {
      found.push_back(hit.at("position"));
    }
    return found;
  };
  const auto plain = positions({});
  EXPECT_EQ(positions({"--rerank", "k_reciprocal:k1=6,k2=3,lambda=1"}), plain);
  const auto ordered = positions({"--rerank", kSmall});
  EXPECT_EQ(ordered.size(), plain.size());
  EXPECT_NE(ordered, plain);
}

TEST_F(RerankFlag, WhatMeansNothingIsAnErrorThatHelps) {
  expect_failure(2, eval({"--rerank", "k_reciprocl"}),
                 {"--rerank", "did you mean 'k_reciprocal'?"});
  expect_failure(2, eval({"--rerank", "k_reciprocal:k4=1"}), {"'rerank.k4'"});
  expect_failure(2, eval({"--rerank", "k_reciprocal:k1=60,k2=3"}),
                 {"only 47 others"});
  expect_failure(2, eval({"--rerank", kSmall, "--rerank", "query_expansion"}),
                 {"name it last"});
  const std::string index = indexed("index.faiss");
  expect_failure(2,
                 {"search", "--index", index, "--image", images(), "--rerank",
                  "database_augmentation"},
                 {"for evaluations"});
}

}  // namespace
}  // namespace kith
