#include "kith/core/quote.h"

#include <gtest/gtest.h>

namespace kith {
namespace {

TEST(Printable, LeavesTextsAsTheyAre) {
  for (const char* text : {"", "birds/wren 1.jpg", "Zaunk\xc3\xb6nig",
                           "\xe9\xb3\xa5", "\xf0\x9f\x90\xa6", "a\\b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\r\nb\tc\x7f"), "a\\x0d\\x0ab\\x09c\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  // CSI as one character, U+009B, and as one byte.
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{009b}31m");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  // Overrides of direction, isolates, marks, separators of lines.
  EXPECT_EQ(printable("evil\xe2\x80\xaegpj.exe"), "evil\\u{202e}gpj.exe");
  EXPECT_EQ(printable("\xe2\x81\xa6x\xe2\x81\xa9"), "\\u{2066}x\\u{2069}");
  EXPECT_EQ(printable("\xe2\x80\x8f\xe2\x80\xa8"), "\\u{200f}\\u{2028}");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("caf\xe9.png"), "caf\\xe9.png");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // too long
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half a pair
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xe9\xb3"), "\\xe9\\xb3");  // cut off
}

TEST(Printable, LinesStayIfThereMayBeSome) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[0m\r\n"), "a\tb\n\\x1b[0m\\x0d\n");
}

TEST(Quote, IsOneShortLine) {
  EXPECT_EQ(quote("a b"), "'a b'");
  EXPECT_EQ(quote("a\n\x1b[0m"), "'a\\x0a\\x1b[0m'");
  EXPECT_EQ(quote(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
  EXPECT_EQ(quote(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
  // Not cut within a character.
  EXPECT_EQ(quote(std::string(79, 'x') + "\xc3\xb6\xc3\xb6"),
            "'" + std::string(79, 'x') + "...'");
  EXPECT_EQ(quote(std::string(78, 'x') + "\xf0\x9f\x90\xa6 bird"),
            "'" + std::string(78, 'x') + "...'");
}

TEST(AsUtf8, TellsTheBytesOfWhatIsNot) {
  EXPECT_EQ(as_utf8("Zaunk\xc3\xb6nig \\"), "Zaunk\xc3\xb6nig \\");
  EXPECT_EQ(as_utf8("caf\xe9 \\ \xc3\xb6"), "caf\\xe9 \\x5c \xc3\xb6");
  EXPECT_TRUE(is_utf8(as_utf8("\xff\xfe\xc3")));
  EXPECT_TRUE(is_utf8(""));
  EXPECT_FALSE(is_utf8("\xc3"));
}

}  // namespace
}  // namespace kith
