#include "kith/report/page.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/markup.h"

namespace kith {
namespace {

constexpr const char* kPicture = "data:image/png;base64,Zm9v";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RunPage sample_page() {
  RunPage page;
  page.title = "Glyphs";
  page.summary = "It learnt.";
  page.facts = {{"Seed", "17", false}, {"Command", "kith train a.cfg", true}};
  page.metrics = {{"Recall@1", "the nearest is right", 41.874, 87.415},
                  {"NMI", "clusters", 63.1, 62.9}};
  page.recall = {{1, 41.9, 87.4}, {2, 53.1, 92.3}};
  page.protocol = {"2,400", "the same", "never itself", "by index", "none"};
  page.loss = {{1, 0.9}, {2, 0.5}, {3, 0.4}};
  for (int q = 0; q < 12; ++q) {
    QueryRow row{kPicture, "class " + std::to_string(q), {}};
    for (int n = 0; n < 5; ++n) {
      row.neighbours.push_back({kPicture, "some class", n != 3, 0.9 - n * 0.1});
    }
    page.queries.push_back(row);
  }
  return page;
}

TEST(RunPage, IsWellFormedAndSelfContained) {
  const std::string html = render_page(sample_page());
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_FALSE(contains(html, "<script"));
  EXPECT_FALSE(contains(html, "<link"));
  EXPECT_FALSE(contains(html, "url("));
  EXPECT_FALSE(contains(html, "@import"));
  EXPECT_EQ(count_of(html, "http://"),
            count_of(html, "xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(count_of(html, "https://"), 0);
}

TEST(RunPage, ShowsEveryNeighbourWithFrameMarkAndAltText) {
  const std::string html = render_page(sample_page());
  EXPECT_EQ(count_of(html, "<img "), 12 * 6);
  EXPECT_EQ(count_of(html, " alt=\""), 12 * 6);
  EXPECT_EQ(count_of(html, "<li class=\"right\">"), 12 * 4);
  EXPECT_EQ(count_of(html, "<li class=\"wrong\">"), 12);
  EXPECT_EQ(count_of(html, "href=\"#mark-right\""), 12 * 4);
  EXPECT_EQ(count_of(html, "href=\"#mark-wrong\""), 12);
  EXPECT_EQ(count_of(html, "4 of 5 right"), 12);
  EXPECT_TRUE(
      contains(html, "Neighbour 4: some class, wrong, similarity 0.600"));
}

TEST(RunPage, DifferencesAreThoseOfThePrintedNumbers) {
  const std::string html = render_page(sample_page());
  EXPECT_TRUE(contains(html, ">41.87<"));
  EXPECT_TRUE(contains(html, ">−0.20<"));
  RunPage page = sample_page();
  page.metrics = {{"m", "", 0.004, 1.006}};  // prints 0.00 and 1.01
  EXPECT_TRUE(contains(render_page(page), ">+1.01<"));
  page.metrics = {{"m", "", 5.0, 5.001}};
  EXPECT_TRUE(contains(render_page(page), ">0.00<"));
}

TEST(RunPage, WithoutBeforeThereIsOneColumn) {
  RunPage page = sample_page();
  for (PageMetric& metric : page.metrics) metric.before.reset();
  for (PageRecall& recall : page.recall) recall.before.reset();
  const std::string html = render_page(page);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_FALSE(contains(html, "Before"));
  EXPECT_FALSE(contains(html, "Difference"));
  EXPECT_FALSE(contains(html, "before training"));
  EXPECT_TRUE(contains(html, "Value, %"));
}

TEST(RunPage, AMissingValueIsADash) {
  RunPage page = sample_page();
  page.metrics[1].before.reset();
  page.metrics[0].after = NAN;
  const std::string html = render_page(page);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_FALSE(contains(html, "nan"));
  EXPECT_TRUE(contains(html, "<td class=\"number\">–</td>"));
}

TEST(RunPage, EscapesAllText) {
  const std::string evil = "<b>\"&'";
  RunPage page = sample_page();
  page.title = page.summary = page.queries_note = evil;
  page.facts = {{evil, evil, true}};
  page.metrics = {{evil, evil, 1.0, 2.0}};
  page.protocol = {evil, evil, evil, evil, evil};
  page.queries[0].label = page.queries[0].neighbours[0].label = evil;
  page.queries[0].image_uri = "data:image/png\" onerror=\"x";
  const std::string html = render_page(page);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_FALSE(contains(html, "<b>"));
  EXPECT_FALSE(contains(html, "\" onerror"));
}

TEST(RunPage, NeverLoadsAPicture) {
  RunPage page = sample_page();
  page.queries.resize(1);
  page.queries[0].image_uri = "https://example.org/a.png";
  page.queries[0].neighbours[0].image_uri = "a.png";
  page.queries[0].neighbours[1].image_uri = "";
  const std::string html = render_page(page);
  EXPECT_EQ(count_of(html, "<img "), 3);
  EXPECT_FALSE(contains(html, "example.org"));
  EXPECT_EQ(count_of(html, "<li class="), 5);
}

TEST(RunPage, EmptySectionsAreLeftOut) {
  const std::string html = render_page({});
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "<section>"), 0);
  RunPage page = sample_page();
  page.queries.clear();
  page.facts.clear();
  page.protocol = {};
  EXPECT_EQ(count_of(render_page(page), "<section>"), 1);
  EXPECT_FALSE(contains(render_page(page), "<dl"));
}

TEST(RunPage, LongNamesMayBreakAfterSeparators) {
  RunPage page = sample_page();
  page.queries[0].label = "Early_Aramaic/character19";
  EXPECT_TRUE(
      contains(render_page(page), ">Early_<wbr>Aramaic/<wbr>character19<"));
}

}  // namespace
}  // namespace kith
