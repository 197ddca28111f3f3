// A part made of its options in C++ equals the one that a configuration names:
// every augmentation, corruption and data set.
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/data/augmentations.h"
#include "kith/data/corruptions.h"
#include "kith/data/file_sets.h"
#include "kith/data/generated_sets.h"
#include "kith/data/published_sets.h"
#include "tests/support/log_capture.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"
#include "tests/support/published_sets.h"
#include "tests/support/raw_images.h"
#include "tests/support/raw_tar.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

/// A part of each form; `yaml` has the options after the name: ", p: 0.3".
template <class Base>
struct TwoForms {
  std::string name;
  std::string yaml;
  std::shared_ptr<Base> typed;
};

template <class Part, class Base>
TwoForms<Base> two_forms(const std::string& name, const std::string& yaml,
                         typename Part::Options options) {
  return {name, yaml, std::make_shared<Part>(std::move(options))};
}

template <class Base>
std::unique_ptr<Base> named(const Registry<Base>& registry,
                            const TwoForms<Base>& part) {
  return registry.make(
      parse_config("{name: " + part.name + part.yaml + "}", "r"), "part");
}

/// Every part of the registry must be in its table.
template <class Base>
void expect_all(const Registry<Base>& registry,
                const std::vector<TwoForms<Base>>& table) {
  std::set<std::string> names;
  for (const auto& part : table) names.insert(part.name);
  const std::vector<std::string> all = registry.names();
  EXPECT_EQ(names, std::set<std::string>(all.begin(), all.end()));
}

/// The same draws must make the same pixels of both.
template <class Base>
void expect_equal_pictures(const Registry<Base>& registry,
                           const std::vector<TwoForms<Base>>& table) {
  expect_all(registry, table);
  const Image image = noise_picture(40, 30, 3);
  for (const auto& part : table) {
    SCOPED_TRACE(part.name + part.yaml);
    const auto other = named(registry, part);
    bool changes = false;
    for (int64_t key = 0; key < 20; ++key) {
      Rng rng(1, Stream::kAugment, {key});
      Rng same(1, Stream::kAugment, {key});
      const Image typed = part.typed->apply(image, rng);
      const Image made = other->apply(image, same);
      EXPECT_EQ(typed.width, made.width);
      EXPECT_EQ(typed.height, made.height);
      EXPECT_EQ(typed.pixels, made.pixels);
      changes |= typed.pixels != image.pixels;
    }
    EXPECT_TRUE(changes);
  }
}

TEST(TypedParts, AugmentationsEqualThoseOfAConfiguration) {
  using A = Augmentation;
  expect_equal_pictures<A>(
      augmentation_registry(),
      {two_forms<AffineAugmentation, A>("affine", ", degrees: 40, scale: 0.3",
                                        {.degrees = 40, .scale = 0.3}),
       two_forms<AffineAugmentation, A>("affine", "", {}),
       two_forms<FlipAugmentation, A>("flip", ", p: 0.3", {.p = 0.3}),
       two_forms<ResizeAugmentation, A>("resize", ", size: 13, filter: bicubic",
                                        {.size = 13, .filter = "bicubic"}),
       two_forms<CenterCropAugmentation, A>("center_crop", ", size: 12",
                                            {.size = 12}),
       two_forms<RandomCropAugmentation, A>("random_crop", ", size: 9",
                                            {.size = 9}),
       two_forms<RandomResizedCropAugmentation, A>(
           "random_resized_crop", ", size: 16, scale: [0.2, 0.9]",
           {.size = 16, .scale = {0.2, 0.9}}),
       two_forms<ColourJitterAugmentation, A>("colour_jitter", ", hue: 0.2",
                                              {.hue = 0.2}),
       two_forms<GreyAugmentation, A>("grey", ", p: 0.6", {.p = 0.6}),
       two_forms<RandomBlurAugmentation, A>("gaussian_blur", ", p: 0.7",
                                            {.p = 0.7}),
       two_forms<RandomErasingAugmentation, A>("random_erasing", ", p: 0.8",
                                               {.p = 0.8}),
       two_forms<RandAugmentAugmentation, A>("rand_augment", "", {}),
       two_forms<MultiCropAugmentation, A>("multi_crop", ", size: 16",
                                           {.size = 16})});
}

