#include <filesystem>
#include <future>

#include "kith/serve/picture_store.h"
#include "tests/serve/routes_fixture.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

TEST_F(RoutesTest, WhatWaitedTooLongIsNotBegun) {
  RouteOptions options;
  options.request_seconds = 0;
  Routes routes(indexes_, metrics_, options);
  expect_refused(get_of(routes, "/api/items/1/image"), 503, "too long");
  EXPECT_EQ(get_of(routes, "/api/items/1").status, 200);  // needs no thread
}

TEST_F(RoutesTest, ASearchPastItsDeadlineIsNotEmbedded) {
  std::promise<std::string> told;
  service_.submit(
      indexes_.front()->now()->index, SmallIndex::picture(1), 3, "",
      [&told](const std::vector<SearchHit>& hits,
              const std::exception_ptr& error) {
        EXPECT_TRUE(hits.empty());
        try {
          if (error) std::rethrow_exception(error);
          told.set_value("");
        } catch (const BusyError& busy) {
          told.set_value(busy.what());
        }
      },
      std::chrono::steady_clock::now());
  EXPECT_THAT(told.get_future().get(), ::testing::HasSubstr("too long"));
}

class PicturesRootTest : public RoutesTest {
 protected:
  /// Routes of the index with a root; "" for none.
  std::unique_ptr<Routes> routes_below(const std::string& root) {
    indexes_.clear();
    indexes_.push_back(std::make_unique<ServedIndex>(
        ServedIndexOptions{.name = "index", .path = "", .pictures_root = root},
        small_.index(), FileMark{}, service_));
    return std::make_unique<Routes>(indexes_, metrics_, RouteOptions{});
  }
};

TEST_F(PicturesRootTest, ShowsWhatIsBelowIt) {
  const fs::path folder = fs::path(small_.paths()[0]).parent_path();
  for (const fs::path& root : {folder, folder.parent_path(), fs::path("/")}) {
    const auto routes = routes_below(root);
    EXPECT_EQ(get_of(*routes, "/api/items/3/image").status, 200) << root;
  }
}

TEST_F(PicturesRootTest, ShowsNothingElse) {
  const fs::path folder = fs::path(small_.paths()[0]).parent_path();
  const TempDir other;
  const std::string sibling = other.file("x");
  fs::create_directories(sibling);
  // Names that begin alike are not the same folder.
  for (const std::string& root :
       {sibling, other.path() + "/none", folder.string() + "/..x"}) {
    const auto routes = routes_below(root);
    expect_refused(get_of(*routes, "/api/items/3/image"), 404, "item 3");
  }
}

TEST_F(PicturesRootTest, SearchesFindWhatIsNotShown) {
  const TempDir other;
  const auto routes = routes_below(other.path());
  EXPECT_EQ(get_of(*routes, "/api/items/3/similar").status, 200);
}

TEST_F(PicturesRootTest, FollowsLinks) {
  const TempDir other;
  const fs::path folder = fs::path(small_.paths()[0]).parent_path();
  const std::string outside = other.file("outside.png");
  write_png(outside, draw_scene(1, 40, 30));
  const auto routes = routes_below(folder);
  EXPECT_EQ(get_of(*routes, "/api/items/5/image").status, 200);  // is kept now
  fs::remove(small_.paths()[5]);
  fs::create_symlink(outside, small_.paths()[5]);
  expect_refused(get_of(*routes, "/api/items/5/image"), 404, "item 5");
  // A root that is a link is the folder that it leads to.
  const std::string link = other.file("link");
  fs::create_symlink(folder, link);
  const auto by_link = routes_below(link);
  EXPECT_EQ(get_of(*by_link, "/api/items/3/image").status, 200);
}

TEST(ItemPicture, SaysWhyItIsNotShown) {
  const SmallIndex small;
  const TempDir other;
  expect_error<ItemPictureError>(
      [&] {
        item_picture({3, small.paths()[3], other.path()});
      },
      small.paths()[3] + " is not shown", "not below " + other.path());
}

}  // namespace
}  // namespace kith
