#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kith/data/batch.h"
#include "kith/data/input.h"
#include "kith/image/jpeg_picture.h"
#include "kith/image/resize.h"

namespace kith {

/// How pictures of each size become those of an input. Kept, for the pictures
/// of a data set have few sizes. Safe from several threads.
class InputWeights {
 public:
  /// Not for `long_side`; see can_be_coded().
  explicit InputWeights(InputOptions input) : input_(std::move(input)) {}

  const InputOptions& input() const { return input_; }
  std::shared_ptr<const WindowWeights> of(const Size& size);

 private:
  static constexpr size_t kMost = 1000;  ///< Of some kilobytes each.

  const InputOptions input_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::shared_ptr<const WindowWeights>> kept_;
};

/// Usual JPEGs (see JpegFile) of a batch whose Huffman code is undone, for a
/// GPU that does the rest: what it needs of them, packed in pieces of memory
/// that are copied as a whole. Safe from several threads.
class CodedPictures {
 public:
  /// Small enough that pictures that fill it cost no memory worth mentioning,
  /// large enough that copies and kernels are few.
  static constexpr size_t kPieceBytes = 16 << 20;
  /// Of a batch. Pictures beyond that are decoded as others are.
  static constexpr size_t kMostPieces = 16;
  static constexpr int kMostPictures = 512;  ///< Of a piece.
  /// Of the rows of a piece that are resized across, which a GPU keeps.
  static constexpr size_t kMostRowBytes = 64 << 20;

  struct Piece {
    std::shared_ptr<uint8_t[]> memory;  ///< Pictures, then what they refer to.
    size_t used = 0;
    size_t row_bytes = 0;
    int claimed = 0;  ///< Pictures that have a place,
    int count = 0;    ///< and those that are there, the first ones.
  };

  /// `weights` must outlive the object.
  CodedPictures(InputWeights& weights, PixelMemory allocate);

  /// Takes a file for the picture at a position of the batch, as
  /// prepare_image() makes it for testing; false if it is no usual JPEG or
  /// there is no place left. Errors are those of decode_image().
  bool take(std::span<const uint8_t> bytes, const std::string& name,
            int64_t position);

  /// When all files were taken.
  const std::vector<Piece>& pieces() const { return pieces_; }
  bool empty() const { return pieces_.empty(); }

  /// The picture and place of them that a kernel is told. `data` is a copy of
  /// the piece's memory where the kernel runs.
  static JpegPictures pictures_of(const Piece& piece, const uint8_t* data);

 private:
  struct Place {
    size_t piece;
    uint8_t* memory;  ///< Null: there is none.
    uint32_t offset;
    uint32_t rows;
  };

  Place claim(size_t bytes, size_t row_bytes);
  void keep(const JpegPicture& picture, const Place& place);

  InputWeights& weights_;
  PixelMemory allocate_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;
};

/// Whether pictures for a model may be taken so: those in colour and of one
/// size.
bool can_be_coded(const InputOptions& input);

}  // namespace kith
