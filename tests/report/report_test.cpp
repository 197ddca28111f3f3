#include "kith/report/report.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/chart/chart.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"
#include "tests/report/synthetic_report.h"
#include "tests/support/markup.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report synthetic(size_t runs) {
  SyntheticSize size;
  size.runs = runs;
  return SyntheticReport(size).make();
}

TEST(Report, IsOneWellFormedPageThatLoadsNothing) {
  for (const size_t runs : {1u, 3u}) {
    const std::string html = render_report(synthetic(runs));
    EXPECT_EQ(markup_fault(html), "");
    EXPECT_THAT(html, HasSubstr("default-src 'none'; img-src data:; style-src "
                                "'unsafe-inline'; script-src "
                                "'unsafe-inline'"));
    for (const char* way : {"src=\"http", "href=\"http", "@import", "fetch(",
                            "XMLHttpRequest", "innerHTML"}) {
      EXPECT_THAT(html, Not(HasSubstr(way)));
    }
    EXPECT_EQ(count_of(html, "<h1>"), 1);
    EXPECT_EQ(count_of(html, "<main>"), 1);
    EXPECT_EQ(count_of(html, "<script>"), 1);
    // Of every chart's style there is one copy, in the head.
    EXPECT_EQ(count_of(html, "<style>"), 1);
  }
}

TEST(Report, LinksToTheSectionsItHas) {
  const std::string html = render_report(synthetic(2));
  for (const char* id : {"examples", "similarities", "spectrum", "classes",
                         "confused", "activations", "scatter"}) {
    const std::string name = id;
    EXPECT_EQ(count_of(html, "href=\"#" + name + "\""), 1) << id;
    EXPECT_EQ(count_of(html, "<section id=\"" + name + "\""), 1) << id;
    EXPECT_EQ(count_of(html, " id=\"" + name + "\""), 1) << id;
  }
  EXPECT_THAT(html, Not(HasSubstr("#corruptions\"")));
}

TEST(Report, KeepsTheAnchorsThatSectionsHadBefore) {
  const std::string html = render_report(synthetic(2));
  EXPECT_EQ(count_of(html,
                     "<div id=\"gallery\"></div>\n<section "
                     "id=\"examples\""),
            1);
  EXPECT_EQ(count_of(html,
                     "<div id=\"map\"></div>\n<section "
                     "id=\"scatter\""),
            1);
}

TEST(Report, WithoutInsightSaysWhy) {
  Report report = synthetic(2);
  report.groups.clear();
  report.insights[0] = report.insights[1] = {};
  report.insights[0].missing = "No <data> at \"/a\".";
  const std::string html = render_report(report);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "class=\"missing\""), 1);
  EXPECT_THAT(html, HasSubstr("No &lt;data&gt; at"));
  for (const auto section :
       {examples_section, similarities_section, spectrum_section,
        classes_section, confused_section, activations_section,
        scatter_section}) {
    EXPECT_EQ(section(report), "");
  }
}

TEST(Report, SaysWhichNetworksItIsOfAndHowTheBestWasChosen) {
  Report report = synthetic(2);
  report.runs[1].best =
      "recall_any@1 90.00% at epoch 3, chosen on the test "
      "split";
  EXPECT_EQ(count_of(render_report(report), "class=\"missing\""), 0);
  report.other_networks = true;
  report.insights[1].network = "checkpoint of epoch 2";
  const std::string html = render_report(report);
  EXPECT_EQ(count_of(html, "class=\"missing\""), 2);
  EXPECT_THAT(html, HasSubstr("of the checkpoint of epoch 2; the best "
                              "evaluation is recall_any@1 90.00% at epoch 3, "
                              "chosen on the test split."));
}

TEST(Report, HasEveryAlbumPictureOnce) {
  const Report report = synthetic(3);
  const std::string html = render_report(report);
  for (const Album::Picture& picture : report.groups[0].album.pictures) {
    EXPECT_GE(count_of(html, "url(" + picture.uri + ")"), 1);
  }
  EXPECT_EQ(count_of(html, "background-image:url("), 40 + 1);
}

TEST(Report, RefusesWhatIsNoPicture) {
  Report report = synthetic(1);
  report.groups[0].album.pictures[0].uri = "data:image/png,)}</style>";
  report.insights[0].activations[0].picture = "http://elsewhere/a.png";
  report.groups[0].examples[0].queries[0].picture = 4000;
  const std::string html = render_report(report);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "</style>"), 1);
  EXPECT_THAT(html, Not(HasSubstr("elsewhere")));
}

