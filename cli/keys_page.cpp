#include "cli/keys_page.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/objectives_page.h"
#include "cli/wrap.h"
#include "kith/core/error.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKeysIntroduction =
    R"(<!-- Generated: kith list keys --markdown > docs/configuration_keys.md -->
# Configuration keys

Every key that a configuration can have, from the descriptions that kith reads
it by. A key with a dot is a key in a section: `train.epochs` is

```yaml
train:
  epochs: 20
```

and `--set train.epochs=20` on a command line. A section in which a part is
named (`name`) has the keys of that part. `augment[]` stands for each entry of a
list. `base` is the path of another configuration that this one changes.
[Configuration](configuration.md) shows whole ones; `kith list keys train`
prints a section, and `kith list keys train.epochs` a key.
)";

/// A key as a configuration has it, with the part that it is a key of.
struct FlatKey {
  std::string key;   ///< "loss.margin"
  std::string part;  ///< "triplet"; empty: of the section itself.
  OptionInfo option;
};

std::vector<FlatKey> flat_keys() {
  std::vector<FlatKey> keys;
  for (const ConfigSection& section : configuration_sections()) {
    for (const OptionInfo& option : section.options) {
      keys.push_back({section.key + "." + option.name, "", option});
    }
    for (const ConfigPart& part : section.parts) {
      if (!part.shape_of.empty()) continue;  // has the keys of its part
      for (const OptionInfo& option : part.options) {
        keys.push_back({section.key + "." + option.name, part.name, option});
      }
    }
  }
  return keys;
}

/// Those of a section or a key; "augment" is "augment[]" too.
std::vector<FlatKey> keys_below(const std::string& below) {
  std::vector<FlatKey> all = flat_keys();
  if (below.empty()) return all;
  std::vector<FlatKey> found;
  std::vector<std::string> names;
  for (const FlatKey& key : all) {
    names.push_back(key.key);
    const bool is_below = key.key == below ||
                          key.key.starts_with(below + ".") ||
                          key.key.starts_with(below + "[].");
    if (is_below) found.push_back(key);
  }
  if (!found.empty()) return found;
  for (const ConfigSection& section : configuration_sections()) {
    names.push_back(section.key);
  }
  const std::string near = nearest_name(below, names);
  throw ConfigError("there is no key '" + below + "'" +
                    (near.empty() ? "" : "; did you mean '" + near + "'?") +
                    " kith list keys shows all");
}

/// A default that stands for "not given" is nothing to read.
std::string default_text(const OptionInfo& option) {
  const std::string text = one_line(option.default_value);
  return text == ".nan" || text == "nan" ? "" : text;
}

std::string allowed_text(const OptionInfo& option) {
  return option.constraint.empty() ? option.type
                                   : option.type + ", " + option.constraint;
}

std::string table_cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

void write_keys(std::ostream& out, const std::string& section,
                const std::vector<OptionInfo>& options) {
  out << "\n| key | default | meaning | allowed |\n|---|---|---|---|\n";
  for (const OptionInfo& option : options) {
    const std::string value = default_text(option);
    out << "| `" << section << "." << option.name << "` | "
        << (value.empty() ? "" : "`" + table_cell(value) + "`") << " | "
        << table_cell(option.help) << " | " << table_cell(allowed_text(option))
        << " |\n";
  }
}

/// Parts whose options docs/objectives.md has, with the anchors there.
std::string objectives_anchor(const std::string& section) {
  for (const char* known : {"loss", "miner", "sampler"}) {
    if (section == known) return std::string("objectives.md#") + known + "-";
  }
  return "";
}

/// A line for each part, where another page has the meanings.
void write_part_list(std::ostream& out, const ConfigSection& section,
                     const std::string& anchor) {
  out << "\n| `" << section.key << ".name` | keys in `" << section.key
      << "` |\n|---|---|\n";
  for (const ConfigPart& part : section.parts) {
    std::vector<std::string> names;
    for (const OptionInfo& option : part.options) {
      names.push_back("`" + option.name + "`");
    }
    out << "| [`" << part.name << "`](" << anchor << part.name << ") | "
        << join(names) << " |\n";
  }
}

/// A line for each shape of a part: its keys are those of the part.
void write_shapes(std::ostream& out, const ConfigSection& section,
                  const std::string& of) {
  bool first = true;
  for (const ConfigPart& part : section.parts) {
    if (part.shape_of != of) continue;
    if (first) {
      out << "\n| `" << section.key << ".name` | is `" << of
          << "` with | also called |\n|---|---|---|\n";
    }
    first = false;
    std::vector<std::string> values, names;
    for (const OptionInfo& option : part.options) {
      values.push_back("`" + option.name + ": " + default_text(option) + "`");
    }
    for (const std::string& alias : part.aliases) {
      names.push_back("`" + alias + "`");
    }
    if (values.empty()) values = {"its defaults"};
    out << "| `" << part.name << "` | " << table_cell(join(values)) << " | "
        << join(names) << " |\n";
  }
}

void write_config_section(std::ostream& out, const ConfigSection& section) {
  out << "\n## " << section.key << "\n\n" << section.about;
  if (!section.usual.empty()) {
    out << " Without a `name` it is `" << section.usual << "`.";
  }
  out << "\n";
  if (!section.options.empty()) {
    write_keys(out, section.key, section.options);
  }
  const std::string anchor = objectives_anchor(section.key);
  if (!anchor.empty()) {
    write_part_list(out, section, anchor);
    return;
  }
  for (const ConfigPart& part : section.parts) {
    if (!part.shape_of.empty()) continue;
    out << "\n### " << section.key << ": " << part.name << "\n";
    if (part.options.empty()) {
      out << "\nIt has no keys but `name`.\n";
    } else {
      write_keys(out, section.key, part.options);
    }
    write_shapes(out, section, part.name);
  }
}

}  // namespace

void print_keys(const std::string& below) {
  for (const FlatKey& key : keys_below(below)) {
    const std::string head = key.key +
                             (key.part.empty() ? "" : " (" + key.part + ")") +
                             " = " + default_text(key.option);
    print_line(wrapped(head, 4) + "\n" +
               wrapped("    " + key.option.help + " [" +
                           allowed_text(key.option) + "]",
                       4));
  }
}

Json keys_json(const std::string& below) {
  Json keys = Json::array();
  for (const FlatKey& key : keys_below(below)) {
    keys.push_back({{"key", key.key},
                    {"part", key.part},
                    {"type", key.option.type},
                    {"default", default_text(key.option)},
                    {"allowed", key.option.constraint},
                    {"help", key.option.help}});
  }
  return {{"keys", keys}};
}

std::string keys_page() {
  std::ostringstream out;
  out << kKeysIntroduction;
  for (const ConfigSection& section : configuration_sections()) {
    write_config_section(out, section);
  }
  return out.str();
}

}  // namespace kith
