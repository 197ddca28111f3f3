// The data set `sfm120k` on small pickles of the published form.

#include <random>

#include <gmock/gmock.h>

#include "kith/core/file.h"
#include "kith/data/published_sets.h"
#include "tests/support/damage.h"
#include "tests/support/paths.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Pieces of a pickle of protocol 0.
std::string text(const std::string& value) { return "V" + value + "\n"; }
std::string number(int64_t value) { return "I" + std::to_string(value) + "\n"; }

std::string list(const std::vector<std::string>& items) {
  std::string out = "(l";
  for (const std::string& item : items) out += item + "a";
  return out;
}

std::string dict(const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out = "(d";
  for (const auto& [key, value] : all) out += text(key) + value + "s";
  return out;
}

std::string split(const std::vector<std::string>& cids,
                  const std::vector<std::string>& clusters) {
  return dict({{"cids", list(cids)}, {"cluster", list(clusters)}});
}

class Sfm120kSet : public SetTest<Sfm120kDataSet> {
 protected:
  Sfm120kSet() : SetTest<Sfm120kDataSet>("sfm120k") {
    std::filesystem::create_directory(dir_.file("ims"));
  }

  std::string golden(const std::string& name) const {
    return read_file(golden_dir() + "/sfm120k/" + name, 1 << 20);
  }

  void pickle(const std::string& bytes) {
    write("retrieval-SfM-120k.pkl", bytes);
  }

  /// A training split beside a good validation split.
  template <typename... Parts>
  void train_refused(const std::string& train, const Parts&... parts) {
    SCOPED_TRACE(train);
    pickle(dict({{"train", train},
                 {"val", split({text("gggggg")}, {number(1)})}}) +
           ".");
    expect_refused(dir_.file("retrieval-SfM-120k.pkl"), "'train'", parts...);
  }
};

TEST_F(Sfm120kSet, ReadsBothSplits) {
  write_picture(dir_, "ims/ef/cd/0b/00aa00bcdef");
  for (const char* name : {"lists.pkl", "arrays.pkl"}) {
    SCOPED_TRACE(name);
    pickle(golden(name));
    const auto set = open();
    // Clusters of `val` start above those of `train`.
    EXPECT_THAT(contents(*set), ElementsAre("train/3:ims/ef/cd/0b/00aa00bcdef",
                                            "train/3:ims/ef/cd/1b/00aa01bcdef",
                                            "train/7:ims/ef/cd/2b/00aa02bcdef",
                                            "train/7:ims/ef/cd/3b/00aa03bcdef",
                                            "validation/11:ims/ef/cd/0b/"
                                            "00bb00bcdef",
                                            "validation/11:ims/ef/cd/1b/"
                                            "00bb01bcdef"));
    EXPECT_EQ(set->load(0).width, 8);
  }
  EXPECT_THAT(log_.warnings(), IsEmpty());
  expect_recognised();
}

TEST_F(Sfm120kSet, RefusesWrongContents) {
  const std::string cid = text("abcdef");
  const std::string one = number(1);
  train_refused(split({cid}, {one, one}), "1 cids and 2 numbers");
  train_refused(split({}, {}), "0 cids");
  train_refused(split({cid, cid}, {one, one}), "cids[1]", "there twice");
  train_refused(split({text("abcde")}, {one}), "cids[0]", "'abcde'");
  train_refused(split({text("../abcdef")}, {one}), "cids[0]", "'../abcdef'");
  train_refused(split({one}, {one}), "cids[0]");
  train_refused(split({cid}, {cid}), "cluster", "whole numbers");
  train_refused(split({cid}, {number(-1)}), "cluster", "-1");
  train_refused(dict({{"cids", list({cid})}}), "no 'cluster'");
  train_refused(dict({{"cids", cid}, {"cluster", list({one})}}),
                "cids is not a list");
  train_refused(dict({{"cids", list({cid})}, {"cluster", one}}),
                "cluster is not a list");
  train_refused(list({}), "no 'cids'");
}

TEST_F(Sfm120kSet, HasTheNamedPairsOfTraining) {
  for (const char* name : {"lists.pkl", "arrays.pkl"}) {
    pickle(golden(name));
    EXPECT_THAT(open()->list().pairs,
                ElementsAre(std::array<int64_t, 2>{0, 1}));
  }
  const std::string images =
      split({text("aaaaaa"), text("bbbbbb")}, {number(1), number(1)});
  const auto with = [&](const std::string& queries,
                        const std::string& positives) {
    // The dict ends with "s": more entries go before that of the last.
    return images + text("qidxs") + list({queries}) + "s" + text("pidxs") +
           list({positives}) + "s";
  };
  train_refused(with(number(0), number(2)), "qidxs or pidxs[0]", "2 images");
  train_refused(with(number(0), text("a")), "pidxs", "whole numbers");
}

