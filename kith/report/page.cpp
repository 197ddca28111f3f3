#include "kith/report/page.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "kith/report/html.h"

namespace kith {
namespace {

constexpr std::string_view kStyle = R"css(
.charts { display: flex; flex-wrap: wrap; gap: 36px 44px; margin-top: 36px; }
.charts svg { flex: 1 1 340px; min-width: 0; max-width: 560px; height: auto; }
.protocol { display: flex; flex-wrap: wrap; gap: 4px 28px; margin: 18px 0 0;
            font-size: 13px; color: var(--muted); }
.protocol div { display: flex; gap: 6px; }
.protocol dt { font-weight: 600; }
.protocol dd { margin: 0; }
.query {
  display: grid; grid-template-columns: 150px 1fr; gap: 0 28px;
  padding: 20px 0; border-top: 1px solid var(--line); break-inside: avoid;
}
.query figure { display: flex; flex-direction: column; margin: 0; }
.query ol { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr));
            gap: 14px 16px; margin: 0; padding: 0; list-style: none; }
.frame { position: relative; width: 88px; max-width: 100%; aspect-ratio: 1;
         border-radius: 8px; background: var(--soft);
         border: 1px solid var(--line); }
.frame img { display: block; width: 100%; height: 100%; object-fit: contain;
             border-radius: 5px; }
.right .frame { border: 3px solid var(--good); }
.wrong .frame { border: 3px solid var(--bad); }
.mark { position: absolute; top: -9px; right: -9px; width: 20px; height: 20px;
        border-radius: 50%; border: 2px solid var(--bg); color: var(--bg); }
.right .mark { background: var(--good); }
.wrong .mark { background: var(--bad); }
.caption { font-size: 13px; line-height: 1.35;
           overflow: hidden; overflow-wrap: anywhere; display: -webkit-box;
           -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
figure .caption { font-weight: 600; }
.query .frame { margin-bottom: 6px; }
.detail { font-size: 13px; color: var(--muted);
          font-variant-numeric: tabular-nums; }
.symbols { position: absolute; width: 0; height: 0; }
@media (max-width: 700px) {
  .query { grid-template-columns: 1fr; gap: 14px; padding: 18px 0; }
  .query figure { display: grid; grid-template-columns: 88px 1fr;
                  gap: 0 14px; }
  .query figure .frame { grid-row: 1 / 3; }
  .query figure .caption { align-self: end; font-size: 15px; }
  .query ol { gap: 12px; }
  .query li .caption { font-size: 12px; -webkit-line-clamp: 3; }
  .mark { top: -8px; right: -8px; }
}
)css";

constexpr std::string_view kSymbols =
    "<svg class=\"symbols\" aria-hidden=\"true\">"
    "<symbol id=\"mark-right\" viewBox=\"0 0 16 16\">"
    "<path d=\"M4 8.4l2.7 2.8 5.3-6.2\" fill=\"none\" stroke=\"currentColor\" "
    "stroke-width=\"2.2\" stroke-linecap=\"round\" "
    "stroke-linejoin=\"round\"/></symbol>"
    "<symbol id=\"mark-wrong\" viewBox=\"0 0 16 16\">"
    "<path d=\"M4.8 4.8l6.4 6.4M11.2 4.8l-6.4 6.4\" fill=\"none\" "
    "stroke=\"currentColor\" stroke-width=\"2.2\" "
    "stroke-linecap=\"round\"/></symbol></svg>\n";

constexpr std::string_view kDash = "–";

std::string percent(double value) {
  return std::isfinite(value) ? format_fixed(value, 2) : std::string(kDash);
}

// The difference of the numbers as printed: readers check such sums.
std::string difference(std::optional<double> before, double after) {
  if (!before || !std::isfinite(*before) || !std::isfinite(after)) {
    return std::string(kDash);
  }
  const double points =
      (std::round(after * 100) - std::round(*before * 100)) / 100;
  if (points == 0.0) return "0.00";
  return (points > 0 ? "+" : "−") + format_fixed(std::abs(points), 2);
}

std::string metrics_table(const std::vector<PageMetric>& metrics) {
  const bool compared =
      std::any_of(metrics.begin(), metrics.end(),
                  [](const PageMetric& m) { return m.before.has_value(); });
  HtmlTable table;
  table.columns = {{"Metric", false}};
  if (compared) table.columns.push_back({"Before, %", true});
  table.columns.push_back({compared ? "After, %" : "Value, %", true});
  if (compared) table.columns.push_back({"Difference, points", true});
  for (const PageMetric& metric : metrics) {
    std::vector<HtmlCell> row = {{metric.name, metric.definition}};
    if (compared) {
      row.push_back(
          {metric.before ? percent(*metric.before) : std::string(kDash), ""});
    }
    row.push_back({percent(metric.after), ""});
    if (compared) row.push_back({difference(metric.before, metric.after), ""});
    table.rows.push_back(std::move(row));
  }
  return html_table(table);
}

