#include "kith/ops/locked_pieces.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace kith {
namespace {

constexpr size_t kLarge = size_t{2} << 20;

TEST(LockedPieces, AreApartWhileTheyAreInUse) {
  std::vector<std::shared_ptr<uint8_t[]>> pieces;
  for (const size_t bytes : {kLarge, kLarge, kLarge + 1, size_t{1}}) {
    pieces.push_back(locked_piece(bytes));
    std::fill_n(pieces.back().get(), bytes,
                static_cast<uint8_t>(pieces.size()));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i][0], i + 1);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces[i].get()) % kLarge, 0);
  }
  EXPECT_EQ(pieces[2][kLarge], 3);
}

TEST(LockedPieces, AreKeptForThoseOfTheirSize) {
  const uint8_t* first = locked_piece(3 * kLarge).get();
  const auto larger = locked_piece(4 * kLarge);
  EXPECT_EQ(locked_piece(3 * kLarge).get(), first);
  EXPECT_NE(larger.get(), first);
}

TEST(LockedPieces, ComeFromSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (uint8_t number = 1; number <= 4; ++number) {
    threads.emplace_back([number] {
      for (int i = 0; i < 20; ++i) {
        const auto piece = locked_piece(kLarge);
        std::fill_n(piece.get(), kLarge, number);
        EXPECT_TRUE(std::all_of(piece.get(), piece.get() + kLarge,
                                [&](uint8_t byte) { return byte == number; }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kith
