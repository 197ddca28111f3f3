#include "cli/names_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/objectives_page.h"
#include "cli/wrap.h"
#include "kith/core/error.h"
#include "kith/core/other_names.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNamesIntroduction =
    R"(<!-- Generated: kith list names --markdown > docs/names.md -->
# Names of other libraries

What pytorch-metric-learning, open-metric-learning and the codes of papers call
the parts of kith. A configuration that has one of their names gets an error
that says kith's:

```text
unknown loss 'TripletMarginLoss'; kith calls it 'triplet_all' or 'triplet'.
```

`kith list names TripletMarginLoss` prints a line of this page. A name stands
for the same idea; defaults and reductions may differ, and `kith list losses
triplet_all` says what kith's are. What is in neither table, kith does not have;
[Adding a loss](adding_a_loss.md) shows how to add it.
)";

std::string letters_of(const std::string& name) {
  std::string letters;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) letters += static_cast<char>(std::tolower(c));
  }
  return letters;
}

std::vector<OtherName> chosen_names(const std::string& name) {
  if (name.empty()) return other_names();
  std::vector<OtherName> found;
  for (const OtherName& other : other_names()) {
    const std::vector<std::string> ours = split_list(other.kith);
    if (letters_of(other.name) == letters_of(name) ||
        std::find(ours.begin(), ours.end(), name) != ours.end()) {
      found.push_back(other);
    }
  }
  if (!found.empty()) return found;
  throw ConfigError("no other library is known to call a part '" + name +
                    "'; kith list names shows all");
}

/// "loss", "loss", "miner" as headings: "Losses", ...
std::string heading_of(const std::string& kind) {
  std::string text = kind;
  text[0] =
      static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + (text.ends_with('s') || text.ends_with('x') ? "es" : "s");
}

std::string in_code(const std::string& list) {
  std::vector<std::string> words = split_list(list);
  for (std::string& word : words) word = "`" + word + "`";
  return join(words);
}

}  // namespace

void print_names(const std::string& name) {
  for (const OtherName& other : chosen_names(name)) {
    std::string line = std::string(other.kind) + " " + other.name + " (" +
                       other.library + "): " + other.kith;
    if (*other.note != 0) line += std::string("; ") + other.note;
    print_line(wrapped(line, 4));
  }
}

Json names_json(const std::string& name) {
  Json names = Json::array();
  for (const OtherName& other : chosen_names(name)) {
    names.push_back({{"kind", other.kind},
                     {"name", other.name},
                     {"library", other.library},
                     {"kith", split_list(other.kith)},
                     {"note", other.note}});
  }
  return {{"names", names}};
}

std::string names_page() {
  std::ostringstream out;
  out << kNamesIntroduction;
  std::string kind;
  for (const OtherName& other : other_names()) {
    if (kind != other.kind) {
      kind = other.kind;
      out << "\n## " << heading_of(kind)
          << "\n\n| name | of | in kith | |\n|---|---|---|---|\n";
    }
    out << "| `" << other.name << "` | " << other.library << " | "
        << in_code(other.kith) << " | " << other.note << " |\n";
  }
  return out.str();
}

}  // namespace kith
