#include "kith/data/ground_truth.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Written by Python 3.11 and NumPy 1.24 with pickle.dump(truth(...), file, P):
//
//     def truth(ints, more, number, floats):
//       return {
//         'imlist': ['img_%02d' % i for i in range(12)],
//         'qimlist': ['q_0', 'q_1', 'q_2'],
//         'gnd': [
//           {'bbx': floats([136.5, 34.1, 648.5, 955.7]), 'easy': ints([0, 3]),
//            'hard': more([5]), 'junk': [number(8), number(7)]},
//           {'bbx': floats([0, 1, 2.5, 3.5]), 'easy': ints([]),
//            'hard': more([2, 1]), 'junk': []},
//           {'bbx': floats([10, 20, 30, 40]), 'easy': ints([11]),
//            'hard': more([]), 'junk': [number(0)]}]}
//
// lists_P.pkl: truth(list, tuple, int, list). arrays_P.pkl: arrays of int64,
// of int32, numpy.int64, arrays of float64 (of float32 for P = 4).
std::vector<std::string> published_files() {
  std::vector<std::string> files;
  for (const char* kind : {"lists_", "arrays_"}) {
    for (const char* protocol : {"0", "2", "4", "5"}) {
      files.push_back(golden_dir() + "/ground_truth/" + kind + protocol +
                      ".pkl");
    }
  }
  return files;
}

const char* const kJson = R"({
  "imlist": ["img_00", "img_01", "img_02", "img_03", "img_04", "img_05",
             "img_06", "img_07", "img_08", "img_09", "img_10", "img_11"],
  "qimlist": ["q_0", "q_1", "q_2"],
  "gnd": [
    {"bbx": [136.5, 34.1, 648.5, 955.7], "easy": [0, 3], "hard": [5],
     "junk": [8, 7]},
    {"bbx": [0, 1, 2.5, 3.5], "easy": [], "hard": [2, 1], "junk": []},
    {"bbx": [10, 20, 30, 40], "easy": [11], "hard": [], "junk": [0]}]})";

void expect_box(const std::optional<Box>& box, const std::vector<int64_t>& e) {
  ASSERT_TRUE(box);
  EXPECT_THAT(
      (std::vector<int64_t>{box->left, box->top, box->right, box->bottom}),
      ::testing::ContainerEq(e));
}

void expect_truth(const GroundTruth& truth) {
  ASSERT_EQ(truth.images.size(), 12u);
  EXPECT_EQ(truth.images[0], "img_00");
  EXPECT_EQ(truth.images[11], "img_11");
  EXPECT_THAT(truth.queries, ElementsAre("q_0", "q_1", "q_2"));
  ASSERT_EQ(truth.truths.size(), 3u);
  EXPECT_EQ(truth.truths[2].query, 2);
  EXPECT_THAT(truth.truths[0].easy, ElementsAre(0, 3));
  EXPECT_THAT(truth.truths[0].hard, ElementsAre(5));
  EXPECT_THAT(truth.truths[0].junk, ElementsAre(7, 8));
  EXPECT_THAT(truth.truths[1].easy, IsEmpty());
  EXPECT_THAT(truth.truths[1].hard, ElementsAre(1, 2));
  EXPECT_THAT(truth.truths[1].junk, IsEmpty());
  EXPECT_THAT(truth.truths[2].easy, ElementsAre(11));
  EXPECT_THAT(truth.truths[2].hard, IsEmpty());
  EXPECT_THAT(truth.truths[2].junk, ElementsAre(0));
  // Halves to even, as Python rounds.
  ASSERT_EQ(truth.boxes.size(), 3u);
  expect_box(truth.boxes[0], {136, 34, 648, 956});
  expect_box(truth.boxes[1], {0, 1, 2, 4});
  expect_box(truth.boxes[2], {10, 20, 30, 40});
}

/// Expects an error that names the file.
template <typename... Parts>
void expect_refused(const std::string& text, const Parts&... parts) {
  SCOPED_TRACE(text.substr(0, 300));
  expect_error<DataError>([&] { parse_ground_truth(text, "a/gnd.json"); },
                          "a/gnd.json: ", parts...);
}
template <typename... Parts>
void expect_pickle_refused(const std::string& text, const Parts&... parts) {
  SCOPED_TRACE(text.substr(0, 300));
  expect_error<DataError>([&] { parse_ground_truth(text, "a/gnd.pkl"); },
                          "a/gnd.pkl: ", parts...);
}

