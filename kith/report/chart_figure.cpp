#include "kith/report/chart_figure.h"

#include "kith/chart/html.h"
#include "kith/chart/svg.h"

namespace kith {

std::string chart_figure(const std::string& id, const std::string& svg) {
  std::string bare = svg;
  const std::string& style = svg_style();
  const size_t at = bare.find(style);
  if (at != std::string::npos) bare.erase(at, style.size());
  return "<figure class=\"chart\" data-chart=\"" + html_escape(id) + "\">\n" +
         bare + "</figure>\n";
}

}  // namespace kith
