#include "kith/chart/ranked_lists.h"

#include <algorithm>

#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {
namespace {

constexpr double kCell = 48.0;
constexpr double kListGap = 6.0;
constexpr double kListRow = 44.0;
constexpr double kColumn = 84.0;  // of figures

std::string cell(const RankedItem& item, double x, double y) {
  const std::string text = format_fixed(item.similarity, 2);
  const double middle = x + kCell / 2;
  std::string svg = "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) +
                    "\" width=\"" + svg_number(kCell) +
                    "\" height=\"30\" rx=\"4\" fill-opacity=\"" +
                    (item.positive ? "0.5" : "0.25") + "\" class=\"" +
                    (item.positive ? svg_fill_class(0) : "fm") + "\"><title>" +
                    (item.positive ? "positive" : "negative") +
                    ", similarity " + text + "</title></rect>\n";
  svg += svg_text(middle, y + 20, "n m", text);
  if (item.changed) {
    svg += svg_line(middle - 14, y + 24, middle + 14, y + 24, "x k");
  }
  return svg;
}

}  // namespace

std::string ranked_lists(const RankedLists& picture) {
  size_t longest = 0;
  for (const RankedList& list : picture.lists) {
    longest = std::max(longest, list.items.size());
  }
  const double items = (kCell + kListGap) * static_cast<double>(longest);
  const double width =
      items + kColumn * static_cast<double>(picture.columns.size());
  std::string head;
  const double top =
      svg_add_head(head, picture.note,
                   {{"positive", svg_fill_class(0)}, {"negative", "fm"}},
                   width) +
      30.0;
  const double bottom =
      top + kListRow * static_cast<double>(picture.lists.size());
  std::string svg = svg_open(picture.title, width, bottom) + head;
  for (size_t i = 0; i < picture.columns.size(); ++i) {
    svg += svg_text(items + kColumn * static_cast<double>(i + 1), top - 10,
                    "a e", picture.columns[i]);
  }
  svg += svg_text(0, top - 10, "a", "similarity to the query, nearest first");
  for (size_t row = 0; row < picture.lists.size(); ++row) {
    const RankedList& list = picture.lists[row];
    const double y = top + kListRow * static_cast<double>(row);
    std::vector<RankedItem> sorted = list.items;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const RankedItem& a, const RankedItem& b) {
                       return a.similarity > b.similarity;
                     });
    for (size_t i = 0; i < sorted.size(); ++i) {
      svg += cell(sorted[i], (kCell + kListGap) * static_cast<double>(i), y);
    }
    for (size_t i = 0; i < list.figures.size(); ++i) {
      svg += svg_text(items + kColumn * static_cast<double>(i + 1), y + 20,
                      "v n e", list.figures[i]);
    }
  }
  if (picture.cut > 0 && picture.cut < longest) {
    const double x =
        (kCell + kListGap) * static_cast<double>(picture.cut) - kListGap / 2;
    svg += svg_line(x, top - 4, x, bottom - 8, "x d");
  }
  return svg + "</svg>\n";
}

}  // namespace kith
