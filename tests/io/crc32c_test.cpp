#include "kith/io/crc32c.h"

#include <string>

#include <gtest/gtest.h>

namespace kith {
namespace {

// The vectors of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(crc32c(std::string(rising.rbegin(), rising.rend())), 0x113FDB5Cu);
}

TEST(Crc32c, EveryBitCounts) {
  const std::string text = "a record of an event file";
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(other), crc32c(text)) << bit;
  }
}

TEST(Crc32c, BytesMayComeInPieces) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))),
              crc32c(text));
  }
}

TEST(MaskedCrc32c, IsTurnedAndShifted) {
  // 0xE3069283 turned right by 15 bits is 0x2507C60D.
  EXPECT_EQ(masked_crc32c("123456789"), 0x2507C60Du + 0xA282EAD8u);
  EXPECT_EQ(masked_crc32c(""), 0xA282EAD8u);
}

}  // namespace
}  // namespace kith
