#include "kith/serve/kept_pictures.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/index/kinds.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(KeptPictures, TakesIdsThatAreNoPaths) {
  for (const char* good : {"a", "bird-7", "IMG_0001.jpg", "0", "-", "a.."}) {
    EXPECT_TRUE(is_item_id(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."),
        std::string(".hidden"), std::string("a/b"), std::string("a b"),
        std::string("\xc3\xa9"), std::string("a\0b", 3),
        std::string(101, 'a')}) {
    EXPECT_FALSE(is_item_id(bad)) << bad;
  }
}

TEST(KeptPictures, NamesFilesByIdAndContents) {
  const TempDir folder;
  const std::string index = folder.file("birds.faiss");
  KeptPictures pictures(index);
  const std::string path = pictures.path_of("bird.7", "\xff\xd8\xff data");
  EXPECT_THAT(path, ::testing::MatchesRegex(
                        ".*/birds.faiss.pictures/bird.7.[0-9a-f]+.jpg"));
  EXPECT_NE(path, pictures.path_of("bird.7", "\xff\xd8\xff other"));
  EXPECT_EQ(pictures.id_of(path), "bird.7");
  EXPECT_EQ(pictures.file_of(path), path);
  // An index that has moved finds its own.
  const TempDir other;
  const KeptPictures moved(other.file("birds.faiss"));
  EXPECT_EQ(moved.id_of(path), "bird.7");
  EXPECT_EQ(moved.file_of(path),
            other.file("birds.faiss.pictures") + path.substr(path.rfind('/')));
  // All others are called what they are.
  for (const std::string& file :
       {std::string("17"), std::string("/data/a.png"),
        std::string("/x/cars.faiss.pictures/a.0123456789abcdef.jpg"),
        std::string("/x/xbirds.faiss.pictures/a.0123456789abcdef.jpg"),
        std::string("/x/birds.faiss.pictures/a.jpg"),
        std::string("/x/birds.faiss.pictures/.0123456789abcdef.jpg")}) {
    EXPECT_EQ(pictures.id_of(file), file);
    EXPECT_EQ(pictures.file_of(file), file);
  }
}

TEST(KeptPictures, RemovesOnlyWhatItKeeps) {
  const TempDir folder;
  KeptPictures pictures(folder.file("birds.faiss"));
  const std::string mine = pictures.path_of("a", "GIF89a mine");
  const std::string left = pictures.path_of("b", "GIF89a left");
  pictures.keep({{mine, "GIF89a mine"}, {left, "GIF89a left"}});
  pictures.keep({{left, "GIF89a left"}});
  EXPECT_EQ(pictures.bytes(), 22);
  const std::string own = folder.file("birds.faiss.pictures/notes.txt");
  write_file(own, "of the user");

  auto vectors = std::make_unique<ExactIndex>(2);
  vectors->add(torch::eye(2));
  const std::string user = folder.write("user.png", "x");
  StoredIndex index(std::move(vectors), ItemTable({{mine, ""}, {user, ""}}),
                    {});
  EXPECT_THAT(pictures.count(index), ::testing::ElementsAre(left));
  EXPECT_EQ(pictures.bytes(), 22);
  pictures.drop(left);

  pictures.drop(user);
  pictures.drop(own);
  EXPECT_TRUE(std::filesystem::exists(user));
  EXPECT_TRUE(std::filesystem::exists(own));
  pictures.drop(mine);
  EXPECT_FALSE(std::filesystem::exists(mine));
  EXPECT_EQ(pictures.bytes(), 0);
}

}  // namespace
}  // namespace kith
