#include <algorithm>
#include <cctype>
#include <map>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"
#include "kith/report/page_parts.h"
#include "kith/report/pictures.h"
#include "kith/report/section.h"

namespace kith {
namespace {

// More colours than these are not told apart: six, as discs and as rings.
constexpr size_t kMostNamed = 12;
constexpr size_t kFilled = 6;

/// The classes that have a colour, by their number: its place in the legend.
using Named = std::map<int64_t, size_t>;

std::string dot(double x, double y, const std::string& rest) {
  return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) +
         "\" r=\"3.4\"" + rest + "/>";
}

/// CSS classes of the dots of a class.
std::string dots_class(const Named& named, int64_t number) {
  const auto found = named.find(number);
  if (found == named.end()) return "dots rest";
  const size_t place = found->second;
  return place < kFilled ? "dots " + svg_fill_class(place)
                         : "dots ring s" + std::to_string(place - kFilled);
}

/// What the maps of the runs of one group have in common.
class GroupMaps {
 public:
  GroupMaps(const Report& report, size_t number)
      : report_(report), number_(number), group_(report.groups[number]) {
    for (const size_t run : group_.runs) {
      const RunInsight* seen = insight_of(report, run);
      if (!seen || seen->scatter.points.empty()) continue;
      runs_.push_back(run);
      for (const ScatterPoint& point : seen->scatter.points) {
        if (point.item >= group_.scatter_items.size()) continue;
        names_[point.class_number] = group_.scatter_items[point.item].label;
      }
    }
    choose();
  }

  std::string html() const;

 private:
  /// All classes have a colour if they are few. Otherwise those that the last
  /// run mixes up most, for whether they overlap is what a reader wants to
  /// see, and further ones by their number.
  void choose() {
    std::vector<int64_t> order;
    if (names_.size() > kMostNamed) {
      std::map<std::string, int64_t> numbers;
      for (const auto& [number, name] : names_) numbers.emplace(name, number);
      const auto add = [&](const std::string& name) {
        const auto found = numbers.find(name);
        if (found != numbers.end()) order.push_back(found->second);
      };
      for (const ConfusedClasses& pair :
           insight_of(report_, runs_.back())->confused) {
        add(pair.from);
        add(pair.to);
      }
    }
    mixed_up_ = !order.empty();
    for (const auto& [number, name] : names_) order.push_back(number);
    for (const int64_t number : order) {
      if (named_.size() == kMostNamed) break;
      named_.emplace(number, named_.size());
    }
  }

  /// Which images and which classes are shown.
  std::string count_note() const {
    const auto drawn = static_cast<int64_t>(group_.scatter_items.size());
    std::string text = count_text(drawn);
    if (drawn < group_.scatter_all) {
      text +=
          " of " + count_text(group_.scatter_all) + " images, drawn at random";
    } else {
      text += " images";
    }
    if (names_.size() > named_.size()) {
      text += ", of " + count_text(static_cast<int64_t>(names_.size())) +
              " classes. In colour: " +
              (mixed_up_ ? "those that are mixed up most" : "the first ones");
    }
    return note(text + ".");
  }

  std::string legend() const {
    if (names_.size() < 2) return "";
    std::vector<int64_t> by_place(named_.size());
    for (const auto& [number, place] : named_) by_place[place] = number;
    std::string html = "<ul class=\"key\" aria-label=\"Classes\">\n";
    for (const int64_t number : by_place) {
      html += entry(number, names_.at(number));
    }
    const size_t others = names_.size() - named_.size();
    if (others > 0) {
      html += entry(-1, count_text(static_cast<int64_t>(others)) +
                            (others == 1 ? " other class" : " other classes"));
    }
    return html + "</ul>\n";
  }

  std::string entry(int64_t number, const std::string& name) const {
    return "<li" +
           (number < 0 ? ""
                       : " data-class=\"" + std::to_string(number) + "\"") +
           "><svg class=\"swatch kith-chart\" viewBox=\"0 0 10 10\" "
           "aria-hidden=\"true\"><g class=\"" +
           dots_class(named_, number) + "\">" + dot(5, 5, "") + "</g></svg>" +
           html_name(name) + "</li>\n";
  }

  // Unseen: what a script shows of the point under the pointer.
  std::string item_list(const std::string& id) const {
    std::string html = "<ol hidden=\"\" id=\"" + id + "\">\n";
    for (const ScatterItem& item : group_.scatter_items) {
      html += "<li data-path=\"" + html_escape(item.path) + "\">" +
              html_escape(item.label) + "</li>\n";
    }
    return html + "</ol>\n";
  }

  const Report& report_;
  size_t number_;
  const ImageGroup& group_;
  std::vector<size_t> runs_;              // with points
  std::map<int64_t, std::string> names_;  // of classes
  Named named_;
  bool mixed_up_ = false;
};

/// The points of one run as one of the two kinds of map.
class ScatterChart {
 public:
  ScatterChart(const EmbeddingScatter& scatter, const Named& named, bool by_map)
      : scatter_(scatter), named_(named), by_map_(by_map) {
    for (const ScatterPoint& point : scatter.points) {
      const ChartPlace place = place_of(point);
      if (plottable(place.x) && plottable(place.y)) {
        classes_[point.class_number].push_back(&point);
      }
    }
  }