TEST(GroundTruth, IsReadOfEveryProtocolAndOfJson) {
  for (const std::string& file : published_files()) {
    SCOPED_TRACE(file);
    expect_truth(read_ground_truth(file));
  }
  expect_truth(parse_ground_truth(kJson, "gnd.json"));
}

// What pickle.dump(..., 0) and (..., 2) of Python 2 write: strings of bytes.
TEST(GroundTruth, IsReadOfPython2) {
  const std::string plain =
      "(dS'imlist'\n(lS'a\\xe9'\naS'b'\nasS'qimlist'\n(lS'q'\nasS'gnd'\n(l"
      "(dS'easy'\n(lI0\nasS'hard'\n(lL1L\nasS'junk'\n(lsas.";
  const std::string binary(
      "\x80\x02}(U\x06imlist](U\x02"
      "a\xe9U\x01"
      "beU\x07qimlist]U\x01qaU\x03gnd]}(U\x04"
      "easy]K\0aU\x04hard]\x8a\x01\x01"
      "aU\x04junk]uau.",
      76);
  for (const std::string& text : {plain, binary}) {
    const GroundTruth truth = parse_ground_truth(text, "gnd.pkl");
    EXPECT_THAT(truth.images, ElementsAre("a\xe9", "b"));
    EXPECT_THAT(truth.truths.at(0).easy, ElementsAre(0));
    EXPECT_THAT(truth.truths.at(0).hard, ElementsAre(1));
    EXPECT_FALSE(truth.boxes.at(0));
  }
}

TEST(GroundTruth, WhatIsMissingIsNamed) {
  expect_refused("[]", "expected a dict with imlist, qimlist and gnd");
  expect_refused("{}", "imlist is missing");
  expect_refused(R"({"imlist": []})", "imlist is empty");
  expect_refused(R"({"imlist": 5})", "imlist is not a list");
  expect_refused(R"({"imlist": ["a"]})", "qimlist is missing");
  expect_refused(R"({"imlist": ["a"], "qimlist": ["q"]})", "gnd is missing");
  expect_refused(R"({"imlist": ["a"], "qimlist": ["q"], "gnd": []})",
                 "gnd has 0 entries for 1 names");
  expect_refused(R"({"imlist": ["a"], "qimlist": ["q"], "gnd": [7]})",
                 "gnd[0] is not a dict");
  expect_refused(
      R"({"imlist": ["a"], "qimlist": ["q"], "gnd": [{"easy": []}]})",
      "gnd[0].hard is missing");
}

TEST(GroundTruth, NamesMustBeText) {
  expect_refused(R"({"imlist": ["a", 3]})", "imlist[1] is not a string");
  expect_refused(R"({"imlist": ["a", ""]})", "imlist[1]", "not the name");
  expect_refused(R"({"imlist": ["a\u0000b"]})", "imlist[0]", "not the name");
  expect_pickle_refused("(dVimlist\n(lNas.", "imlist[0] is not a string");
  // b'a' will do, True will not.
  expect_pickle_refused("}Vimlist\n](C\1aI01\nes.",
                        "imlist[1] is not a string");
}

/// A second query with these lists.
std::string second_query(const std::string& lists) {
  return R"({"imlist": ["a", "b", "c"], "qimlist": ["q", "r"], "gnd": [
    {"easy": [0], "hard": [], "junk": []}, {)" +
         lists + "}]}";
}

TEST(GroundTruth, PositionsAreChecked) {
  const std::string rest = R"(, "hard": [], "junk": [1])";
  for (const char* wrong :
       {"3", "-1", "0.0", "true", "null", "\"0\"", "[0]", "1e400",
        "18446744073709551615", "99999999999999999999"}) {
    expect_refused(
        second_query("\"easy\": [0, " + std::string(wrong) + "]" + rest),
        wrong == std::string("1e400") ? "not JSON" : "gnd[1].easy",
        wrong == std::string("1e400") ? "" : "0 to 2");
  }
  expect_refused(second_query("\"easy\": {}" + rest), "gnd[1].easy",
                 "not a list");
  expect_refused(second_query("\"easy\": [1]" + rest), "gnd[1].junk",
                 "image 1 is in easy, hard and junk more than once");
  expect_refused(second_query("\"easy\": [0, 0]" + rest), "gnd[1].easy",
                 "image 0");
}

