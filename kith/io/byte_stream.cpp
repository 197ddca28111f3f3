#include "kith/io/byte_stream.h"

#include <algorithm>
#include <utility>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << 16;

}  // namespace

ByteStream::ByteStream(std::string_view bytes, std::string name)
    : name_(std::move(name)),
      window_(bytes),
      window_end_(bytes.size()),
      end_(bytes.size()) {}

ByteStream::ByteStream(const FileReader& file, uint64_t begin, uint64_t end)
    : name_(file.path()), file_(&file), window_end_(begin), end_(end) {
  KITH_ASSERT(begin <= end && end <= file.size());
}

void ByteStream::fill() {
  if (remaining() == 0) {
    throw DataError(name_ + ": truncated: the data ends at byte " +
                    std::to_string(end_) + ", where more was announced");
  }
  buffer_.resize(static_cast<size_t>(std::min(kWindow, end_ - window_end_)));
  file_->read_at(window_end_, buffer_.data(), buffer_.size());
  window_ = buffer_;
  window_end_ += buffer_.size();
  next_ = 0;
}

uint8_t ByteStream::byte() {
  if (next_ == window_.size()) fill();
  return static_cast<uint8_t>(window_[next_++]);
}

std::string ByteStream::take(uint64_t size) {
  if (size > remaining()) {
    throw DataError(name_ + ": truncated: " + std::to_string(size) +
                    " bytes announced at byte " + std::to_string(position()) +
                    ", " + std::to_string(remaining()) + " are there");
  }
  std::string result;
  result.reserve(static_cast<size_t>(size));
  while (result.size() < size) {
    if (next_ == window_.size()) fill();
    const size_t part = std::min(static_cast<size_t>(size) - result.size(),
                                 window_.size() - next_);
    result.append(window_.substr(next_, part));
    next_ += part;
  }
  return result;
}

std::string ByteStream::line() {
  std::string result;
  for (char c = 0; (c = static_cast<char>(byte())) != '\n';) result += c;
  return result;
}

}  // namespace kith
