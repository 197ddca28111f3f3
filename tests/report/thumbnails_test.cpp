#include "kith/report/thumbnails.h"

#include <gtest/gtest.h>

#include "tests/support/log_capture.h"
#include "tests/support/scene.h"
#include "tests/support/torch/embedded_set.h"

namespace kith {
namespace {

TEST(Thumbnails, ArePngOrJpegWhicheverIsShorter) {
  Image drawing(64, 64, 1);
  EXPECT_TRUE(picture_uri(drawing).starts_with("data:image/png;base64,"));
  EXPECT_TRUE(
      picture_uri(draw_scene(1)).starts_with("data:image/jpeg;base64,"));
}

TEST(Thumbnails, FitASquareAndAreNeverEnlarged) {
  const GlyphList data({1, 2});
  const std::vector<Image> small = small_pictures(data, {1, 0}, 24);
  ASSERT_EQ(small.size(), 2U);
  EXPECT_EQ(small[0].width, 24);
  EXPECT_EQ(small[0].height, 24);
  EXPECT_EQ(small_pictures(data, {0}, 500)[0].pixels, data.load(0).pixels);
}

TEST(Thumbnails, AreInTheAlbumOnce) {
  const GlyphList data({5, 6, 7});
  Thumbnails thumbnails(data, 32);
  EXPECT_EQ(thumbnails.place(2), 0U);
  EXPECT_EQ(thumbnails.place(0), 1U);
  EXPECT_EQ(thumbnails.place(2), 0U);
  const Album album = thumbnails.album();
  ASSERT_EQ(album.pictures.size(), 2U);
  EXPECT_EQ(album.pictures[0].label, "class 7");
  EXPECT_EQ(album.pictures[0].path, "2.png");
  EXPECT_EQ(album.pictures[0].width, 32);
  EXPECT_EQ(album.pictures[0].uri,
            picture_uri(small_pictures(data, {2}, 32)[0]));
}

TEST(Thumbnails, ShowGreyForWhatCannotBeRead) {
  GlyphList data({1, 2, 3});
  data.damage(1);
  data.damage(2);
  const LogCapture log;
  const std::vector<Image> small = small_pictures(data, {0, 1, 2}, 16);
  EXPECT_EQ(small[1].width, 16);
  EXPECT_EQ(small[1].pixels, std::vector<uint8_t>(256, 160));
  ASSERT_EQ(log.warnings().size(), 1U);
  EXPECT_NE(log.warnings()[0].find("2 of 3 pictures"), std::string::npos);
  EXPECT_NE(log.warnings()[0].find("1.png: damaged"), std::string::npos);
}

TEST(Thumbnails, OfASheetHaveEqualCells) {
  const GlyphList data({1, 2, 3, 4, 5});
  const PictureSheet sheet = picture_sheet(data, {0, 1, 2, 3, 4}, 20);
  EXPECT_EQ(sheet.columns, 3);
  EXPECT_EQ(sheet.cell, 20);
  EXPECT_TRUE(sheet.uri.starts_with("data:image/"));
  EXPECT_EQ(picture_sheet(data, {}, 20).uri, "");
}

}  // namespace
}  // namespace kith
