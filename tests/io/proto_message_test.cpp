#include "kith/io/proto_message.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(ProtoMessage, WritesTheWireFormat) {
  ProtoMessage message;
  message.add_varint(1, 150);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01");  // the documentation's example
  message = {};
  message.add_bytes(2, "testing");
  EXPECT_EQ(message.bytes(), "\x12\x07testing");
  message = {};
  message.add_int64(2, -1);
  EXPECT_EQ(message.bytes(), "\x10" + std::string(9, '\xFF') + "\x01");
  message = {};
  message.add_float(2, 1.5f);
  EXPECT_EQ(message.bytes(), std::string("\x15\0\0\xC0\x3F", 5));
  message = {};
  message.add_doubles(6, std::vector<double>{-2});
  EXPECT_EQ(message.bytes(), std::string("\x32\x08\0\0\0\0\0\0\0\xC0", 10));
  message = {};
  message.add_varint(16, 0);
  EXPECT_EQ(message.bytes(), std::string("\x80\x01\0", 3));
  message = {};
  message.add_length(9, 300);  // of bytes that come behind it
  EXPECT_EQ(message.bytes(), "\x4A\xAC\x02");
}

}  // namespace
}  // namespace kith