  std::string draw(const std::string& title) const {
    const auto [x_axis, y_axis] = axes();
    SvgPlot plot;
    plot.top = 40.0;
    std::string head = svg_text(0, plot.top, "a",
                                by_map_ ? "images that are alike lie together"
                                        : direction("second", 1));
    plot.top += 16.0;
    plot.bottom = plot.top + kSvgWidth - 48.0;  // about as high as wide
    std::string svg = svg_open(title, kSvgWidth, plot.bottom + 46.0) +
                      "<desc>" + describe() + "</desc>\n" + head;
    if (by_map_) {
      svg += svg_text(kSvgWidth / 2, plot.bottom + 40, "a m",
                      "who is near whom counts, not how far groups are apart");
    } else {
      svg_add_y_axis(svg, plot, y_axis, "");
      svg_add_x_axis(svg, plot, x_axis, direction("first", 0));
    }
    // Those with a colour lie above the others.
    std::string named, rest;
    for (const auto& [number, points] : classes_) {
      std::string& layer = named_.contains(number) ? named : rest;
      layer += "<g class=\"" + dots_class(named_, number) + "\" data-class=\"" +
               std::to_string(number) + "\">\n";
      for (const ScatterPoint* point : points) {
        const ChartPlace place = place_of(*point);
        layer += dot(plot.x(x_axis, place.x), plot.y(y_axis, place.y),
                     " data-item=\"" + std::to_string(point->item) + "\"") +
                 "\n";
      }
      layer += "</g>\n";
    }
    return svg + rest + named + "</svg>\n";
  }

 private:
  struct ChartPlace {
    double x, y;
  };

  ChartPlace place_of(const ScatterPoint& point) const {
    return by_map_ ? ChartPlace{point.map_x, point.map_y}
                   : ChartPlace{point.x, point.y};
  }

  /// Of equal length, for distances in the plane to be what they are.
  std::pair<Axis, Axis> axes() const {
    double low[2] = {1e300, 1e300}, high[2] = {-1e300, -1e300};
    for (const auto& [number, points] : classes_) {
      for (const ScatterPoint* point : points) {
        const ChartPlace at = place_of(*point);
        const double place[2] = {at.x, at.y};
        for (size_t i = 0; i < 2; ++i) {
          low[i] = std::min(low[i], place[i]);
          high[i] = std::max(high[i], place[i]);
        }
      }
    }
    const double extent = std::max(high[0] - low[0], high[1] - low[1]);
    const double half = extent > 0.0 ? 0.53 * extent : 1.0;
    const auto axis = [&](size_t i) {
      const double middle = (low[i] + high[i]) / 2;
      return make_axis(middle - half, middle + half, 5, false);
    };
    return {axis(0), axis(1)};
  }

  std::string direction(const std::string& which, size_t i) const {
    return which + " principal direction, " +
           percent_text(scatter_.explained[i]) + " of the variance";
  }

  std::string describe() const {
    return "Embeddings of " +
           count_text(static_cast<int64_t>(scatter_.points.size())) +
           " images of " + count_text(static_cast<int64_t>(classes_.size())) +
           " classes as points.";
  }

  const EmbeddingScatter& scatter_;
  const Named& named_;
  bool by_map_;
  std::map<int64_t, std::vector<const ScatterPoint*>> classes_;
};

std::string GroupMaps::html() const {
  if (runs_.empty()) return "";
  std::string charts;
  for (const size_t run : runs_) {
    const EmbeddingScatter& scatter = insight_of(report_, run)->scatter;
    const std::string of =
        report_.runs.size() > 1 ? report_.runs[run].name + ", " : "";
    const auto add = [&](const char* id, bool by_map, const std::string& kind) {
      std::string title = of + kind;
      if (of.empty()) title[0] = static_cast<char>(std::toupper(title[0]));
      charts += chart_figure(id + std::to_string(run),
                             ScatterChart(scatter, named_, by_map).draw(title));
    };
    if (scatter.has_map) add("tsne-", true, "by neighbours (t-SNE)");
    add("scatter-", false, "by variance (PCA)");
  }
  const std::string id = "scatter-items-" + std::to_string(number_);
  return count_note() + item_list(id) +
         "<div class=\"scatters\" data-items=\"" + id + "\" data-sheet=\"" +
         sheet_class(number_) + "\" data-columns=\"" +
         std::to_string(group_.scatter_sheet.columns) + "\" data-cell=\"" +
         std::to_string(group_.scatter_sheet.cell) + "\">\n" + legend() +
         "<div class=\"charts\">\n" + charts + "</div>\n</div>\n";
}

}  // namespace

std::string scatter_section(const Report& report) {
  std::string html;
  for (size_t i = 0; i < report.groups.size(); ++i) {
    if (report.groups.size() > 1) {
      const std::string maps = GroupMaps(report, i).html();
      if (maps.empty()) continue;
      html += heading(3, group_name(report, report.groups[i])) + maps;
    } else {
      html += GroupMaps(report, i).html();
    }
  }
  return html;
}

}  // namespace kith
