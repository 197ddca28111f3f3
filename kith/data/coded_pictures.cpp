#include "kith/data/coded_pictures.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kith/image/image_format.h"
#include "kith/image/jpeg_file.h"
#include "kith/image/resize.h"

namespace kith {
namespace {

constexpr size_t kHeadBytes =
    sizeof(JpegPicture) * CodedPictures::kMostPictures;

size_t bytes_of(const std::vector<int32_t>& numbers) {
  return numbers.size() * sizeof(int32_t);
}

size_t bytes_of(const ResizeWeights& weights) {
  return weights.outputs() * sizeof(int32_t) + bytes_of(weights.values);
}

/// Writes weights to `memory`, which is at `place` of its piece.
JpegResize put(const ResizeWeights& weights, uint8_t* memory, uint32_t place) {
  const size_t first_bytes = weights.outputs() * sizeof(int32_t);
  std::memcpy(memory, weights.first.data(), first_bytes);
  std::memcpy(memory + first_bytes, weights.values.data(),
              bytes_of(weights.values));
  return {place, place + static_cast<uint32_t>(first_bytes), weights.taps};
}

}  // namespace

CodedPictures::CodedPictures(PixelMemory allocate)
    : allocate_(std::move(allocate)) {}

bool CodedPictures::take(std::span<const uint8_t> bytes,
                         const std::string& name, const InputOptions& input,
                         int64_t position) {
  if (image_format(bytes).name != "JPEG") return false;
  JpegFile file(bytes, name);
  if (!file.is_usual()) return false;
  JpegPicture picture = file.picture();
  picture.position = position;
  const Size size{picture.width, picture.height};
  const InputFit fit = fit_of(size, input);
  const WindowWeights weights =
      window_weights(size, fit.full, fit.window, filter_named(input.filter));
  picture.first_row = weights.down.first.front();
  picture.row_count =
      weights.down.first.back() + weights.down.taps - picture.first_row;
  const size_t coded_bytes = JpegFile::bytes_of(picture);
  const size_t row_bytes = static_cast<size_t>(picture.row_count) *
                           static_cast<size_t>(input.size) * 3;
  const Place place =
      claim(coded_bytes + bytes_of(weights.across) + bytes_of(weights.down),
            row_bytes);
  if (place.memory == nullptr) return false;
  picture.rows = place.rows;
  if (!file.read(picture, place.memory, place.offset)) return false;
  size_t done = coded_bytes;
  const auto put_next = [&](const ResizeWeights& side) {
    const JpegResize result = put(side, place.memory + done,
                                  place.offset + static_cast<uint32_t>(done));
    done += bytes_of(side);
    return result;
  };
  picture.across = put_next(weights.across);
  picture.down = put_next(weights.down);
  keep(picture, place);
  return true;
}

/// At multiples of what a GPU reads at once.
CodedPictures::Place CodedPictures::claim(size_t bytes, size_t row_bytes) {
  constexpr size_t kAlign = 128;
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > kPieceBytes - kHeadBytes || row_bytes > kMostRowBytes) return {};
  const std::lock_guard lock(mutex_);
  const bool fits = !pieces_.empty() &&
                    pieces_.back().used + bytes <= kPieceBytes &&
                    pieces_.back().row_bytes + row_bytes <= kMostRowBytes &&
                    pieces_.back().claimed < kMostPictures;
  if (!fits) {
    if (pieces_.size() == kMostPieces) return {};
    pieces_.push_back({.memory = allocate_(kPieceBytes), .used = kHeadBytes});
  }
  Piece& piece = pieces_.back();
  const Place place{pieces_.size() - 1, piece.memory.get() + piece.used,
                    static_cast<uint32_t>(piece.used),
                    static_cast<uint32_t>(piece.row_bytes)};
  piece.used += bytes;
  piece.row_bytes += row_bytes;
  ++piece.claimed;
  return place;
}

void CodedPictures::keep(const JpegPicture& picture, const Place& place) {
  const std::lock_guard lock(mutex_);
  Piece& piece = pieces_[place.piece];
  std::memcpy(piece.memory.get() +
                  sizeof(JpegPicture) * static_cast<size_t>(piece.count++),
              &picture, sizeof picture);
}

JpegPictures CodedPictures::pictures_of(const Piece& piece,
                                        const uint8_t* data) {
  JpegPictures pictures;
  pictures.pictures = reinterpret_cast<const JpegPicture*>(data);
  pictures.count = piece.count;
  pictures.data = data;
  return pictures;
}

bool can_be_coded(const InputOptions& input) {
  return input.colour != "auto" && input.channels() == 3 && !input.any_shape();
}

}  // namespace kith
