#include "kith/run/diagnostics_file.h"

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(NearDuplicatesOfAFile, AreRead) {
  const TempDir dir;
  const auto found = read_near_duplicates(dir.write(
      "diagnostics.json",
      R"({"queries":3,"near_duplicates":{"rule":"alike","count":2,)"
      R"("test_images":1,"train_images":2,"listed":1,"pairs":[{"distance":3,)"
      R"("train":"a.png","train_class":"x","test":"b.png","test_class":"y"}]}})"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rule, "alike");
  EXPECT_EQ(found->count, 2);
  EXPECT_EQ(found->test_images, 1);
  EXPECT_EQ(found->train_images, 2);
  ASSERT_EQ(found->pairs.size(), 1U);
  EXPECT_EQ(found->pairs[0].train, "a.png");
  EXPECT_EQ(found->pairs[0].train_class, "x");
  EXPECT_EQ(found->pairs[0].test, "b.png");
  EXPECT_EQ(found->pairs[0].test_class, "y");
  EXPECT_EQ(found->pairs[0].distance, 3);
}

TEST(NearDuplicatesOfAFile, MayNotBeThere) {
  const TempDir dir;
  EXPECT_FALSE(read_near_duplicates(dir.write("d.json", "{\"queries\":3}")));
}

TEST(NearDuplicatesOfAFile, ThatIsNoneAreAnErrorWithItsName) {
  const TempDir dir;
  for (const char* text :
       {"", "[]", "3", "{\"near_duplicates\":3}",
        "{\"near_duplicates\":{\"count\":-1,\"pairs\":[]}}",
        "{\"near_duplicates\":{\"count\":1,\"pairs\":[{\"train\":3}]}}"}) {
    const std::string path = dir.write("d.json", text);
    expect_error<DataError>([&] { read_near_duplicates(path); },
                            path + ": not the diagnostics.json");
  }
}

}  // namespace
}  // namespace kith
