// `kith search`: what it finds, prints and shows.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/io/csv.h"
#include "kith/io/npy.h"
#include "tests/cli/searched_run.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SearchCommand : public SearchedRun {
 protected:
  /// The image of an item, and its class.
  static std::vector<std::string> item(const std::string& index, size_t i) {
    return read_csv(index + ".items.csv").rows().at(i).fields;
  }

  /// An index of `count` equal vectors with these names, one per line.
  static std::string vectors(const std::string& name, const std::string& ids,
                             int64_t count) {
    Array matrix = make_array(DType::kF32, {count, 2});
    for (float& value : matrix.values<float>()) value = 1;
    write_npy(file(name + ".npy"), matrix);
    expect_success({"index", file(name + ".npy"), "--ids",
                    folder_->write(name + ".txt", ids), "--out",
                    file(name + ".faiss"), "--overwrite"});
    return file(name + ".faiss");
  }

  /// What a search shows.
  static std::string page_of(std::vector<std::string> arguments) {
    const std::string page = file("page_of.html");
    arguments.insert(arguments.end(), {"--html", page});
    expect_success(arguments);
    std::string html = read_file(page, uint64_t{1} << 24);
    EXPECT_EQ(markup_fault(html), "");
    return html;
  }
};

TEST_F(SearchCommand, SearchesForAllImagesBelowAFolder) {
  const std::string index = indexed("run.faiss");
  const std::string folder = file("queries");
  fs::create_directories(folder + "/below");
  fs::copy_file(item(index, 20).at(0), folder + "/b.png");
  fs::copy_file(item(index, 0).at(0), folder + "/below/a.png");
  write_file(folder + "/notes.txt", "none");
  const Json json = json_of({"search", "--index", index, "--image", folder,
                             "-k", "1", "--threads", "1"});
  ASSERT_EQ(json.at("queries").size(), 2u);
  EXPECT_EQ(json.at("queries").at(0).at("query"), folder + "/b.png");
  EXPECT_EQ(json.at("queries").at(1).at("query"), folder + "/below/a.png");
  for (const auto& [query, place] : {std::pair(0, 20), std::pair(1, 0)}) {
    const Json& best = json.at("queries").at(static_cast<size_t>(query));
    EXPECT_EQ(best.at("results").at(0).at("path"),
              item(index, static_cast<size_t>(place)).at(0));
  }
  fs::create_directories(file("nothing"));
  expect_failure(1, {"search", "--index", index, "--image", file("nothing")},
                 {"nothing: no images below this folder"});
}

TEST_F(SearchCommand, FindsAnImageItself) {
  const std::string index = indexed("run.faiss");
  const std::string first = item(index, 0).at(0);
  const std::string other = item(index, 20).at(0);
  const Json json = json_of({"search", "--index", index, "--image", first,
                             other, "-k", "5", "--threads", "1"});
  ASSERT_EQ(json.at("queries").size(), 2u);
  for (const size_t i : {0, 1}) {
    const Json& query = json.at("queries").at(i);
    const Json& nearest = query.at("results").at(0);
    EXPECT_EQ(query.at("query"), i == 0 ? first : other);
    EXPECT_EQ(query.at("results").size(), 5u);
    EXPECT_EQ(nearest.at("rank"), 1);
    EXPECT_EQ(nearest.at("path"), query.at("query"));
    EXPECT_EQ(nearest.at("position"), i == 0 ? 0 : 20);
    EXPECT_EQ(nearest.at("label"), item(index, i == 0 ? 0 : 20).at(1));
    EXPECT_NEAR(nearest.at("similarity").get<double>(), 1, 1e-5);
  }
  const std::string text =
      expect_success({"search", "--index", index, "--image", first}).out;
  EXPECT_THAT(text, AllOf(HasSubstr(first + "\n  rank  similarity  class"),
                          HasSubstr("     1      1.0000  ")));
}

TEST_F(SearchCommand, FindsOneClassOnly) {
  const std::string index = indexed("run.faiss");
  const std::string image = item(index, 0).at(0);
  const std::string label = item(index, 47).at(1);
  ASSERT_NE(label, item(index, 0).at(1));
  const Json json = json_of({"search", "--index", index, "--image", image,
                             "--label", label, "-k", "20"});
  const Json& results = json.at("queries").at(0).at("results");
  EXPECT_EQ(results.size(), 8u) << "all images of the class";
  for (const Json& result : results) EXPECT_EQ(result.at("label"), label);
  expect_failure(
      2, {"search", "--index", index, "--image", image, "--label", label + "x"},
      {"--label", "did you mean '" + label + "'?"});
}

