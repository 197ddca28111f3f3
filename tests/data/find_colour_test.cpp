#include "kith/data/find_colour.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "kith/image/encode.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

/// A picture of one colour.
Image flat(uint8_t red, uint8_t green, uint8_t blue) {
  Image image(4, 4, 3);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    image.pixels[i] = red;
    image.pixels[i + 1] = green;
    image.pixels[i + 2] = blue;
  }
  return image;
}

/// Writes train/a, ... and returns the data set.
class Folder {
 public:
  void add(const std::string& place, const Image& image) const {
    const std::string path = dir_.file(place);
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    write_png(path, image);
  }

  std::string colour() const {
    ConfigNode section = ConfigNode::map();
    section.set("name", ConfigNode::text("folder"));
    section.set("path", ConfigNode::text(dir_.path()));
    return find_colour(*data_set_registry().make(section, "data"));
  }

 private:
  TempDir dir_;
};

TEST(FindColour, IsThatOfThePictures) {
  const Folder folder;
  folder.add("train/a/1.png", Image(4, 4, 1));
  folder.add("test/b/1.png", flat(200, 10, 10));  // decides nothing
  EXPECT_EQ(folder.colour(), "grey");
  folder.add("train/a/2.png", flat(200, 200, 200));
  EXPECT_EQ(folder.colour(), "grey");  // three channels, but no colours
  folder.add("train/a/3.png", flat(120, 124, 118));
  EXPECT_EQ(folder.colour(), "grey");  // nor are these any
  folder.add("train/a/4.png", flat(120, 140, 118));
  EXPECT_EQ(folder.colour(), "rgb");
}

TEST(FindColour, LooksAllOverTheList) {
  const Folder folder;
  for (int i = 0; i < 200; ++i) {
    const bool last_class = i >= 190;
    folder.add("train/" + std::string(last_class ? "z/" : "a/") +
                   std::to_string(1000 + i) + ".png",
               last_class ? flat(0, 0, 200) : Image(4, 4, 1));
  }
  EXPECT_EQ(folder.colour(), "rgb");
}

TEST(FindColour, IsKnownOfDataSetsThatAreDrawn) {
  EXPECT_EQ(usual_colour("glyphs"), "grey");
  EXPECT_EQ(usual_colour("landmarks"), "rgb");
  EXPECT_EQ(usual_colour("points"), "rgb");
  EXPECT_EQ(usual_colour("folder"), "auto");
  for (const char* name : {"glyphs", "landmarks"}) {
    ConfigNode section = ConfigNode::map();
    section.set("name", ConfigNode::text(name));
    const auto data = data_set_registry().make(section, "data");
    EXPECT_EQ(find_colour(*data), usual_colour(name)) << name;
  }
}

}  // namespace
}  // namespace kith