TEST(ExamplesSection, HasARowAQueryAndALineARun) {
  const std::string one = examples_section(synthetic(1));
  EXPECT_EQ(count_of(one, "class=\"panel\""), 2);
  EXPECT_EQ(count_of(one, "class=\"query\""), 2 * 4);
  EXPECT_EQ(count_of(one, "<li class="), 2 * 4 * 8);
  EXPECT_EQ(count_of(one, "class=\"who\""), 0);
  EXPECT_EQ(count_of(one, "#mark-right\"") + count_of(one, "#mark-wrong\""),
            2 * 4 * 8);
  EXPECT_EQ(count_of(one, "<li class=\"right\""),
            count_of(one, ", right, similarity"));
  const std::string three = examples_section(synthetic(3));
  EXPECT_EQ(count_of(three, "class=\"panel\""), 3);
  EXPECT_EQ(count_of(three, "class=\"who\""), 3 * 4 * 3);
  EXPECT_EQ(count_of(three, "<li class="), 3 * 4 * 8 * 3);
  EXPECT_THAT(three, HasSubstr("first right at rank 3"));
}

TEST(SimilaritiesSection, ChartsHaveTheSameAxes) {
  const std::string html = similarities_section(synthetic(3));
  EXPECT_EQ(count_of(html, "<figure class=\"chart\""), 3);
  EXPECT_EQ(count_of(html, "data-name=\"same class\""), 3);
  EXPECT_THAT(html, HasSubstr("12,345 pairs of the same class"));
  EXPECT_THAT(html, HasSubstr("200 queries, drawn from 900"));
  const auto box = [&](size_t from) {
    const size_t at = html.find("data-box=", from);
    return html.substr(at, html.find('/', at) - at);
  };
  EXPECT_EQ(box(0), box(html.rfind("<figure")));
}

TEST(ClassesSection, ShowsTheWorstOfTheLastRunFirst) {
  Report report = synthetic(2);
  for (ClassScore& score : report.insights[1].classes) score.recall = 0.9;
  report.insights[1].classes[6].recall = 0.1;
  const std::string html = classes_section(report);
  EXPECT_THAT(html, HasSubstr("All 15 classes"));
  EXPECT_EQ(count_of(html, "<tr>"), 1 + 10 + 1 + 15);
  const size_t first = html.find("<th scope=\"row\">");
  EXPECT_EQ(html.substr(first, 23), "<th scope=\"row\">class_6");
}

TEST(ClassesSection, OfThousandsSaysHowManyItShows) {
  SyntheticSize size;
  size.classes = 2500;
  const std::string html = classes_section(SyntheticReport(size).make());
  EXPECT_THAT(html, HasSubstr("The 1,000 worst of 2,500 classes"));
  EXPECT_LT(html.size(), 300000u);
}

TEST(RanksSection, SaysHowManyAreWhollyApart) {
  const std::string one = ranks_section(synthetic(1));
  EXPECT_EQ(markup_fault(one), "");
  EXPECT_THAT(one, HasSubstr("data-chart=\"ranks\""));
  EXPECT_THAT(one, HasSubstr("For 20.0% of 60 queries all right images"));
  EXPECT_THAT(ranks_section(synthetic(2)), HasSubstr("run b: for 20.0%"));
}

TEST(HubsSection, HasTheImagesThatAreFoundMost) {
  const std::string html = hubs_section(synthetic(2));
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "<tr>"), 2 * (1 + 8));
  EXPECT_THAT(html, HasSubstr("among the 10 nearest of 10 queries on average, "
                              "of 31 at most; 6.7% of the images"));
  EXPECT_THAT(html, HasSubstr("Skewness of these counts: 1.25"));
}

TEST(LookalikesSection, HasPairsWithBothPictures) {
  const std::string html = lookalikes_section(synthetic(1));
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "role=\"img\""), 16);
  EXPECT_EQ(count_of(html, ">0.990<"), 8);
}

