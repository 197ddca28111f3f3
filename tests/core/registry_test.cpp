#include "kith/core/registry.h"

#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/option_info.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

class Shape {
 public:
  virtual ~Shape() = default;
  virtual double area() const = 0;
};

struct BoxOptions {
  double width = 2.0;
  double height = 3.0;

  void describe(OptionSet& set) {
    set.add("width", width, "Width of the box.").positive();
    set.add("height", height, "Height of the box.");
  }
};

class Box final : public Shape {
 public:
  static constexpr const char* kSummary = "a box";
  using Options = BoxOptions;

  Box(const Options& options, double scale)
      : area_(options.width * options.height * scale) {
    if (options.width < options.height / 10) {
      throw ConfigError("'box.width' is too small for 'box.height'");
    }
    if (options.height == 77) throw DataError("f.csv: no 'box.height' 77");
  }
  double area() const override { return area_; }

 private:
  double area_;
};

class Point final : public Shape {
 public:
  static constexpr const char* kSummary = "a point";
  using Options = NoOptions;

  Point(const Options&, double) {}
  double area() const override { return 0.0; }
};

using ShapeRegistry = Registry<Shape, double>;

ShapeRegistry& shape_registry() {
  static ShapeRegistry registry("shape");
  return registry;
}

KITH_REGISTER(shape_registry(), "box", Box);
KITH_REGISTER(shape_registry(), "point", Point);

ConfigNode section(const std::string& yaml) {
  return *parse_config(yaml, "r.yaml").find("shape");
}

template <typename... Parts>
void expect_shape_refused(const std::string& yaml, const Parts&... parts) {
  expect_error<ConfigError>(
      [&] { shape_registry().make(section(yaml), "shape", 1.0); }, parts...);
  expect_error<ConfigError>(
      [&] { shape_registry().complete(section(yaml), "shape"); }, parts...);
}

TEST(Registry, MakesThePartThatIsNamed) {
  const auto box =
      shape_registry().make(section("shape: {name: box, width: 5}"), "", 2.0);
  EXPECT_EQ(box->area(), 30.0);
  const auto point =
      shape_registry().make(section("shape: {name: point}"), "", 2.0);
  EXPECT_EQ(point->area(), 0.0);
}

TEST(Registry, CompletesASection) {
  const ConfigNode box = shape_registry().complete(
      section("shape: {height: 7, name: box}"), "shape");
  EXPECT_EQ(to_yaml(box), "name: box\nwidth: 2\nheight: 7\n");
  const ConfigNode point =
      shape_registry().complete(section("shape: {name: point}"), "shape");
  EXPECT_EQ(to_yaml(point), "name: point\n");
  EXPECT_EQ(shape_registry().make(box, "shape", 1.0)->area(), 14.0);
}

TEST(Registry, ListsItsPartsAndTheirOptions) {
  EXPECT_EQ(shape_registry().kind(), "shape");
  EXPECT_EQ(shape_registry().names(),
            (std::vector<std::string>{"box", "point"}));
  const ShapeRegistry::Entry& box = shape_registry().at("box", "");
  EXPECT_EQ(box.summary, "a box");
  const std::vector<OptionInfo> options = box.options();
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(options[0].name, "width");
  EXPECT_EQ(options[0].type, "float");
  EXPECT_EQ(options[0].constraint, "greater than 0");
  EXPECT_EQ(options[0].help, "Width of the box.");
  EXPECT_EQ(options[0].default_value.scalar, "2");
  EXPECT_TRUE(shape_registry().at("point", "").options().empty());
}

TEST(Registry, NamesTheNearestOfAnUnknownName) {
  expect_shape_refused("shape:\n  width: 1\n  name: boks\n",
                       "r.yaml:3: unknown shape 'boks'", "did you mean 'box'?",
                       "box, point");
  expect_shape_refused("shape: {name: dodecahedron}", "unknown shape",
                       "box, point");
}

TEST(Registry, NamesTheOverrideThatGaveAnUnknownName) {
  ConfigNode root = parse_config("shape: {name: box}", "r.yaml");
  apply_override(root, "shape.name=boks");
  expect_error<ConfigError>(
      [&] { shape_registry().make(*root.find("shape"), "shape", 1.0); },
      "override shape.name=boks: unknown shape");
}

