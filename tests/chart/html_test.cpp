#include "kith/chart/html.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/markup.h"

namespace kith {
namespace {

std::string base64_of(std::string_view text) {
  return base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

TEST(HtmlEscape, EscapesWhatMarkupUses) {
  EXPECT_EQ(html_escape("<b a=\"1\" c='2'>&</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;&lt;/b&gt;");
  EXPECT_EQ(html_escape(""), "");
  EXPECT_EQ(html_escape("tab\tline\nend"), "tab\tline\nend");
}

TEST(HtmlName, BreaksAfterSignsAndNotWithinWords) {
  EXPECT_EQ(html_name("golden_retriever/a-1.png"),
            "golden_<wbr>retriever/<wbr>a-<wbr>1.png");
  EXPECT_EQ(html_name("a & <b>"), "a &amp; &lt;b&gt;");
  EXPECT_EQ(html_name(""), "");
}

TEST(HtmlEscape, KeepsValidUtf8) {
  const std::string text = "é – 字 \xF0\x9F\x90\xA6";
  EXPECT_EQ(html_escape(text), text);
}

TEST(HtmlEscape, ReplacesWhatIsNotUtf8OrNotText) {
  const std::string sign = "\xEF\xBF\xBD";
  EXPECT_EQ(html_escape("a\xFF"
                        "b"),
            "a" + sign + "b");
  EXPECT_EQ(html_escape("\xC3"), sign);                        // cut off
  EXPECT_EQ(html_escape("\xC0\xAF"), sign + sign);             // overlong '/'
  EXPECT_EQ(html_escape("\xED\xA0\x80"), sign + sign + sign);  // surrogate
  EXPECT_EQ(html_escape("\xF4\x90\x80\x80"), sign + sign + sign + sign);
  EXPECT_EQ(html_escape(std::string_view("\0\x1b", 2)), sign + sign);
}

TEST(Base64, Rfc4648Vectors) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
}

TEST(Base64, UsesTheWholeAlphabet) {
  EXPECT_EQ(base64_of("\xFB\xEF\xFF"), "++//");
  EXPECT_EQ(base64_of(std::string_view("\0\0\0", 3)), "AAAA");
}

TEST(DataUri, NamesTheMediaType) {
  const std::vector<uint8_t> bytes = {'f', 'o', 'o'};
  EXPECT_EQ(data_uri("image/png", bytes), "data:image/png;base64,Zm9v");
}

TEST(FormatFixed, RoundsAndDropsTheSignOfZero) {
  EXPECT_EQ(format_fixed(1.25, 1), "1.2");
  EXPECT_EQ(format_fixed(-1.5, 2), "-1.50");
  EXPECT_EQ(format_fixed(-0.001, 2), "0.00");
  EXPECT_EQ(format_fixed(-0.0, 0), "0");
  EXPECT_EQ(format_fixed(std::numeric_limits<double>::quiet_NaN(), 2), "nan");
  EXPECT_EQ(format_fixed(-INFINITY, 2), "-inf");
  EXPECT_EQ(format_fixed(std::numeric_limits<double>::max(), 1).size(), 311u);
}

TEST(HtmlTable, EscapesCellsAndMarksNumbers) {
  HtmlTable table;
  table.columns = {{"Name", false}, {"A & B", true}};
  table.rows = {{{"<i>x</i>", "a note", false}, {"1.5", "", false}},
                {{"run", "", true}, {"2", "", false}}};
  const std::string html = html_table(table);
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "<tr>"), 3);
  EXPECT_EQ(count_of(html, "class=\"number\""), 3);
  EXPECT_NE(html.find("&lt;i&gt;x&lt;/i&gt;<small>a note</small>"),
            std::string::npos);
  EXPECT_NE(html.find("<code>run</code>"), std::string::npos);
  EXPECT_NE(html.find("A &amp; B"), std::string::npos);
  EXPECT_NE(html.find("<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                      "aria-label=\"Table\">"),
            std::string::npos);
}

TEST(HtmlTable, LeavesOutAnEmptyHead) {
  HtmlTable table;
  table.columns = {{"", false}, {"", false}};
  table.rows = {{{"key", "", false}, {"value", "", false}}};
  EXPECT_EQ(html_table(table).find("<thead>"), std::string::npos);
  EXPECT_EQ(markup_fault(html_table({})), "");
}

TEST(HtmlPage, IsWellFormedAndEscapesItsText) {
  HtmlPage page("A <title>", "Lead & more");
  page.add_section("One < two", "<p>body</p>\n");
  const std::string html = page.str();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(count_of(html, "A &lt;title&gt;"), 2);
  EXPECT_EQ(count_of(html, "<section>"), 1);
  EXPECT_NE(html.find("Lead &amp; more"), std::string::npos);
  EXPECT_NE(html.find("One &lt; two"), std::string::npos);
}

TEST(HtmlPage, HasAPolicyForWhatItRuns) {
  HtmlPage page("Title", "");
  EXPECT_EQ(page.str().find("script-src"), std::string::npos);
  EXPECT_EQ(page.str().find("<nav"), std::string::npos);
  page.set_script("if (1 < 2 && true) { }");
  const std::string html = page.str();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_NE(html.find("script-src 'unsafe-inline'\""), std::string::npos);
  EXPECT_NE(html.find("<script>if (1 < 2 && true) { }</script>"),
            std::string::npos);
}

TEST(HtmlPage, LinksToSectionsThatHaveAnId) {
  HtmlPage page("Title", "");
  page.add_section("First & last", "<p>body</p>\n", "first");
  page.add_section("No link", "<p>body</p>\n");
  page.set_footer("a < b");
  const std::string html = page.str();
  EXPECT_EQ(markup_fault(html), "");
  EXPECT_EQ(count_of(html, "<li>"), 1);
  EXPECT_NE(html.find("<a href=\"#first\">First &amp; last</a>"),
            std::string::npos);
  EXPECT_NE(html.find("<section id=\"first\" "
                      "aria-labelledby=\"first-heading\">"),
            std::string::npos);
  EXPECT_NE(html.find("<footer>a &lt; b</footer>"), std::string::npos);
}

TEST(MarkupCheck, FindsFaults) {
  EXPECT_NE(markup_fault("<p>"), "");
  EXPECT_NE(markup_fault("<p></b>"), "");
  EXPECT_NE(markup_fault("<p a=b></p>"), "");
  EXPECT_NE(markup_fault("<p>a & b</p>"), "");
  EXPECT_NE(markup_fault("<p a=\"<\"></p>"), "");
  EXPECT_EQ(markup_fault("<p a=\"b\">&amp;<br><i/></p>"), "");
}

}  // namespace
}  // namespace kith
