#include "kith/chart/toy_picture.h"

#include <gtest/gtest.h>

#include "tests/chart/sound_svg.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

ToyRow row_of(const std::string& title) {
  ToyRow row;
  row.title = title;
  row.note = "a <note>";
  row.train = {{{{0.1, 0.2}, {0.3, 0.4}}, {{1, 0}, {0, 1}}},
               {{{0.5, 0.5}}, {{-1, 0}}}};
  row.test = {{{{0.9, 0.1}}, {{0, -1}}}};
  row.spectrum = {0.75, 0.25};
  return row;
}

TEST(ToyPicture, DrawsEveryPointTwiceAndTheSpectrum) {
  const std::string svg = toy_picture({row_of("plain"), row_of("rho & more")});
  EXPECT_EQ(markup_fault(svg), "");
  // A row: three training points and their embeddings, and two circles. The
  // legend has a mark for each of the classes, two and one.
  EXPECT_EQ(count_of(svg, "<circle "), 2 * (3 + 3 + 2) + 2);
  EXPECT_EQ(count_of(svg, "<path "), 2 * (1 + 1) + 1);
  EXPECT_EQ(count_of(svg, " w\"/>"), 2 * 4);  // a spoke an embedding
  EXPECT_EQ(count_of(svg, "class=\"fm\""), 2 * 2);
  for (const char* text : {">plain<", ">rho &amp; more<", ">a &lt;note&gt;<",
                           ">0.750<", ">0.250<", ">test lines<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(ToyPicture, OddRowsAreSound) {
  ToyRow odd = row_of(std::string(300, 'x'));
  odd.train[0].points[0].x = kNaN;
  odd.train[0].embeddings[0].y = kNaN;
  odd.spectrum = {kNaN, -1, 2};
  for (const std::vector<ToyRow>& rows :
       {std::vector<ToyRow>{}, {ToyRow{}}, {odd}}) {
    const std::string svg = toy_picture(rows);
    EXPECT_EQ(markup_fault(svg), "");
    EXPECT_EQ(svg.find("\"nan"), std::string::npos);
    EXPECT_EQ(svg.find("\"inf"), std::string::npos);
  }
}

}  // namespace
}  // namespace kith
