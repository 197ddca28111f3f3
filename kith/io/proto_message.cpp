#include "kith/io/proto_message.h"

#include <bit>

namespace kith {
namespace {

// How a field's value is written, from the three lowest bits of its key.
constexpr int kVarint = 0;
constexpr int kFixed64 = 1;
constexpr int kLengthDelimited = 2;
constexpr int kFixed32 = 5;

}  // namespace

std::string little_endian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
  }
  return text;
}

void ProtoMessage::add_key(int field, int wire_type) {
  append_varint(static_cast<uint64_t>(field) << 3 |
                static_cast<uint64_t>(wire_type));
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
void ProtoMessage::append_varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    bytes_ += static_cast<char>(static_cast<uint8_t>(value | 0x80));
  }
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::add_varint(int field, uint64_t value) {
  add_key(field, kVarint);
  append_varint(value);
}

void ProtoMessage::add_int64(int field, int64_t value) {
  add_varint(field, static_cast<uint64_t>(value));  // as two's complement
}

void ProtoMessage::add_double(int field, double value) {
  add_key(field, kFixed64);
  bytes_ += little_endian(std::bit_cast<uint64_t>(value), 8);
}

void ProtoMessage::add_float(int field, float value) {
  add_key(field, kFixed32);
  bytes_ += little_endian(std::bit_cast<uint32_t>(value), 4);
}

void ProtoMessage::add_length(int field, uint64_t bytes) {
  add_key(field, kLengthDelimited);
  append_varint(bytes);
}

void ProtoMessage::add_bytes(int field, std::string_view bytes) {
  add_length(field, bytes.size());
  bytes_ += bytes;
}

void ProtoMessage::add_message(int field, const ProtoMessage& message) {
  add_bytes(field, message.bytes());
}

void ProtoMessage::add_doubles(int field, std::span<const double> values) {
  add_length(field, 8 * values.size());
  for (const double value : values) {
    bytes_ += little_endian(std::bit_cast<uint64_t>(value), 8);
  }
}

}  // namespace kith
