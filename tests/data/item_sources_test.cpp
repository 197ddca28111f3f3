#include "kith/data/item_sources.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

ImageList list_of(const std::vector<std::string>& paths) {
  ImageList list;
  for (const std::string& path : paths) {
    list.items.emplace_back();
    list.items.back().path = path;
  }
  return list;
}

TEST(ItemSources, AcceptsDifferentPaths) {
  ItemSources sources;
  sources.check_once(list_of({}));
  sources.add("a.txt", 3);
  sources.add("a.txt", 3);
  sources.add("b.txt", 1);
  sources.check_once(list_of({"x", "y", "z"}));
  EXPECT_EQ(sources.where(1), "a.txt:3");
  EXPECT_EQ(sources.where(2), "b.txt:1");
}

TEST(ItemSources, NamesTheFirstThatComesAgain) {
  ItemSources sources;
  std::vector<std::string> paths;
  for (int i = 0; i < 100; ++i) {
    sources.add(i < 50 ? "a.txt" : "b.txt", i + 1);
    paths.push_back(std::to_string(i));
  }
  paths[60] = paths[70] = paths[7];
  paths[90] = paths[5];
  expect_error<DataError>([&] { sources.check_once(list_of(paths)); },
                          "b.txt:61: '7' is there twice, first at a.txt:8");
}

}  // namespace
}  // namespace kith