TEST_F(SearchCommand, ShowsAPage) {
  const std::string index = indexed("run.faiss");
  const std::string image = item(index, 0).at(0);
  const std::string gone = item(index, 1).at(0);
  const std::string hidden = gone + ".moved";
  fs::rename(gone, hidden);
  const std::string page = file("new/page.html");
  const ProgramResult result =
      expect_success({"search", "--index", index, "--image", image, "-k", "48",
                      "--html", page});
  fs::rename(hidden, gone);
  EXPECT_THAT(result.out, HasSubstr("Look at it: " + page));
  const std::string html = read_file(page, uint64_t{1} << 24);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_THAT(html, HasSubstr("The nearest of 48 items in run.faiss"));
  EXPECT_THAT(html, HasSubstr("No picture of these"));
  EXPECT_THAT(html, HasSubstr("<code>" + gone + "</code>"));
  EXPECT_EQ(count_of(html, ">image missing<"), 1);
  for (const char* outside : {"src=\"http", "url(http", "<link", "@import"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
}

TEST_F(SearchCommand, ShowsVectorsByNumber) {
  const std::string index = vectors("two", "left\nright\n", 2);
  const std::string html =
      page_of({"search", "--index", index, "--embeddings", file("two.npy")});
  EXPECT_THAT(html, AllOf(HasSubstr("<h2>Vector 0</h2>"),
                          HasSubstr("<h2>Vector 1</h2>")));
  EXPECT_THAT(html, Not(HasSubstr("<figure")));
  EXPECT_EQ(count_of(html, ">image missing<"), 4);
}

TEST_F(SearchCommand, ShowsNamesThatAreTooLongForAFile) {
  const std::string longest(300, 'x');
  const std::string index = vectors("long", longest + "\n", 1);
  const std::string html =
      page_of({"search", "--index", index, "--embeddings", file("long.npy")});
  EXPECT_THAT(html, HasSubstr("<code>" + longest + "</code>"));
}

TEST_F(SearchCommand, TellsQueriesOfOneNameApart) {
  const std::string index = indexed("run.faiss");
  const std::string one = item(index, 0).at(0);
  const std::string other =
      file("other_folder/" + fs::path(one).filename().string());
  const std::string third = item(index, 1).at(0);
  fs::create_directories(fs::path(other).parent_path());
  fs::copy_file(one, other);
  const std::string html = page_of(
      {"search", "--index", index, "--image", one, other, third, "-k", "1"});
  EXPECT_THAT(html, HasSubstr("<h2>" + one + "</h2>"));
  EXPECT_THAT(html, HasSubstr("<h2>" + other + "</h2>"));
  EXPECT_THAT(
      html, HasSubstr("<h2>" + fs::path(third).filename().string() + "</h2>"));
}

TEST_F(SearchCommand, SaysThatNothingWasFound) {
  const std::string index = vectors("none", "left\n", 1);
  expect_success({"index", "remove", file("none.txt"), "--from", index});
  const std::string html =
      page_of({"search", "--index", index, "--embeddings", file("none.npy")});
  EXPECT_THAT(html, HasSubstr("<p>Nothing was found.</p>"));
  EXPECT_THAT(html, Not(HasSubstr("<ol")));
}

TEST_F(SearchCommand, WantsTheModelOfTheIndex) {
  const std::string index = indexed("run.faiss");
  const std::string image = item(index, 0).at(0);
  const std::string other = file("other_run");
  expect_success(
      train_arguments(file("tiny.yaml"), other,
                      {"--set", "train.epochs=1", "--set", "train.seed=1"}));
  expect_failure(
      1, {"search", "--index", index, "--image", image, "--model", other},
      {other, "not the weights", "--model", "--overwrite"});
  const std::string moved = file("moved_run");
  fs::rename(run(), moved);
  expect_failure(1, {"search", "--index", index, "--image", image},
                 {index, run(), "is gone", "--model"});
  expect_success(
      {"search", "--index", index, "--image", image, "--model", moved});
  fs::rename(moved, run());
}

TEST_F(SearchCommand, RefusesWrongUsage) {
  const std::string rows = file("rows.npy");
  Array matrix = make_array(DType::kF32, {1, 3});
  matrix.values<float>()[0] = 1;
  write_npy(rows, matrix);
  const std::string index = file("rows.faiss");
  expect_success({"index", rows, "--out", index});
  const std::string image = images() + "/none.png";
  expect_failure(2, {"search", "--index", index},
                 {"--image FILE", "--embeddings FILE.npy"});
  expect_failure(
      2, {"search", "--index", index, "--image", image, "--embeddings", rows},
      {"either"});
  expect_failure(2, {"search", "--index", index, "--image", image},
                 {index, "--model"});
  expect_failure(1, {"search", "--index", file("no"), "--embeddings", rows},
                 {file("no")});
  expect_failure(
      1, {"search", "--index", index, "--image", image, "--model", run()},
      {image});
  const std::string narrow = file("narrow.npy");
  Array other = make_array(DType::kF32, {1, 2});
  other.values<float>()[0] = 1;
  write_npy(narrow, other);
  expect_failure(1, {"search", "--index", index, "--embeddings", narrow},
                 {"2 dimensions", index});
}

}  // namespace
}  // namespace kith
