#include <array>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "kith/data/find_colour.h"

namespace kith {
namespace {

/// A straight line on the grid of 256 x 256 places, from its first point over
/// `width` places to the right and `height` upwards.
struct Line {
  int x, y, width, height;
};

constexpr size_t kLines = 4;
constexpr int kPiece = 42;  // a short line
constexpr int kWhole = 210;

struct Lines {
  std::array<Line, kLines> train;
  std::array<Line, kLines> test;
};

/// Pieces of the diagonal. Two test lines lie beside the second of them and two
/// beside the third, one beside each half: x + y tells them apart, unless all
/// of a piece has become the same.
constexpr Lines kDiagonal = {{{{22, 22, kPiece, kPiece},
                               {78, 78, kPiece, kPiece},
                               {134, 134, kPiece, kPiece},
                               {190, 190, kPiece, kPiece}}},
                             {{{70, 86, 0, kPiece},
                               {128, 70, kPiece, 0},
                               {185, 83, 0, kPiece},
                               {125, 185, kPiece, 0}}}};

/// Upright lines side by side, which x tells apart and y does not; for testing,
/// pieces of one upright line, which y tells apart and x does not.
constexpr Lines kVertical = {{{{22, 22, 0, kWhole},
                               {92, 22, 0, kWhole},
                               {162, 22, 0, kWhole},
                               {232, 22, 0, kWhole}}},
                             {{{127, 22, 0, kPiece},
                               {127, 78, 0, kPiece},
                               {127, 134, 0, kPiece},
                               {127, 190, 0, kPiece}}}};

struct PointsOptions {
  std::string setting = "diagonal";
  int64_t samples = 15;

  void describe(OptionSet& set) {
    set.add("setting", setting,
            "Training lines: pieces of the diagonal, with upright and level "
            "test lines beside it, or upright lines side by side, with pieces "
            "of one upright line for testing.")
        .choices({"diagonal", "vertical"});
    set.add("samples", samples, "Points of each line.").range(2, kPiece + 1);
  }
};

/// Points on lines in the plane (Roth et al., ICML 2020, figures 6 and 12):
/// four lines to train on, four others to test on, each a class. A point is a
/// picture of one pixel: red is x, green is y from below, both of 0 .. 255, and
/// blue is 0. A point is where its bytes are, so nothing is rounded later.
class PointsDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "points on eight lines in the plane, 1x1 RGB: x, y, 0";
  using Options = PointsOptions;

  explicit PointsDataSet(const Options& options)
      : lines_(options.setting == "diagonal" ? kDiagonal : kVertical),
        samples_(static_cast<int>(options.samples)) {
    for (size_t label = 0; label < 2 * kLines; ++label) {
      for (int i = 0; i < samples_; ++i) {
        Item item;
        item.path = "line" + std::to_string(label) + "/" + std::to_string(i);
        item.label = static_cast<int64_t>(label);
        item.split = label < kLines ? Split::kTrain : Split::kTest;
        list_.items.push_back(std::move(item));
      }
    }
  }

 protected:
  StoredImage read(int64_t index) const override {
    const auto label = static_cast<size_t>(item(index).label);
    const Line& line =
        label < kLines ? lines_.train[label] : lines_.test[label - kLines];
    const int i = static_cast<int>(index % samples_);
    const auto along = [&](int extent) {  // the nearest place
      return (2 * extent * i + samples_ - 1) / (2 * (samples_ - 1));
    };
    Image image(1, 1, 3);
    image.pixels[0] = static_cast<uint8_t>(line.x + along(line.width));
    image.pixels[1] = static_cast<uint8_t>(line.y + along(line.height));
    return image;
  }

 private:
  Lines lines_;
  int samples_;
};

const bool points_colour_added = add_colour("points", "rgb");

}  // namespace

KITH_REGISTER(data_set_registry(), "points", PointsDataSet);

}  // namespace kith
