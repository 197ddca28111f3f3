#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kith {

/// A message in the wire format of protocol buffers, field by field.
class ProtoMessage {
 public:
  void add_varint(int field, uint64_t value);
  void add_int64(int field, int64_t value);
  void add_double(int field, double value);
  void add_float(int field, float value);
  void add_bytes(int field, std::string_view bytes);
  /// Of bytes that the caller writes behind this message's: they are not kept.
  void add_length(int field, uint64_t bytes);
  void add_message(int field, const ProtoMessage& message);
  /// Doubles one after another in one field ("packed").
  void add_doubles(int field, std::span<const double> values);

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  void add_key(int field, int wire_type);
  void append_varint(uint64_t value);

  std::string bytes_;
};

/// The value's bytes, the lowest first, whatever the machine's order.
std::string little_endian(uint64_t value, int bytes);

}  // namespace kith