TEST(Registry, SaysItsOwnErrorsByTheKeysOfTheConfiguration) {
  expect_error<ConfigError>([] { Box({.width = 0.1}, 1); },
                            "'box.width' is too small for 'box.height'");
  const auto refused = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>(
        [&] { shape_registry().make(section(yaml), "shape", 1.0); }, parts...);
  };
  refused("shape:\n  name: box\n  width: 0.1\n",
          "r.yaml:3: 'shape.width' is too small for 'shape.height'");
  // Where the default is wrong, the section is the place.
  refused("shape: {name: box, height: 50}",
          "r.yaml:1: 'shape.width' is too small");
  ConfigNode root = parse_config("shape: {name: box}", "r.yaml");
  apply_override(root, "shape.width=0.1", "--set");
  expect_error<ConfigError>(
      [&] { shape_registry().make(*root.find("shape"), "shape", 1.0); },
      "--set shape.width=0.1: 'shape.width' is too small");
  expect_error<DataError>(
      [] {
        shape_registry().make(section("shape: {name: box, width: 9, "
                                      "height: 77}"),
                              "shape", 1.0);
      },
      "f.csv: no 'shape.height' 77");
}

TEST(Registry, NeedsAName) {
  expect_shape_refused("shape: {width: 1}",
                       "r.yaml:1:", "'shape' needs a 'name'", "box, point");
  expect_shape_refused("shape: {name: [box]}", "needs a 'name'");
  expect_shape_refused("shape:", "needs a 'name'");
  expect_shape_refused("shape: box", "needs a 'name'");
}

TEST(Registry, ChecksTheOptionsOfThePart) {
  expect_shape_refused("shape:\n  name: box\n  widht: 1\n",
                       "r.yaml:3: unknown key 'shape.widht'",
                       "did you mean 'width'?");
  expect_shape_refused("shape: {name: box, width: 0}", "greater than 0");
  expect_shape_refused("shape: {name: point, width: 1}",
                       "unknown key 'shape.width'");
}

TEST(Registry, HasShapesOfAPart) {
  ShapeRegistry registry("shape");
  registry.add<Box>("box");
  registry.add_shape<Box>("square", "a square box", {.width = 4, .height = 4},
                          {"quad"});
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"box", "square"}));
  EXPECT_EQ(registry.at("square", "").summary, "a square box");
  EXPECT_EQ(registry.at("square", "").options()[0].default_value.scalar, "4");
  EXPECT_EQ(registry.name_of(typeid(Box)), "box");
  const auto area = [&](const std::string& yaml) {
    return registry.make(section(yaml), "shape", 1.0)->area();
  };
  EXPECT_EQ(area("shape: {name: square}"), 16);
  EXPECT_EQ(area("shape: {name: square, width: 5}"), 20);
  EXPECT_EQ(area("shape: {name: box}"), 6);
  // Everything that is stored has kith's name.
  EXPECT_EQ(area("shape: {name: quad}"), 16);
  EXPECT_TRUE(registry.contains("quad"));
  EXPECT_EQ(to_yaml(registry.complete(section("shape: {name: quad}"), "shape")),
            "name: square\nwidth: 4\nheight: 4\n");
  expect_error<ConfigError>([&] { area("shape: {name: quat}"); },
                            "did you mean 'quad'?", "Known: box, square.");
  expect_error<ConfigError>(
      [&] { area("shape:\n  name: square\n  width: 0.1\n"); },
      "r.yaml:3: 'shape.width' is too small for 'shape.height'");
}

TEST(Registry, TellsWhatMakesAShape) {
  ShapeRegistry registry("shape");
  registry.add<Box>("box");
  registry.add_shape<Box>("low", "a low box", {.height = 1}, {"flat"});
  const ShapeRegistry::Entry& box = registry.at("box", "");
  const ShapeRegistry::Entry& low = registry.at("flat", "");
  EXPECT_EQ(registry.shape_of(box), "");
  EXPECT_EQ(registry.shape_of(low), "box");
  EXPECT_EQ(low.aliases, std::vector<std::string>{"flat"});
  const std::vector<OptionInfo> changed =
      changed_options(low.options(), box.options());
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].name, "height");
  EXPECT_EQ(changed[0].default_value.scalar, "1");
}

TEST(Registry, RefusesANameTwice) {
  ShapeRegistry registry("shape");
  EXPECT_TRUE(registry.add<Box>("box"));
  EXPECT_THROW(registry.add<Point>("box"), std::logic_error);
  EXPECT_THROW(registry.add_shape<Box>("box", "", {}), std::logic_error);
  registry.add_shape<Box>("square", "", {}, {"quad"});
  EXPECT_THROW(registry.add_shape<Box>("flat", "", {}, {"quad"}),
               std::logic_error);
}

}  // namespace
}  // namespace kith