TEST(TypedParts, CorruptionsEqualThoseOfAConfiguration) {
  using C = Corruption;
  expect_equal_pictures<C>(
      corruption_registry(),
      {two_forms<CutoutCorruption, C>("cutout", ", count: 5, size: 0.1",
                                      {.count = 5, .size = 0.1}),
       two_forms<DropoutCorruption, C>("dropout", ", max_share: 0.5",
                                       {.max_share = 0.5}),
       two_forms<GaussianNoiseCorruption, C>(
           "gaussian_noise", ", max_deviation: 60", {.max_deviation = 60}),
       two_forms<SaltAndPepperCorruption, C>("salt_and_pepper", ", share: 0.2",
                                             {.share = 0.2}),
       two_forms<UniformNoiseCorruption, C>("uniform_noise", ", max_shift: 90",
                                            {.max_shift = 90}),
       two_forms<GaussianBlurCorruption, C>(
           "gaussian_blur", ", sigma: [0.5, 5]", {.sigma = {0.5, 5}}),
       two_forms<JpegCorruption, C>("jpeg", ", compression: [10, 40]",
                                    {.compression = {10, 40}}),
       two_forms<PerspectiveCorruption, C>("perspective", ", scale: [0.2, 0.3]",
                                           {.scale = {0.2, 0.3}}),
       two_forms<RotationCorruption, C>("rotation", ", max_degrees: 90",
                                        {.max_degrees = 90}),
       two_forms<RotationCorruption, C>("rotation", "", {})});
}

/// Small trees of the data sets that are read from files, a folder for each.
class TypedSets : public ::testing::Test {
 protected:
  TypedSets() {
    for (const char* name : {"cars196", "cub200", "sop", "folder"}) {
      dirs_.push_back(std::make_unique<TempDir>());
      places_[name] = dirs_.back().get();
    }
    write_cars_one_file(tree("cars196"));
    write_cub(tree("cub200"));
    write_sop(tree("sop"), "", "");
    write_picture(tree("folder"), "a/1.png");
    write_picture(tree("folder"), "b/1.png");
    write_files("csv", {{"dataset.csv", "path,label,split\na.png,1,train\n"}},
                "a.png");
    write_files("oml",
                {{"df.csv",
                  "label,path,split,is_query,is_gallery,x_1,x_2,y_1,y_2\n"
                  "3,a.png,validation,True,True,1,4,0,3\n"}},
                "a.png");
    write_files("webdataset",
                {{"a.tar", raw_tar({{"a.json", R"({"a": 1})"},
                                    {"a.png", raw_png({.rows = {0, 0}})}})}},
                "a.png");
    write_files("gldv1",
                {{"train.csv", "id,url,landmark_id\naaa,u,6\nbbb,u,7\n"}},
                "train/aaa.jpg");
    write_files("gldv2", {{"train.csv", "id,url,landmark_id\nabc1,u,5\n"}},
                "train/a/b/c/abc1.jpg");
    write_files("inaturalist",
                {{"Inaturalist_train_set1.txt", "train_val2018/A/1/a.jpg\n"},
                 {"Inaturalist_test_set1.txt", "train_val2018/B/2/b.jpg\n"}},
                "train_val2018/A/1/a.jpg");
    write_files("inshop",
                {{"list_eval_partition.txt",
                  "1\nimage_name item_id evaluation_status\n"
                  "img/W/D/id_00000002/a.jpg id_00000002 train\n"}},
                "img_highres/W/D/id_00000002/a.jpg");
    write_files("vehicleid",
                {{"train_test_split/train_list.txt", "1 10\n"},
                 {"train_test_split/test_list_800.txt", "2 20\n"},
                 {"train_test_split/test_list_1600.txt", "2 20\n"},
                 {"train_test_split/test_list_2400.txt", "2 20\n"}},
                "image/0000001.jpg");
    write_files("revisited",
                {{"truth.json",
                  R"({"imlist": ["a"], "qimlist": ["a"], "gnd":
                      [{"bbx": [1, 0, 3, 2], "easy": [0], "hard": [],
                        "junk": []}]})"}},
                "pictures/a.jpg");
    write_files("sfm120k", {}, "ims/ef/cd/ab/abcdef");
    std::filesystem::copy(golden_dir() + "/sfm120k/lists.pkl",
                          tree("sfm120k").file("retrieval-SfM-120k.pkl"));
  }

  const TempDir& tree(const std::string& name) const {
    return *places_.at(name);
  }

  void write_files(const std::string& name,
                   const std::map<std::string, std::string>& files,
                   const std::string& picture) {
    dirs_.push_back(std::make_unique<TempDir>());
    places_[name] = dirs_.back().get();
    for (const auto& [path, text] : files) {
      write_in_tree(tree(name), path, text);
    }
    write_picture(tree(name), picture);
  }

