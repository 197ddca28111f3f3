#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "kith/data/image.h"

namespace kith {

/// A picture on its way to the network.
struct Picture {
  Image image;
  int64_t row = 0;    ///< Of the result that it counts for.
  int64_t scale = 0;  ///< Position in the list of scales.
};

/// What fits in a pass through the network, and how much may wait for one.
struct BucketLimits {
  int64_t pictures = 256;        ///< In a pass.
  int64_t pixels = 256 * 50176;  ///< In a pass of more than one picture.
  int64_t waiting = 1024;        ///< Pictures in all buckets.
  int64_t waiting_bytes = 256 << 20;

  /// Pictures of this size that go through the network together.
  int64_t in_pass(int width, int height) const;
};

/// Collects pictures of many sizes and hands on those of one size and scale
/// together, as soon as there are enough of them. When too much waits, the
/// fullest bucket goes first though it is not full. What is handed on, and
/// when, depends on the pictures alone.
class Buckets {
 public:
  /// Takes pictures of one size, each of another row.
  using Use = std::function<void(const std::vector<Picture>&)>;

  Buckets(const BucketLimits& limits, Use use);

  void add(Picture picture);

  /// Hands on what is left.
  void finish();

 private:
  using Key = std::tuple<int64_t, int, int>;  ///< Scale, width, height.
  using Waiting = std::map<Key, std::vector<Picture>>;

  void hand_on(Waiting::iterator bucket);

  BucketLimits limits_;
  Use use_;
  Waiting buckets_;
  int64_t waiting_ = 0;
  int64_t waiting_bytes_ = 0;
};

}  // namespace kith
