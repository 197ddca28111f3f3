#include "kith/serve/wrong_tokens.h"

#include <gtest/gtest.h>

namespace kith {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WrongTokens, GoAtOnceForAWhileAndThenOneASecond) {
  WrongTokens tokens;
  const WrongTokens::Clock::time_point start{seconds(1000)};
  int tried = 0;
  const auto try_at = [&](WrongTokens::Clock::duration after) {
    if (tokens.too_many("192.0.2.1", start + after)) return;
    tokens.count("192.0.2.1", start + after);
    ++tried;
  };
  for (int i = 0; i < 1000; ++i) try_at(milliseconds(i));
  EXPECT_GE(tried, 50);
  EXPECT_LE(tried, 52);
  const int before = tried;
  // Trying all the time makes it no quicker.
  for (int i = 0; i < 100'000; ++i) try_at(seconds(1) + milliseconds(i));
  EXPECT_GE(tried - before, 99);
  EXPECT_LE(tried - before, 101);
  // Nobody else is affected.
  EXPECT_FALSE(tokens.too_many("192.0.2.2", start + seconds(101)));
  // After a while all tries are there again.
  EXPECT_FALSE(tokens.too_many("192.0.2.1", start + seconds(1000)));
}

TEST(WrongTokens, OfManyAddressesTakeBoundedMemory) {
  WrongTokens tokens;
  const WrongTokens::Clock::time_point start{seconds(1000)};
  for (int i = 0; i < 100; ++i) tokens.count("guesser", start);
  for (int i = 0; i < 9'000; ++i) tokens.count(std::to_string(i), start);
  EXPECT_TRUE(tokens.too_many("guesser", start));
  // Those that tried once are forgotten first.
  for (int i = 0; i < 9'000; ++i) {
    tokens.count("x" + std::to_string(i), start + seconds(5));
  }
  tokens.count("guesser", start + seconds(5));
  EXPECT_FALSE(tokens.too_many("guesser", start + seconds(5)));
  for (int i = 0; i < 10; ++i) tokens.count("guesser", start + seconds(5));
  EXPECT_TRUE(tokens.too_many("guesser", start + seconds(5)));
}

}  // namespace
}  // namespace kith
