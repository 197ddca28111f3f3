#include <algorithm>

#include "kith/chart/chart.h"
#include "kith/chart/html.h"
#include "kith/report/page_parts.h"
#include "kith/report/section.h"

namespace kith {
namespace {

struct Range {
  double low = 1e300;
  double high = -1e300;
  double most = 0.0;  ///< The largest share, in percent.
};

double bin_width(const SimilarityHistogram& histogram) {
  const size_t bins =
      std::max(histogram.positive.size(), histogram.negative.size());
  return (histogram.high - histogram.low) /
         static_cast<double>(std::max<size_t>(bins, 1));
}

double middle(const SimilarityHistogram& histogram, size_t bin) {
  return histogram.low +
         bin_width(histogram) * (static_cast<double>(bin) + 0.5);
}

// What all charts show: no long empty ends, and the same scale.
void reach(const SimilarityHistogram& histogram, Range& range) {
  const double width = bin_width(histogram);
  for (const auto* shares : {&histogram.positive, &histogram.negative}) {
    for (size_t i = 0; i < shares->size(); ++i) {
      if (!((*shares)[i] > 0.0)) continue;
      range.low = std::min(range.low, middle(histogram, i) - width);
      range.high = std::max(range.high, middle(histogram, i) + width);
      range.most = std::max(range.most, 100.0 * (*shares)[i]);
    }
  }
}

std::vector<ChartPoint> curve(const SimilarityHistogram& histogram,
                              const std::vector<double>& shares,
                              const Range& range) {
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double x = middle(histogram, i);
    if (x < range.low || x > range.high) continue;
    points.push_back({x, 100.0 * shares[i]});
  }
  return points;
}

std::string chart(const SimilarityHistogram& histogram, const Range& range,
                  const std::string& title) {
  LineChart chart;
  chart.title = title;
  chart.x_label = "similarity";
  chart.y_label = "pairs of the kind, %";
  chart.filled = true;
  chart.series = {
      {"same class", curve(histogram, histogram.positive, range)},
      {"different classes", curve(histogram, histogram.negative, range)}};
  chart.reach = {{range.low, 0.0}, {range.high, range.most}};
  return line_chart(chart);
}

std::string counted(const SimilarityHistogram& histogram) {
  std::string text =
      count_text(histogram.positive_pairs) + " pairs of the same class and " +
      count_text(histogram.negative_pairs) + " of different classes";
  text += histogram.queries < histogram.all_queries
              ? ": " + count_text(histogram.queries) + " queries, drawn from " +
                    count_text(histogram.all_queries) + ", with the gallery."
              : ": all queries with the gallery.";
  return text;
}

}  // namespace

std::string similarities_section(const Report& report) {
  Range range;
  for (size_t run = 0; run < report.runs.size(); ++run) {
    if (const RunInsight* seen = insight_of(report, run)) {
      reach(seen->similarities, range);
    }
  }
  if (range.low > range.high) return "";
  std::string html = "<div class=\"charts\">\n";
  for (size_t run = 0; run < report.runs.size(); ++run) {
    const RunInsight* seen = insight_of(report, run);
    if (!seen || seen->similarities.positive.empty()) continue;
    const std::string title =
        report.runs.size() > 1 ? report.runs[run].name : "Similarity of pairs";
    html += "<div>\n" +
            chart_figure("similarities-" + std::to_string(run),
                         chart(seen->similarities, range, title)) +
            note(counted(seen->similarities)) + "</div>\n";
  }
  return html + "</div>\n";
}

}  // namespace kith