TEST(GroundTruth, BoxesAreChecked) {
  const std::string lists = R"("easy": [], "hard": [], "junk": [], "bbx": )";
  for (const char* wrong : {"[]", "[1, 2, 3]", "[1, 2, 3, 4, 5]",
                            "[1, 2, 3, \"4\"]", "[1, 2, 3, 1e9]"}) {
    expect_refused(second_query(lists + wrong), "gnd[1].bbx", "x1, y1, x2, y2");
  }
  expect_refused(second_query(lists + "4"), "gnd[1].bbx is not a list");
  expect_refused(second_query(lists + "[5, 0, 5.2, 9]"), "gnd[1].bbx", "empty");
}

TEST(GroundTruth, ArraysOfOtherKindsAreRefused) {
  const auto with_easy = [](const std::string& easy) {
    return "(dVimlist\n(lVa\nasVqimlist\n(lVq\nasVgnd\n(l(dVeasy\n" + easy +
           "sas.";
  };
  // numpy.zeros((1, 1)), numpy.array([0.]) and dtype('O').
  const auto array = [](const std::string& shape, const std::string& type,
                        const std::string& data) {
    return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\n"
           "tR(I1\n(" +
           shape + "tcnumpy\ndtype\n(V" + type +
           "\nI00\nI01\ntR(I3\nV<\nNNNI-1\nI-1\nI0\ntbI00\n" + data + "tb";
  };
  const std::string zero("C\10\0\0\0\0\0\0\0\0", 10);
  expect_pickle_refused(with_easy(array("I1\nI1\n", "i8", zero)), "gnd[0].easy",
                        "2 axes; expected one");
  expect_pickle_refused(with_easy(array("I1\n", "f8", zero)), "gnd[0].easy",
                        "expected positions");
  expect_pickle_refused(with_easy(array("I1\n", "O8", "(l")), "gnd[0].easy",
                        "'O8'");
  expect_pickle_refused(with_easy(array("I999999999999\n", "i8", zero)),
                        "gnd[0].easy", "shape");
  expect_pickle_refused(with_easy("cos\nsystem\n"), "'os.system'");
}

TEST(GroundTruth, SharedObjectsCannotMakeItLarge) {
  // 2000 references to one name of 200 kB.
  std::string text = "(dVimlist\n(V" + std::string(200000, 'x') + "\np1\n";
  for (int i = 0; i < 2000; ++i) text += "g1\n";
  expect_pickle_refused(text + "ls.", "too large for a ground truth");
}

TEST(GroundTruth, JsonThatIsTooDeepOrDamagedIsRefused) {
  expect_refused(std::string(100000, '['), "too deep");
  expect_refused("{\"imlist\": [\"a\"", "not JSON");
  expect_refused("{\"a\": 1} x", "not JSON");
  expect_error<DataError>([] { parse_ground_truth(kJson, "gnd.txt"); },
                          "gnd.txt: ", ".pkl", ".json");
  expect_error<DataError>([] { read_ground_truth("no/such.pkl"); },
                          "no/such.pkl");
}

// Nothing but DataError comes of a file that is cut off or changed.
TEST(GroundTruth, DamageNeverCrashes) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"bad.json", kJson}};
  for (const std::string& file : published_files()) {
    files.emplace_back("bad.pkl", read_file(file, 1 << 20));
  }
  std::mt19937_64 random(1);
  for (const auto& [name, bytes] : files) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(parse_ground_truth(bytes.substr(0, size), name), DataError);
    }
    for (int i = 0; i < 400; ++i) {
      try {
        parse_ground_truth(damage(bytes, random), name);
      } catch (const DataError&) {
      }
    }
  }
}

}  // namespace
}  // namespace kith
