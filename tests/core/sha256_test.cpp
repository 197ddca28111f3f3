#include "kith/core/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace kith {
namespace {

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

// The examples of FIPS 180-4.
TEST(Sha256, GivesThePublishedValues) {
  EXPECT_EQ(hash_of(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Around the ends of a block, where the padding needs another one.
TEST(Sha256, DoesNotDependOnThePieces) {
  for (size_t size : {1, 55, 56, 63, 64, 65, 119, 120, 128, 200}) {
    const std::string text(size, 'x');
    for (size_t piece : {1, 3, 63, 64, 65}) {
      Sha256 hash;
      for (size_t i = 0; i < size; i += piece) {
        hash.add(text.data() + i, std::min(piece, size - i));
      }
      EXPECT_EQ(hash.hex(), hash_of(text)) << size << " by " << piece;
    }
  }
}

}  // namespace
}  // namespace kith
