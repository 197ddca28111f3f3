#include "cli/objectives_page.h"

#include <map>
#include <set>
#include <sstream>

namespace kith {
namespace {

constexpr const char* kIntroduction =
    R"(<!-- Generated: kith list --markdown > docs/objectives.md -->
# Objectives

Every loss, miner and batch sampler of kith. A configuration names a part and
sets its options beside the name:

```yaml
loss: {name: triplet, margin: 0.1}
miner: {name: semihard}
sampler: {name: class_balanced, batch: 112, per_class: 4}
```

Notation: a batch of M examples with embeddings e_i of D numbers and labels y_i;
x_i = e_i / |e_i|; s_ij = x_i.x_j; D_ij = |x_i - x_j|; P_i are the other
examples of i's class, N_i those of other classes; [u]+ = max(u, 0); T tuples
(anchor a, positive p, negative n); C classes with parameters w_c. The mean of
nothing is 0. "Published values" are the items of `tests/golden` that value and
gradient are compared with.
)";

struct Section {
  const char* id;     ///< For anchors: two kinds may use the same name.
  const char* title;  ///< "Losses"
  const char* about;
  const std::vector<Part>& parts;
};

/// A cell of a table, where a bar would end it.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

/// What makes two options the same: a row of an options table.
std::string row(const OptionInfo& option) {
  const std::string allowed = option.constraint.empty()
                                  ? option.type
                                  : option.type + ", " + option.constraint;
  return "| `" + option.name + "` | `" + cell(one_line(option.default_value)) +
         "` | " + cell(option.help) + " | " + cell(allowed) + " |\n";
}

constexpr const char* kOptionHead =
    "| option | default | meaning | allowed |\n|---|---|---|---|\n";

/// Options that many parts have in common, as those of the row engine, are
/// described once.
std::set<std::string> shared_rows(const std::vector<Part>& parts) {
  constexpr int kMany = 8;
  std::map<std::string, int> count;
  for (const Part& part : parts) {
    for (const OptionInfo& option : part.options) ++count[row(option)];
  }
  std::set<std::string> shared;
  for (const auto& [text, times] : count) {
    if (times >= kMany) shared.insert(text);
  }
  return shared;
}

void write_contents(std::ostream& out, const Section& section) {
  out << "\n## " << section.title << "\n\n" << section.about << "\n\n";
  out << "| name | what |\n|---|---|\n";
  for (const Part& part : section.parts) {
    out << "| [`" << part.name << "`](#" << section.id << "-" << part.name
        << ") | " << cell(part.summary) << " |\n";
  }
}

void write_facts(std::ostream& out, const Part& part, bool published) {
  const PartFacts& facts = part.facts;
  if (*facts.source != 0) out << "- Source: " << facts.source << "\n";
  if (!part.miner.empty()) {
    out << "- Default miner: [`" << part.miner << "`](#miner-" << part.miner
        << ")\n";
  }
  if (*facts.cost != 0) out << "- Cost: " << facts.cost << "\n";
  if (!published) return;
  std::vector<std::string> links;
  for (const std::string& item : split_list(facts.golden)) {
    links.push_back("[`" + item + "`](../tests/golden/" + item + ")");
  }
  out << "- Published values: "
      << (links.empty() ? "none published" : join(links)) << "\n";
}

void write_options_of(std::ostream& out, const Part& part,
                      const std::set<std::string>& shared,
                      const std::string& section) {
  std::string own;
  std::vector<std::string> others;
  for (const OptionInfo& option : part.options) {
    if (shared.count(row(option))) {
      others.push_back("`" + option.name + "`");
    } else {
      own += row(option);
    }
  }
  if (!own.empty()) out << "\n" << kOptionHead << own;
  if (own.empty() && others.empty()) out << "\nIt has no options.\n";
  if (others.empty()) return;
  out << "\n"
      << (own.empty() ? "Options" : "And") << " [in common](#" << section
      << "-common): " << join(others) << ".\n";
}

void write_section(std::ostream& out, const Section& section, bool published) {
  const std::set<std::string> shared = shared_rows(section.parts);
  if (!shared.empty()) {
    out << "\n<a id=\"" << section.id << "-common\"></a>\n\n"
        << "### Options in common\n\n"
        << "The same in every part whose list of options names them.\n\n"
        << kOptionHead;
    for (const std::string& text : shared) out << text;
  }
  for (const Part& part : section.parts) {
    out << "\n<a id=\"" << section.id << "-" << part.name << "\"></a>\n\n### "
        << part.name << "\n\n"
        << part.summary << "\n";
    if (*part.facts.formula != 0) {
      out << "\n```text\n" << part.facts.formula << "\n```\n";
    }
    out << "\n";
    if (!part.embeddings.empty()) {
      out << "- Embeddings: " << part.embeddings << "\n";
    }
    write_facts(out, part, published);
    write_options_of(out, part, shared, section.id);
  }
}

}  // namespace

std::string one_line(const ConfigNode& value) {
  std::string text = to_yaml(value);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream list(text);
  for (std::string word; std::getline(list, word, ',');) {
    const size_t first = word.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    words.push_back(word.substr(first, word.find_last_not_of(' ') - first + 1));
  }
  return words;
}

std::string objectives_page(const std::vector<Part>& losses,
                            const std::vector<Part>& miners,
                            const std::vector<Part>& samplers) {
  const Section sections[] = {
      {"loss", "Losses",
       "A loss on tuples takes those of the named miner or of its default one; "
       "the others work on the whole batch. The head of a network gives a "
       "loss the embeddings it is defined on, unit vectors or of any length, "
       "unless `model.head.l2` is set.",
       losses},
      {"miner", "Miners",
       "They choose the tuples of a batch that a loss is computed on.", miners},
      {"sampler", "Batch samplers", "They choose the images of a batch.",
       samplers}};
  std::ostringstream out;
  out << kIntroduction;
  for (const Section& section : sections) write_contents(out, section);
  for (const Section& section : sections) {
    out << "\n## " << section.title << " in detail\n";
    // Samplers have no published values: they draw at random.
    write_section(out, section, section.id != std::string("sampler"));
  }
  return out.str();
}

}  // namespace kith
