#include "kith/use/contact_sheet.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/data/augment.h"
#include "kith/image/decode.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<DataSet> few_glyphs() {
  return make_data_set(
      parse_config("{name: glyphs, classes: 8, per_class: 3}", "test"));
}

TEST(ContactSheet, ShowsTheViewsOfTraining) {
  const RunConfig config = complete_config(parse_config(
      "data: {name: glyphs, classes: 8, per_class: 3}\n"
      "augment: [{name: affine, degrees: 40}, {name: random_erasing, p: 1}]\n"
      "model: {input: {size: 32}}\n",
      "test"));
  const ContactSheet sheet =
      show_training_views(config, {.images = 3, .views = 4});
  EXPECT_THAT(sheet.lead, HasSubstr("affine (degrees: 40"));
  EXPECT_THAT(sheet.lead, HasSubstr("then random_erasing"));
  ASSERT_EQ(sheet.rows.size(), 3u);
  for (const SheetRow& row : sheet.rows) {
    ASSERT_EQ(row.pictures.size(), 5u);
    EXPECT_EQ(row.pictures[1].width, 32);
    EXPECT_NE(row.pictures[1].pixels, row.pictures[0].pixels);
    EXPECT_NE(row.pictures[1].pixels, row.pictures[2].pixels);
  }
  const ContactSheet again =
      show_training_views(config, {.images = 3, .views = 4});
  EXPECT_EQ(again.rows[2].pictures[4].pixels, sheet.rows[2].pictures[4].pixels);
  const ContactSheet other =
      show_training_views(config, {.images = 3, .views = 4, .seed = 1});
  EXPECT_NE(other.rows[2].pictures[4].pixels, sheet.rows[2].pictures[4].pixels);
}

TEST(ContactSheet, ShowsEveryAugmentation) {
  const ContactSheet sheet = show_augmentations(*few_glyphs(), {.views = 2});
  ASSERT_EQ(sheet.rows.size(), augmentation_registry().names().size());
  for (const SheetRow& row : sheet.rows) {
    EXPECT_EQ(row.pictures.size(), 3u);
    EXPECT_THAT(row.text,
                HasSubstr(augmentation_registry().at(row.title, "").summary));
  }
}

TEST(ContactSheet, IsAPageOrAPicture) {
  const TempDir folder;
  const ContactSheet sheet =
      show_images(*few_glyphs(), {.images = 2, .views = 3});
  ASSERT_EQ(sheet.rows.size(), 2u);
  write_contact_sheet(sheet, folder.file("new/sheet.png"));
  const Image picture = decode_image(folder.file("new/sheet.png"));
  EXPECT_GT(picture.width, picture.height);
  write_contact_sheet(sheet, folder.file("sheet.html"));
  const std::string page = read_file(folder.file("sheet.html"), 1 << 24);
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,"));
  EXPECT_THAT(page, HasSubstr("Row 2"));
  expect_error<ConfigError>(
      [&] { write_contact_sheet(sheet, folder.file("sheet.gif")); },
      "sheet.gif", ".html", ".png");
  expect_error<ConfigError>([] { show_images(*few_glyphs(), {.views = 0}); },
                            "views");
}

}  // namespace
}  // namespace kith
