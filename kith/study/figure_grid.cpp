#include "kith/study/figure_grid.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "kith/core/error.h"

namespace kith {
namespace {

/// For each axis the labels that a figure shows.
using Choice = std::vector<std::vector<std::string>>;

std::string place(const FigureAxes& axes, const std::string& key) {
  return "figure '" + axes.figure + "', '" + key + "'";
}

std::vector<std::string> labels_of(const StudyAxis& axis) {
  std::vector<std::string> labels;
  for (const AxisValue& value : axis.values) labels.push_back(value.label);
  return labels;
}

size_t find_axis(const Study& study, const std::string& name,
                 const std::string& where) {
  const std::vector<std::string> names = study.axis_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw_unknown(where, "axis of the study", name, names);
  }
  return static_cast<size_t>(found - names.begin());
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Choice choose(const Study& study, const FigureAxes& axes) {
  const std::string where = place(axes, "only");
  Choice named(study.axes.size());
  for (const std::string& entry : axes.only) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      throw ConfigError(where + ": '" + entry +
                        "' must be an axis and a label, such as 'SiMix=with'");
    }
    const size_t axis = find_axis(study, entry.substr(0, equals), where);
    const std::string label = entry.substr(equals + 1);
    const std::vector<std::string> known = labels_of(study.axes[axis]);
    if (!holds(known, label)) {
      throw_unknown(where, "label of axis '" + study.axes[axis].name + "'",
                    label, known);
    }
    named[axis].push_back(label);
  }
  Choice choice;  // in the order of the study
  for (size_t axis = 0; axis < study.axes.size(); ++axis) {
    choice.push_back(labels_of(study.axes[axis]));
    if (named[axis].empty()) continue;
    std::erase_if(choice.back(), [&](const std::string& label) {
      return !holds(named[axis], label);
    });
  }
  return choice;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream list(text);
  for (std::string name; std::getline(list, name, ',');) {
    const size_t first = name.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    names.push_back(name.substr(first, name.find_last_not_of(' ') - first + 1));
  }
  return names;
}

/// The axes that series are made of, in the order of the study.
std::vector<size_t> series_axes(const Study& study, const FigureAxes& axes,
                                const Choice& choice, int64_t x_axis) {
  std::vector<size_t> named;
  for (const std::string& name : split_names(axes.series)) {
    named.push_back(find_axis(study, name, place(axes, "series")));
  }
  std::vector<size_t> used;
  for (size_t axis = 0; axis < study.axes.size(); ++axis) {
    if (static_cast<int64_t>(axis) == x_axis) continue;
    const bool is_named =
        std::find(named.begin(), named.end(), axis) != named.end();
    const bool is_open = choice[axis].size() > 1;
    if (is_open && !named.empty() && !is_named) {
      const std::string& name = study.axes[axis].name;
      throw ConfigError(place(axes, "series") + ": axis '" + name +
                        "' is neither shown nor held to one label; name it in "
                        "'series', or write 'only: [" +
                        name + "=" + choice[axis].front() + "]'");
    }
    if (is_named || is_open) used.push_back(axis);
  }
  return used;
}

/// Appends the labels of one more axis to every series.
void extend(std::vector<FigureGrid::Series>& series, size_t axis,
            const std::vector<std::string>& labels, bool in_name) {
  std::vector<FigureGrid::Series> longer;
  for (const FigureGrid::Series& one : series) {
    for (const std::string& label : labels) {
      FigureGrid::Series next = one;
      next.labels[axis] = label;
      if (in_name) next.name += (next.name.empty() ? "" : ", ") + label;
      longer.push_back(std::move(next));
    }
  }
  series = std::move(longer);
}

}  // namespace

void FigureOptions::describe(OptionSet& set) {
  set.add("title", title, "Title. Empty: the study's.");
  set.add("only", only,
          "Labels that are shown, as axis=label. Empty: all of every axis.");
}

Labels FigureGrid::at(const Series& one, const std::string& x_label) const {
  Labels labels = one.labels;
  if (x_axis >= 0) labels[static_cast<size_t>(x_axis)] = x_label;
  return labels;
}

FigureGrid make_grid(const Study& study, const FigureAxes& axes) {
  const Choice choice = choose(study, axes);
  FigureGrid grid;
  if (!axes.x.empty()) {
    const size_t axis = find_axis(study, axes.x, place(axes, "x"));
    grid.x_axis = static_cast<int64_t>(axis);
    grid.x_labels = choice[axis];
  }
  const std::vector<size_t> used =
      series_axes(study, axes, choice, grid.x_axis);
  grid.series = {{"", Labels(study.axes.size())}};
  for (size_t axis = 0; axis < study.axes.size(); ++axis) {
    if (static_cast<int64_t>(axis) == grid.x_axis) continue;
    const bool in_name =
        std::find(used.begin(), used.end(), axis) != used.end();
    extend(grid.series, axis, choice[axis], in_name);
  }
  return grid;
}

std::vector<const RunResult*> chosen_runs(const StudyResults& results,
                                          const FigureAxes& axes) {
  const Choice choice = choose(*results.study, axes);
  std::vector<const RunResult*> runs;
  for (const RunResult& run : results.runs) {
    bool allowed = run.labels.size() == choice.size();
    for (size_t axis = 0; allowed && axis < choice.size(); ++axis) {
      allowed = holds(choice[axis], run.labels[axis]);
    }
    if (allowed) runs.push_back(&run);
  }
  return runs;
}

double published_percent(const Study& study, const Labels& labels,
                         const std::string& metric) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const PublishedRow* row = published_row(study, labels);
  if (row == nullptr) return kNone;
  const auto found = row->percent.find(metric);
  return found == row->percent.end() ? kNone : found->second;
}

std::string seeds_note(const std::vector<int64_t>& counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (least == counts.end()) return "";
  if (*most == 1) return "one seed each: no intervals";
  if (*most < kLeastRunsOfInterval) {
    return "at most two seeds: too few for intervals";
  }
  const std::string number =
      *least == *most ? std::to_string(*most)
                      : std::to_string(*least) + " to " + std::to_string(*most);
  return "mean and 95% interval over " + number + " seeds";
}

}  // namespace kith
