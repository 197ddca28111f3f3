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