/// The lists of queries that Tolias et al. validate with.
std::string queries(const std::string& qidx, const std::string& gnd) {
  return dict({{"cids", list({text("aaaaaa"), text("bbbbbb"), text("cccccc"),
                              text("dddddd")})},
               {"qidx", list({qidx})},
               {"gnd", list({gnd})}}) +
         ".";
}

TEST_F(Sfm120kSet, MayValidateByQueries) {
  pickle(golden("lists.pkl"));
  write(
      "retrieval-SfM-120k-val-eccv2020.pkl",
      queries(number(2) + "a" + number(0),
              dict({{"ok", list({number(3), number(1)})},
                    {"junk", list({number(2), number(0)})}}) +
                  "a" + dict({{"ok", list({number(1)})}, {"junk", list({})}})));
  const auto set = open({.validation = "queries"});
  EXPECT_THAT(contents(*set), ElementsAre("train/3:ims/ef/cd/0b/00aa00bcdef",
                                          "train/3:ims/ef/cd/1b/00aa01bcdef",
                                          "train/7:ims/ef/cd/2b/00aa02bcdef",
                                          "train/7:ims/ef/cd/3b/00aa03bcdef",
                                          "validation/8:ims/aa/aa/aa/aaaaaa",
                                          "validation/9:ims/bb/bb/bb/bbbbbb",
                                          "validation/10:ims/cc/cc/cc/cccccc",
                                          "validation/11:ims/dd/dd/dd/dddddd"));
  const std::vector<QueryTruth>& truths = set->list().truths;
  ASSERT_EQ(truths.size(), 2u);
  EXPECT_EQ(truths[0].query, 4);
  EXPECT_THAT(truths[0].easy, ElementsAre(5));
  EXPECT_EQ(truths[1].query, 6);
  EXPECT_THAT(truths[1].easy, ElementsAre(5, 7));
  // Without the query itself.
  EXPECT_THAT(truths[1].junk, ElementsAre(4));
  EXPECT_TRUE(set->list().items[6].is_query);
  EXPECT_FALSE(set->list().items[5].is_query);
  EXPECT_TRUE(set->list().items[6].is_gallery);
}

TEST_F(Sfm120kSet, RefusesWrongQueries) {
  pickle(golden("lists.pkl"));
  const std::string good =
      dict({{"ok", list({number(1)})}, {"junk", list({})}});
  const auto refused = [&](const std::string& bytes, const auto&... parts) {
    write("retrieval-SfM-120k-val-eccv2020.pkl", bytes);
    expect_error<DataError>([&] { open({.validation = "queries"}); },
                            "retrieval-SfM-120k-val-eccv2020.pkl", parts...);
  };
  refused(queries(number(4), good), "qidx holds 4", "4 images");
  refused(queries(number(0) + "a" + number(1), good), "2 queries", "1 in gnd");
  refused(queries(number(0) + "a" + number(0), good + "a" + good), "gnd[1]",
          "there twice");
  refused(
      queries(number(0), dict({{"ok", list({number(9)})}, {"junk", list({})}})),
      "gnd[0] ok", "holds 9");
  refused(queries(number(0), dict({{"ok", list({})}})), "gnd[0]", "'junk'");
  refused("(l.", "no 'cids'");
  remove("retrieval-SfM-120k-val-eccv2020.pkl");
  expect_error<DataError>([&] { open({.validation = "queries"}); },
                          "retrieval-SfM-120k-val-eccv2020.pkl");
}

TEST_F(Sfm120kSet, RefusesAnImageOfBothSplits) {
  const std::string part = split({text("abcdef")}, {number(1)});
  pickle(dict({{"train", part}, {"val", part}}) + ".");
  expect_refused("'val' cids[0]", "there twice");
}

TEST_F(Sfm120kSet, RefusesOtherPickles) {
  pickle("(l.");
  expect_refused("retrieval-SfM-120k.pkl", "no 'train'");
  pickle("cos\nsystem\n(S'true'\ntR.");
  expect_refused("retrieval-SfM-120k.pkl");
  pickle("");
  expect_refused("retrieval-SfM-120k.pkl");
  remove("retrieval-SfM-120k.pkl");
  expect_refused("retrieval-SfM-120k.pkl");
  remove("ims");
  expect_refused(dir_.file("ims"), "no such folder");
}

TEST_F(Sfm120kSet, SurvivesDamage) {
  std::mt19937_64 random(1);
  for (const char* name : {"lists.pkl", "arrays.pkl"}) {
    const std::string whole = golden(name);
    for (int i = 0; i < 60; ++i) {
      pickle(damage(whole, random));
      try {
        open();
      } catch (const DataError&) {
        continue;  // the only error that may come of it
      }
    }
  }
}

}  // namespace
}  // namespace kith