TEST(DuplicatesSection, HasPicturesOrPathsOrSaysHowToLook) {
  Report report = synthetic(1);
  report.duplicates_hint = "looking does";
  EXPECT_EQ(duplicates_section(report),
            note("They were not looked for: looking does."));
  StoredDuplicates found;
  found.count = 1200;
  found.test_images = 2;
  found.train_images = 3;
  found.pairs = {{"train/<a>.png", "class_1", "test/b.png", "class_2", 7}};
  report.runs[0].duplicates = found;
  const std::string names = duplicates_section(report);
  EXPECT_EQ(markup_fault(names), "");
  EXPECT_THAT(names,
              HasSubstr("2 test images are near duplicates of 3 training "
                        "images, in 1,200 pairs."));
  EXPECT_THAT(names, HasSubstr("&lt;a&gt;.png"));
  EXPECT_THAT(names, Not(HasSubstr("looking does")));
  Report two = synthetic(2);
  two.duplicates_hint = "looking does";
  two.runs[0].duplicates = found;
  EXPECT_THAT(duplicates_section(two),
              HasSubstr("Not looked for in run b: looking does."));
  report.insights[0].duplicates = {{3, 4, 1.0}};
  const std::string pictures = duplicates_section(report);
  EXPECT_EQ(markup_fault(pictures), "");
  EXPECT_EQ(count_of(pictures, "role=\"img\""), 2);
  report.runs[0].duplicates = StoredDuplicates();
  EXPECT_THAT(duplicates_section(report), HasSubstr("There are none."));
}

TEST(ScatterSection, HasAPointAnItemAndSkipsWhatIsNotFinite) {
  Report report = synthetic(2);
  report.insights[0].scatter.points[5].x = std::nan("");
  const std::string html = scatter_section(report);
  EXPECT_EQ(count_of(html, "data-item=\""), 60 + 59);
  EXPECT_EQ(count_of(html, "<li data-path="), 60);
  EXPECT_THAT(html, HasSubstr("31.0% of the variance"));
  EXPECT_THAT(html, Not(HasSubstr("\"nan")));
}

TEST(ScatterSection, HasAMapOfNeighboursBesideThePlane) {
  Report report = synthetic(2);
  for (RunInsight& insight : report.insights) {
    insight.scatter.has_map = true;
    for (ScatterPoint& point : insight.scatter.points) {
      point.map_x = 10 * point.y;
      point.map_y = point.x;
    }
  }
  const std::string html = scatter_section(report);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "data-item=\""), 4 * 60);
  for (const char* id : {"tsne-0", "scatter-0", "tsne-1", "scatter-1"}) {
    EXPECT_EQ(count_of(html, std::string("data-chart=\"") + id), 1) << id;
  }
}

TEST(ScatterSection, NamesEveryColourInALegend) {
  SyntheticSize size;
  size.classes = 5;
  const std::string few = scatter_section(SyntheticReport(size).make());
  EXPECT_EQ(count_of(few, "<li data-class="), 5);
  EXPECT_THAT(few, Not(HasSubstr("dots rest")));
  EXPECT_THAT(few, HasSubstr("60 images."));
  size.classes = 40;
  Report report = SyntheticReport(size).make();
  report.groups[0].scatter_all = 4000;
  report.insights[0].confused = {{"class_33", "class_7", 9, 0.5, 1, 0, 1}};
  const std::string many = scatter_section(report);
  EXPECT_EQ(count_of(many, "<li data-class="), 12);
  EXPECT_THAT(many, HasSubstr("28 other classes"));
  EXPECT_THAT(many, HasSubstr("60 of 4,000 images, drawn at random, of 40 "
                              "classes. In colour: those that are mixed up "
                              "most."));
  EXPECT_LT(many.find("<li data-class=\"33\""),
            many.find("<li data-class=\"7\""));
  EXPECT_LT(many.find("<li data-class=\"7\""),
            many.find("<li data-class=\"0\""));
  EXPECT_EQ(count_of(many, "class=\"dots rest\""), 28 + 1);  // and its entry
}

TEST(ScatterSection, OnePlaceForAllIsSound) {
  Report report = synthetic(1);
  for (ScatterPoint& point : report.insights[0].scatter.points)
    point.x = point.y = 0.5;
  EXPECT_EQ(markup_fault(scatter_section(report)), "");
}

TEST(ChartFigure, TakesTheStyleOut) {
  LineChart chart;
  chart.title = "Loss";
  const std::string svg = line_chart(chart);
  EXPECT_THAT(svg, HasSubstr("<style>"));
  const std::string html = chart_figure("loss", svg);
  EXPECT_THAT(html, Not(HasSubstr("<style>")));
  EXPECT_THAT(html, HasSubstr("<figure class=\"chart\" data-chart=\"loss\">"));
}

TEST(Words, NumbersAreReadable) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
  EXPECT_EQ(percent_text(0.8134), "81.3%");
  EXPECT_EQ(percent_text(std::numeric_limits<double>::quiet_NaN()), "–");
}

}  // namespace
}  // namespace kith