  template <class Set>
  TwoForms<DataSet> in_tree(const std::string& name, const std::string& yaml,
                            typename Set::Options options) const {
    options.path = tree(name).path();
    return two_forms<Set, DataSet>(name, ", path: " + tree(name).path() + yaml,
                                   std::move(options));
  }

  std::vector<std::unique_ptr<TempDir>> dirs_;
  std::map<std::string, const TempDir*> places_;
  LogCapture log_;
};

std::string text_of(const Item& item) {
  return item.path + " " + std::to_string(item.label) + " " +
         split_name(item.split) + " " + item.category + " " +
         std::to_string(item.is_query) + std::to_string(item.is_gallery) +
         std::to_string(item.quarter_turns) +
         (item.box ? " " + describe(*item.box) : "");
}

TEST_F(TypedSets, EqualThoseOfAConfiguration) {
  const std::vector<TwoForms<DataSet>> table = {
      in_tree<Cars196DataSet>("cars196", ", crop_boxes: true",
                              {.crop_boxes = true}),
      in_tree<Cub200DataSet>("cub200", ", crop_boxes: true",
                             {.crop_boxes = true}),
      in_tree<SopDataSet>("sop", "", {}),
      in_tree<FolderDataSet>("folder",
                             ", test_fraction: 0, rotate_classes: true",
                             {.test_fraction = 0, .rotate_classes = true}),
      in_tree<CsvDataSet>("csv", ", rotate_classes: true",
                          {.rotate_classes = true}),
      in_tree<OmlDataSet>("oml", ", crop_boxes: true", {.crop_boxes = true}),
      in_tree<WebDataset>("webdataset", ", label: json.a, test_fraction: 0.25",
                          {.label = "json.a", .test_fraction = 0.25}),
      in_tree<GldV1DataSet>("gldv1", ", images: train, missing: skip",
                            {.images = "train", .missing = "skip"}),
      in_tree<GldV2DataSet>("gldv2", ", clean: false", {.clean = false}),
      in_tree<INaturalistDataSet>("inaturalist", "", {}),
      in_tree<InShopDataSet>("inshop", ", images: img_highres",
                             {.images = "img_highres"}),
      in_tree<VehicleIdDataSet>("vehicleid", "", {}),
      in_tree<Sfm120kDataSet>("sfm120k", "", {}),
      in_tree<RevisitedDataSet>(
          "revisited", ", ground_truth: truth.json, images: pictures",
          {.ground_truth = "truth.json", .images = "pictures"}),
      two_forms<GlyphsDataSet, DataSet>(
          "glyphs", ", classes: 4, per_class: 2, seed: 9",
          {.classes = 4, .per_class = 2, .seed = 9}),
      two_forms<LandmarksDataSet, DataSet>("landmarks",
                                           ", classes: 2, per_class: 5",
                                           {.classes = 2, .per_class = 5}),
      two_forms<PointsDataSet, DataSet>("points",
                                        ", setting: vertical, samples: 3",
                                        {.setting = "vertical", .samples = 3}),
  };
  expect_all(data_set_registry(), table);
  for (const auto& part : table) {
    SCOPED_TRACE(part.name + part.yaml);
    const auto other = named(data_set_registry(), part);
    const std::vector<Item>& items = part.typed->list().items;
    ASSERT_EQ(items.size(), other->list().items.size());
    int64_t loaded = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(text_of(items[i]), text_of(other->list().items[i]));
      const bool is_file = items[i].path.starts_with('/') && items[i].place < 0;
      if (is_file && !std::filesystem::exists(items[i].path)) continue;
      const auto index = static_cast<int64_t>(i);
      EXPECT_EQ(part.typed->load(index).pixels, other->load(index).pixels);
      ++loaded;
    }
    // The pictures that the list of sfm120k names are not in the tree.
    EXPECT_TRUE(loaded > 0 || part.name == "sfm120k");
    EXPECT_EQ(part.typed->traits().published.has_value(),
              other->traits().published.has_value());
    EXPECT_STREQ(part.typed->traits().protocol, other->traits().protocol);
    // What a run on it says in its configuration.
    EXPECT_EQ(to_yaml(part.typed->section()),
              to_yaml(data_set_registry().complete(
                  parse_config("{name: " + part.name + part.yaml + "}", "r"),
                  "data")));
  }
}

TEST_F(TypedSets, WithoutAPathAreRefused) {
  EXPECT_THROW(Cub200DataSet({}), ConfigError);
  EXPECT_THROW(
      FolderDataSet({.path = tree("folder").path(), .test_fraction = 2}),
      ConfigError);
}

}  // namespace
}  // namespace kith
