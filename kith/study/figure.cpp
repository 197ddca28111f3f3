#include "kith/study/figure.h"

#include <algorithm>

#include "kith/core/error.h"
#include "kith/study/axes.h"

namespace kith {

FigureRegistry& figure_registry() {
  static FigureRegistry registry("figure");
  return registry;
}

std::vector<NamedFigure> make_figures(const Study& study) {
  std::vector<NamedFigure> figures;
  for (size_t i = 0; i < study.figures.items.size(); ++i) {
    ConfigNode node = study.figures.items[i];
    const std::string section = "study.figures." + std::to_string(i);
    const ConfigNode* file = node.find("file");
    if (file == nullptr || file->scalar.empty() ||
        file->scalar != folder_name(file->scalar)) {
      throw ConfigError(node.where + ": '" + section +
                        "' needs a 'file', the name of its picture without "
                        "folder and ending");
    }
    NamedFigure figure;
    figure.file = file->scalar;
    for (const NamedFigure& other : figures) {
      if (other.file == figure.file) {
        throw ConfigError(file->where + ": two figures have the file '" +
                          figure.file + "'");
      }
    }
    std::erase_if(node.entries,
                  [](const auto& entry) { return entry.first == "file"; });
    figure.figure = figure_registry().make(node, section);
    figure.figure->check(study);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace kith
