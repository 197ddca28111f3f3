#include "kith/data/coded_pictures.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kith/image/image_format.h"
#include "kith/image/jpeg_file.h"

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

std::shared_ptr<const WindowWeights> InputWeights::of(const Size& size) {
  const std::pair key(size.width, size.height);
  {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(key);
    if (found != kept_.end()) return found->second;
  }
  const InputFit fit = fit_of(size, input_);
  auto weights = std::make_shared<const WindowWeights>(
      window_weights(size, fit.full, fit.window, filter_named(input_.filter)));
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMost) kept_.emplace(key, weights);
  return weights;
}

CodedPictures::CodedPictures(InputWeights& weights, PixelMemory allocate)
    : weights_(weights), allocate_(std::move(allocate)) {}

bool CodedPictures::take(std::span<const uint8_t> bytes,
                         const std::string& name, int64_t position) {
  if (image_format(bytes).name != "JPEG") return false;
  JpegFile file(bytes, name);
  if (!file.is_usual()) return false;
  JpegPicture picture = file.picture();
  picture.position = position;
  const auto weights = weights_.of({picture.width, picture.height});
  const ResizeWeights& across = weights->across;
  const ResizeWeights& down = weights->down;
  picture.first_row = down.first.front();
  picture.row_count = down.first.back() + down.taps - picture.first_row;
  const size_t coded_bytes = JpegFile::bytes_of(picture);
  const Place place =
      claim(coded_bytes + bytes_of(across) + bytes_of(down),
            static_cast<size_t>(picture.row_count) * across.outputs() * 3);
  if (place.memory == nullptr) return false;
  picture.rows = place.rows;
  if (!file.read(picture, place.memory, place.offset)) return false;
  const auto put_at = [&](const ResizeWeights& side, size_t done) {
    return put(side, place.memory + done,
               place.offset + static_cast<uint32_t>(done));
  };
  picture.across = put_at(across, coded_bytes);
  picture.down = put_at(down, coded_bytes + bytes_of(across));
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
