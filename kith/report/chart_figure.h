#pragma once

#include <string>

namespace kith {

/// A chart of a report: <figure class="chart" data-chart="ID">. Its style is
/// taken out, for the page has it once. Charts in a <div class="charts"> stand
/// side by side where there is room.
std::string chart_figure(const std::string& id, const std::string& svg);

}  // namespace kith