std::string protocol_list(const PageProtocol& protocol) {
  const std::pair<const char*, const std::string*> items[] = {
      {"Queries", &protocol.queries},
      {"Gallery", &protocol.gallery},
      {"Self-match", &protocol.self_rule},
      {"Ties", &protocol.tie_rule},
      {"Left out", &protocol.left_out}};
  std::string html;
  for (const auto& [name, text] : items) {
    if (text->empty()) continue;
    html += std::string("<div><dt>") + name + "</dt><dd>" + html_escape(*text) +
            "</dd></div>\n";
  }
  if (html.empty()) return "";
  return "<dl class=\"protocol\">\n" + html + "</dl>\n";
}

std::string recall_bars(const std::vector<PageRecall>& recall) {
  BarChart chart;
  chart.title = "Recall@k";
  BarSeries before{"before training", {}, true};
  BarSeries after{"after training", {}, false};
  bool compared = false;
  for (const PageRecall& item : recall) {
    chart.groups.push_back("R@" + std::to_string(item.k));
    before.values.push_back(item.before.value_or(NAN));
    after.values.push_back(item.after);
    compared = compared || item.before.has_value();
  }
  if (compared) chart.series.push_back(std::move(before));
  chart.series.push_back(std::move(after));
  return bar_chart(chart);
}

std::string loss_curve(const RunPage& page) {
  LineChart chart;
  chart.title = "Training loss";
  chart.x_label = "step";
  chart.series = {{"loss", page.loss}};
  chart.smoothing = page.loss_smoothing;
  return line_chart(chart);
}

std::string charts(const RunPage& page) {
  if (page.recall.empty() && page.loss.empty()) return "";
  std::string html = "<div class=\"charts\">\n";
  if (!page.recall.empty()) html += recall_bars(page.recall);
  if (!page.loss.empty()) html += loss_curve(page);
  return html + "</div>\n";
}

std::string picture(const std::string& uri, const std::string& alt) {
  if (!uri.starts_with("data:image/")) return "";
  return "<img src=\"" + html_escape(uri) + "\" alt=\"" + html_escape(alt) +
         "\" width=\"88\" height=\"88\">";
}

// Long names (paths, joined words) may break after a separator.
std::string caption(const std::string& label) {
  const std::string text = html_escape(label);
  std::string breakable;
  for (const char c : text) {
    breakable += c;
    if (c == '/' || c == '_' || c == '-') breakable += "<wbr>";
  }
  return "<div class=\"caption\" title=\"" + text + "\">" + breakable +
         "</div>";
}

std::string neighbour_item(const Neighbour& neighbour, size_t rank) {
  const std::string kind = neighbour.correct ? "right" : "wrong";
  const std::string similarity = std::isfinite(neighbour.similarity)
                                     ? format_fixed(neighbour.similarity, 3)
                                     : std::string(kDash);
  return "<li class=\"" + kind + "\"><div class=\"frame\">" +
         picture(neighbour.image_uri, "Neighbour " + std::to_string(rank) +
                                          ": " + neighbour.label + ", " + kind +
                                          ", similarity " + similarity) +
         "<svg class=\"mark\" aria-hidden=\"true\"><use href=\"#mark-" + kind +
         "\"/></svg></div><div class=\"detail\">" + similarity + "</div>" +
         caption(neighbour.label) + "</li>\n";
}

std::string query_row(const QueryRow& query) {
  const auto hits =
      std::count_if(query.neighbours.begin(), query.neighbours.end(),
                    [](const Neighbour& n) { return n.correct; });
  std::string html = "<div class=\"query\">\n<figure><div class=\"frame\">" +
                     picture(query.image_uri, "Query: " + query.label) +
                     "</div>" + caption(query.label) +
                     "<div class=\"detail\">" + std::to_string(hits) + " of " +
                     std::to_string(query.neighbours.size()) +
                     " right</div></figure>\n<ol>\n";
  for (size_t i = 0; i < query.neighbours.size(); ++i) {
    html += neighbour_item(query.neighbours[i], i + 1);
  }
  return html + "</ol>\n</div>\n";
}

std::string query_grid(const RunPage& page) {
  std::string note =
      "Each row: a query and its nearest neighbours, nearest first, with "
      "their class and similarity. A check and a green frame mark the query's "
      "class, a cross and a red frame another one.";
  if (!page.queries_note.empty()) note += " " + page.queries_note;
  std::string html = std::string(kSymbols) + "<p class=\"note\">" +
                     html_escape(note) + "</p>\n";
  for (const QueryRow& query : page.queries) html += query_row(query);
  return html;
}

std::string facts_table(const std::vector<PageFact>& facts) {
  HtmlTable table;
  table.columns = {{"", false}, {"", false}};
  for (const PageFact& fact : facts) {
    table.rows.push_back({{fact.key, ""}, {fact.value, "", fact.code}});
  }
  return html_table(table);
}

}  // namespace

std::string render_page(const RunPage& page) {
  HtmlPage html(page.title, page.summary, kStyle);
  std::string results;
  if (!page.metrics.empty()) results += metrics_table(page.metrics);
  results += protocol_list(page.protocol) + charts(page);
  if (!results.empty()) html.add_section("Results", results);
  if (!page.queries.empty()) {
    html.add_section("Nearest neighbours", query_grid(page));
  }
  if (!page.facts.empty()) {
    html.add_section("The run", facts_table(page.facts));
  }
  return html.str();
}

}  // namespace kith
