#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kith/report/chart.h"

namespace kith {

/// A line of the table of facts: data set, backbone, loss, seed, ...
struct PageFact {
  std::string key;
  std::string value;
  bool code = false;  ///< Set like source text: commands, paths.
};

/// Values in percent (81.3 means 81.3 %); one that is not finite shows a dash.
struct PageMetric {
  std::string name;
  std::string definition;        ///< One line, shown below the name.
  std::optional<double> before;  ///< Before training; absent if not measured.
  double after = 0.0;
};

/// Recall@k in percent, for the bars.
struct PageRecall {
  int k = 1;
  std::optional<double> before;
  double after = 0.0;
};

/// How the metrics were taken, each in a few words; empty ones are not shown.
struct PageProtocol {
  std::string queries;
  std::string gallery;
  std::string self_rule;  ///< Whether a query may find itself.
  std::string tie_rule;   ///< The order of equal similarities.
  std::string left_out;   ///< What was not counted, and why.
};

/// A search result. Pictures are "data:image/..." URIs (see data_uri); with
/// any other address the frame stays empty, for a page loads nothing.
struct Neighbour {
  std::string image_uri;
  std::string label;
  bool correct = false;
  double similarity = 0.0;
};

struct QueryRow {
  std::string image_uri;
  std::string label;
  std::vector<Neighbour> neighbours;  ///< Nearest first.
};

/// What the page of one run shows. All text is plain and escaped when written.
/// Sections without content are left out.
struct RunPage {
  std::string title;
  std::string summary;  ///< One sentence.
  std::vector<PageFact> facts;
  std::vector<PageMetric> metrics;
  std::vector<PageRecall> recall;
  PageProtocol protocol;
  std::vector<ChartPoint> loss;  ///< x: step, y: loss.
  double loss_smoothing = 0.0;   ///< See LineChart::smoothing.
  std::vector<QueryRow> queries;
  std::string queries_note;  ///< How the queries shown were chosen.
};

/// One self-contained HTML page: no scripts, nothing loaded from elsewhere.
/// The columns "before" and "difference" appear when any metric has a value
/// from before training.
std::string render_page(const RunPage& page);

}  // namespace kith
