#include "kith/report/thumbnails.h"

#include <algorithm>
#include <cmath>

#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/side_by_side.h"
#include "kith/data/input.h"
#include "kith/image/colour.h"
#include "kith/image/encode.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

constexpr int kQuality = 85;  // of JPEG: no visible blocks at this size

Image small_picture(const DataSet& data, int64_t item, int side) {
  const Image image = data.load(item);
  const Size size = size_within({image.width, image.height}, side);
  return resize(image, size.width, size.height);
}

Image placeholder(int side) {
  constexpr uint8_t kGrey = 160;
  Image image(side, side, 1);
  std::fill(image.pixels.begin(), image.pixels.end(), kGrey);
  return image;
}

void warn_of_missing(const std::vector<std::string>& errors) {
  const auto bad = [](const std::string& error) { return !error.empty(); };
  const auto count = std::count_if(errors.begin(), errors.end(), bad);
  if (count == 0) return;
  log_warning(std::to_string(count) + " of " + std::to_string(errors.size()) +
              " pictures cannot be read and are shown grey; the first: " +
              *std::find_if(errors.begin(), errors.end(), bad));
}

/// Both have the same number of channels.
void paste(const Image& picture, int left, int top, Image& target) {
  for (int y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), picture.width * picture.channels,
                target.row(top + y) + left * target.channels);
  }
}

}  // namespace

std::string picture_uri(const Image& image) {
  const std::vector<uint8_t> jpeg = encode_jpeg(image, kQuality);
  // A photograph is never shorter as PNG, and takes long to be one.
  constexpr int64_t kSmall = int64_t{64} * 64;
  const bool may_be_drawing =
      image.channels == 1 || int64_t{image.width} * image.height <= kSmall;
  if (may_be_drawing) {
    const std::vector<uint8_t> png = encode_png(image);
    if (png.size() <= jpeg.size()) return data_uri("image/png", png);
  }
  return data_uri("image/jpeg", jpeg);
}

std::vector<Image> small_pictures(const DataSet& data,
                                  const std::vector<int64_t>& items, int side) {
  std::vector<Image> pictures(items.size());
  std::vector<std::string> errors(items.size());
  run_side_by_side(std::ssize(items), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    try {
      pictures[at] = small_picture(data, items[at], side);
    } catch (const DataError& error) {
      errors[at] = error.what();
      pictures[at] = placeholder(side);
    }
  });
  warn_of_missing(errors);
  return pictures;
}

size_t Thumbnails::place(int64_t item) {
  const auto [found, added] = places_.emplace(item, items_.size());
  if (added) items_.push_back(item);
  return found->second;
}

Album Thumbnails::album() const {
  const std::vector<Image> images = small_pictures(data_, items_, side_);
  Album album;
  album.pictures.resize(items_.size());
  run_side_by_side(std::ssize(items_), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    const Item& item = data_.list().items[static_cast<size_t>(items_[at])];
    album.pictures[at] = {picture_uri(images[at]),
                          data_.list().class_name(item.label), item.path,
                          images[at].width, images[at].height};
  });
  return album;
}

PictureSheet picture_sheet(const DataSet& data,
                           const std::vector<int64_t>& items, int cell) {
  PictureSheet sheet;
  sheet.cell = cell;
  if (items.empty()) return sheet;
  const std::vector<Image> pictures = small_pictures(data, items, cell);
  const bool grey =
      std::all_of(pictures.begin(), pictures.end(),
                  [](const Image& picture) { return picture.channels == 1; });
  const auto count = static_cast<int>(items.size());
  sheet.columns = static_cast<int>(std::ceil(std::sqrt(count)));
  const int rows = (count + sheet.columns - 1) / sheet.columns;
  Image all(sheet.columns * cell, rows * cell, grey ? 1 : 3);
  std::fill(all.pixels.begin(), all.pixels.end(), uint8_t{255});
  for (int i = 0; i < count; ++i) {
    const Image picture =
        to_channels(pictures[static_cast<size_t>(i)], all.channels);
    paste(picture, i % sheet.columns * cell + (cell - picture.width) / 2,
          i / sheet.columns * cell + (cell - picture.height) / 2, all);
  }
  const std::vector<uint8_t> jpeg = encode_jpeg(all, kQuality);
  const std::vector<uint8_t> png = encode_png(all);
  sheet.uri = png.size() <= jpeg.size() ? data_uri("image/png", png)
                                        : data_uri("image/jpeg", jpeg);
  return sheet;
}

}  // namespace kith
