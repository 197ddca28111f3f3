// The tasks that protocols make of a data set's list.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Indices = std::vector<int64_t>;

std::unique_ptr<Protocol> protocol(const std::string& name) {
  return protocol_registry().make(parse_config("{name: " + name + "}", "test"),
                                  "protocol");
}

/// `count` images, one of training first, then of test.
ImageList test_list(int64_t count) {
  ImageList list;
  list.items.resize(static_cast<size_t>(count));
  for (size_t i = 1; i < list.items.size(); ++i) {
    list.items[i].split = Split::kTest;
    list.items[i].label = static_cast<int64_t>(i);
    list.items[i].path = std::to_string(i) + ".jpg";
  }
  return list;
}

/// Three gallery images, two queries; the first image is a training one.
ImageList revisited_list() {
  ImageList list = test_list(6);
  list.has_query_gallery = true;
  for (size_t i = 1; i < 6; ++i) {
    list.items[i].is_query = i % 2 == 0;
    list.items[i].is_gallery = i % 2 == 1;
  }
  list.truths = {{2, {1}, {5}, {3}}, {4, {}, {1}, {}}};
  return list;
}

TEST(RevisitedProtocol, HasATaskForEachSetting) {
  const auto tasks =
      eval_tasks(*protocol("revisited"), revisited_list(), Split::kTest);
  ASSERT_EQ(tasks.size(), 3u);
  for (const EvalTask& task : tasks) {
    EXPECT_THAT(task.queries, ElementsAre(2, 4));
    EXPECT_THAT(task.gallery, ElementsAre(1, 3, 5));
    EXPECT_EQ(task.lists.positives.size(), 2u);
    EXPECT_EQ(task.lists.junk.size(), 2u);
  }
  // Positions in the gallery: images 1, 3, 5 are 0, 1, 2.
  EXPECT_EQ(tasks[0].name, "easy");
  EXPECT_THAT(tasks[0].lists.positives, ElementsAre(ElementsAre(0), IsEmpty()));
  EXPECT_THAT(tasks[0].lists.junk,
              ElementsAre(ElementsAre(1, 2), ElementsAre(0)));
  EXPECT_EQ(tasks[1].name, "medium");
  EXPECT_THAT(tasks[1].lists.positives,
              ElementsAre(ElementsAre(0, 2), ElementsAre(0)));
  EXPECT_EQ(tasks[2].name, "hard");
  EXPECT_THAT(tasks[2].lists.positives,
              ElementsAre(ElementsAre(2), ElementsAre(0)));
}

TEST(RevisitedProtocol, NeedsLists) {
  expect_error<DataError>(
      [] { protocol("revisited")->tasks(test_list(3), Split::kTest); },
      "protocol 'revisited'", "data set 'revisited'");
  expect_error<DataError>(
      [] { protocol("revisited")->tasks(revisited_list(), Split::kTrain); },
      "train split");
  ImageList list = revisited_list();
  list.truths[1].junk = {2};
  expect_error<DataError>(
      [&] { protocol("revisited")->tasks(list, Split::kTest); }, "2.jpg",
      "4.jpg", "not in the gallery");
}

TEST(ListedProtocol, HasOneTaskOfAllRightAnswers) {
  ImageList list = revisited_list();
  // A query may be in the gallery, and is not its own answer.
  list.items[2].is_gallery = true;
  const auto tasks = eval_tasks(*protocol("listed"), list, Split::kTest);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].name, "");
  EXPECT_THAT(tasks[0].queries, ElementsAre(2, 4));
  EXPECT_THAT(tasks[0].gallery, ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(tasks[0].lists.positives,
              ElementsAre(ElementsAre(0, 3), ElementsAre(0)));
  EXPECT_THAT(tasks[0].lists.junk, ElementsAre(ElementsAre(2), IsEmpty()));
  expect_error<DataError>(
      [] { protocol("listed")->tasks(test_list(3), Split::kTest); },
      "protocol 'listed'", "validation: queries");
}

TEST(GldV2Protocol, HasATaskForEachListOfQueries) {
  ImageList list = revisited_list();
  list.truths = {{2, {1, 5}, {}, {}}, {4, {3}, {}, {}}};
  list.lists = {{"public", {2}}, {"private", {4}}};
  const auto tasks = eval_tasks(*protocol("gldv2"), list, Split::kTest);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].name, "private");
  EXPECT_THAT(tasks[0].queries, ElementsAre(4));
  EXPECT_THAT(tasks[0].gallery, ElementsAre(1, 3, 5));
  EXPECT_THAT(tasks[0].lists.positives, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(tasks[0].lists.junk, ElementsAre(IsEmpty()));
  EXPECT_EQ(tasks[1].name, "public");
  EXPECT_THAT(tasks[1].queries, ElementsAre(2));
  EXPECT_THAT(tasks[1].lists.positives, ElementsAre(ElementsAre(0, 2)));
  list.lists.erase("public");
  EXPECT_EQ(protocol("gldv2")->tasks(list, Split::kTest).size(), 1u);
  expect_error<DataError>(
      [&] { protocol("gldv2")->tasks(list, Split::kTrain); },
      "protocol 'gldv2'", "train split", "data set 'gldv2'");
}

