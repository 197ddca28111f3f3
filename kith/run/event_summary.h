#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kith/image/image.h"
#include "kith/io/proto_message.h"

namespace kith {

/// What TensorBoard shows of one step: values with tags such as "train/loss".
class EventSummary {
 public:
  /// Left out if it is not a number: TensorBoard draws such points at zero.
  void add_scalar(const std::string& tag, double value);

  /// The picture is stored as PNG.
  void add_image(const std::string& tag, const Image& image);

  /// Counts in bins of equal width from `low` to `high`. Mean and deviation
  /// are those of the bins' centres. Left out if nothing was counted.
  void add_histogram(const std::string& tag, double low, double high,
                     std::span<const int64_t> counts);

  const ProtoMessage& message() const { return message_; }

 private:
  ProtoMessage message_;
};

}  // namespace kith
