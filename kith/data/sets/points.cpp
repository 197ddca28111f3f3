#include <array>

#include "kith/data/generated_sets.h"

namespace kith {
namespace {

/// A straight line on the grid of 256 x 256 places, from its first point over
/// `width` places to the right and `height` upwards.
struct PlaneLine {
  int x, y, width, height;
};

constexpr size_t kLines = 4;
constexpr int kPiece = 42;  // a short line
constexpr int kWhole = 210;

struct PlaneLines {
  std::array<PlaneLine, kLines> train;
  std::array<PlaneLine, kLines> test;
};

/// Pieces of the diagonal. Two test lines lie beside the second of them and two
/// beside the third, one beside each half: x + y tells them apart, unless all
/// of a piece has become the same.
constexpr PlaneLines kDiagonal = {{{{22, 22, kPiece, kPiece},
                                    {78, 78, kPiece, kPiece},
                                    {134, 134, kPiece, kPiece},
                                    {190, 190, kPiece, kPiece}}},
                                  {{{70, 86, 0, kPiece},
                                    {128, 70, kPiece, 0},
                                    {185, 83, 0, kPiece},
                                    {125, 185, kPiece, 0}}}};

/// Upright lines side by side, which x tells apart and y does not; for testing,
/// pieces of one upright line, which y tells apart and x does not.
constexpr PlaneLines kVertical = {{{{22, 22, 0, kWhole},
                                    {92, 22, 0, kWhole},
                                    {162, 22, 0, kWhole},
                                    {232, 22, 0, kWhole}}},
                                  {{{127, 22, 0, kPiece},
                                    {127, 78, 0, kPiece},
                                    {127, 134, 0, kPiece},
                                    {127, 190, 0, kPiece}}}};

}  // namespace

void PointsOptions::describe(OptionSet& set) {
  set.add("setting", setting,
          "Training lines: pieces of the diagonal, with upright and level "
          "test lines beside it, or upright lines side by side, with pieces "
          "of one upright line for testing.")
      .choices({"diagonal", "vertical"});
  set.add("samples", samples, "Points of each line.").range(2, kPiece + 1);
}

PointsDataSet::PointsDataSet(Options options)
    : DataSet(kTraits), options_(checked(std::move(options), "points")) {
  made_of(options_);
  for (size_t label = 0; label < 2 * kLines; ++label) {
    for (int64_t i = 0; i < options_.samples; ++i) {
      Item item;
      item.path = "line" + std::to_string(label) + "/" + std::to_string(i);
      item.label = static_cast<int64_t>(label);
      item.split = label < kLines ? Split::kTrain : Split::kTest;
      list_.items.push_back(std::move(item));
    }
  }
}

StoredImage PointsDataSet::read(int64_t index) const {
  const PlaneLines& lines =
      options_.setting == "diagonal" ? kDiagonal : kVertical;
  const auto label = static_cast<size_t>(item(index).label);
  const PlaneLine& line =
      label < kLines ? lines.train[label] : lines.test[label - kLines];
  const int samples = static_cast<int>(options_.samples);
  const int i = static_cast<int>(index % samples);
  const auto along = [&](int extent) {  // the nearest place
    return (2 * extent * i + samples - 1) / (2 * (samples - 1));
  };
  Image image(1, 1, 3);
  image.pixels[0] = static_cast<uint8_t>(line.x + along(line.width));
  image.pixels[1] = static_cast<uint8_t>(line.y + along(line.height));
  return image;
}

KITH_REGISTER(data_set_registry(), "points", PointsDataSet);

}  // namespace kith