TEST(InshopProtocol, SearchesQueriesInTheGallery) {
  ImageList list = revisited_list();
  const auto tasks = eval_tasks(*protocol("inshop"), list, Split::kTest);
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0].name, "");
  EXPECT_THAT(tasks[0].queries, ElementsAre(2, 4));
  EXPECT_THAT(tasks[0].gallery, ElementsAre(1, 3, 5));
  EXPECT_TRUE(tasks[0].lists.empty());
  list.has_query_gallery = false;
  expect_error<DataError>(
      [&] { protocol("inshop")->tasks(list, Split::kTest); },
      "protocol 'inshop'", "is_query");
}

/// Vehicles of one, two and three images in two lists.
ImageList vehicle_list() {
  ImageList list = test_list(13);
  for (size_t i = 1; i < 13; ++i) {
    const std::vector<int64_t> labels = {7, 5, 5, 9, 9, 9};
    list.items[i].label = labels[(i - 1) % 6] + (i > 6 ? 10 : 0);
  }
  list.lists["small"] = {1, 2, 3, 4, 5, 6};
  list.lists["large"] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  return list;
}

TEST(VehicleIdProtocol, SearchesEachListAmongItself) {
  const ImageList list = vehicle_list();
  const auto tasks = eval_tasks(*protocol("vehicleid"), list, Split::kTest);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].name, "small");
  EXPECT_EQ(tasks[1].name, "large");
  for (const EvalTask& task : tasks) {
    EXPECT_EQ(task.queries, list.lists.at(task.name));
    EXPECT_EQ(task.gallery, task.queries);
    EXPECT_TRUE(task.lists.empty());
  }
}

// Otherwise train.validation could not be used with VehicleID.
TEST(VehicleIdProtocols, SearchHeldOutClassesAmongThemselves) {
  ImageList list = vehicle_list();
  for (Item& item : list.items) item.split = Split::kValidation;
  list.lists.clear();
  for (const char* name : {"vehicleid", "vehicleid_reid"}) {
    const auto tasks = eval_tasks(*protocol(name), list, Split::kValidation);
    ASSERT_FALSE(tasks.empty());
    EXPECT_EQ(tasks[0].name, "validation");
  }
}

TEST(VehicleIdProtocols, NameTheListsTheyNeed) {
  ImageList list = vehicle_list();
  for (const char* name : {"vehicleid", "vehicleid_reid"}) {
    const auto made = protocol(name);
    expect_error<DataError>([&] { made->tasks(list, Split::kTrain); },
                            "protocol '" + std::string(name) + "'",
                            "train split");
    expect_error<DataError>([&] { made->tasks(test_list(4), Split::kTest); },
                            "protocol '" + std::string(name) + "'",
                            "'small', 'medium' or 'large'");
  }
}

TEST(VehicleIdReidProtocol, DrawsAnImageOfEachVehicle) {
  const ImageList list = vehicle_list();
  const auto tasks =
      eval_tasks(*protocol("vehicleid_reid"), list, Split::kTest);
  ASSERT_EQ(tasks.size(), 20u);
  std::map<std::string, std::set<Indices>> galleries;
  for (size_t t = 0; t < tasks.size(); ++t) {
    const EvalTask& task = tasks[t];
    EXPECT_EQ(task.name, t < 10 ? "small" : "large");
    EXPECT_EQ(task.gallery.size(), t < 10 ? 3u : 6u);
    std::set<int64_t> vehicles;
    for (const int64_t label : list.labels(task.gallery)) {
      EXPECT_TRUE(vehicles.insert(label).second);
    }
    Indices all = task.gallery;
    all.insert(all.end(), task.queries.begin(), task.queries.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, list.lists.at(task.name));
    EXPECT_TRUE(std::is_sorted(task.queries.begin(), task.queries.end()));
    EXPECT_TRUE(std::is_sorted(task.gallery.begin(), task.gallery.end()));
    galleries[task.name].insert(task.gallery);
  }
  EXPECT_GT(galleries["small"].size(), 2u);
  EXPECT_GT(galleries["large"].size(), 4u);
}

TEST(VehicleIdReidProtocol, DrawsTheSameEveryTime) {
  const auto galleries = [](const ImageList& list) {
    std::vector<Indices> found;
    const auto made = protocol("vehicleid_reid");
    for (const EvalTask& task : made->tasks(list, Split::kTest)) {
      if (task.name == "large") found.push_back(task.gallery);
    }
    return found;
  };
  const ImageList list = vehicle_list();
  const auto drawn = galleries(list);
  EXPECT_EQ(drawn.size(), 10u);
  EXPECT_EQ(galleries(list), drawn);
  // A draw does not depend on the other lists.
  ImageList large = list;
  large.lists.erase("small");
  EXPECT_EQ(galleries(large), drawn);
}

TEST(Protocols, KnowTheMetricsTheyArePublishedWith) {
  const std::map<std::string, std::vector<std::string>> expected = {
      {"gldv2", {"map@100"}},
      {"inshop", {"recall_any@1,10,20,30,40,50"}},
      {"revisited", {"map_trapezoid", "mp@1,5,10"}},
      {"vehicleid", {"recall_any@1,5"}},
      {"vehicleid_reid", {"recall_any@1,5"}}};
  for (const auto& [name, metrics] : expected) {
    EXPECT_EQ(protocol(name)->metrics(), metrics);
    EXPECT_FALSE(parse_metrics(metrics).empty());
  }
}

}  // namespace
}  // namespace kith
