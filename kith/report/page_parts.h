#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/chart/html.h"
#include "kith/report/report.h"

namespace kith {

/// "12,345".
std::string count_text(int64_t count);

/// A share in percent with one decimal: "81.3%"; a dash if it is not finite.
std::string percent_text(double share);

/// A class's name as HTML below its picture, cut after some lines. Long names
/// (paths, joined words) may break after a separator.
std::string caption(const std::string& name);

/// A run's name as HTML; among several it has the colour of its curves.
std::string run_name(const Report& report, size_t run);

/// The names of the runs of a group: "a, b and c". HTML.
std::string group_name(const Report& report, const ImageGroup& group);

/// "<p class="note">...</p>" of a plain text; nothing for none.
std::string note(const std::string& text);

/// "<h3>...</h3>", or what `level` says, of HTML.
std::string heading(int level, const std::string& html);

/// A table with a first column and one for each run, under its name; without
/// rows. With one run there is no head, for nothing has to be told apart.
HtmlTable table_of_runs(const Report& report, const std::string& first,
                        const std::string& label, bool numbers);

/// "<td class="number">...</td>" of a plain text.
std::string number_cell(const std::string& text);

/// What is folded away until it is wanted. `body` is HTML.
std::string folded(const std::string& summary, const std::string& body);

/// A chart of a report: <figure class="chart" data-chart="ID">. Its style is
/// taken out, for the page has it once. Charts in a <div class="charts"> stand
/// side by side where there is room.
std::string chart_figure(const std::string& id, const std::string& svg);

/// What is drawn of a run, if there is anything: else null.
const RunInsight* insight_of(const Report& report, size_t run);

}  // namespace kith
