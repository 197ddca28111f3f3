#include "cli/completion.h"

#include <sstream>

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {
namespace {

/// An option of a command as shells see it.
struct ShellOption {
  std::vector<std::string> words;  ///< "--out", "-k"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  ///< If only these are allowed.
};

struct ShellCommand {
  std::string path;  ///< "kith data make"
  std::string help;
  std::vector<ShellOption> options;
  std::vector<std::string> values;  ///< Of its first argument.
  std::vector<const ShellCommand*> below;
};

/// The words of a validator that allows a few: "TEXT:{a,b}".
std::vector<std::string> allowed_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}', begin);
  std::vector<std::string> values;
  if (end == std::string::npos) return values;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) {
    values.push_back(word);
  }
  return values;
}

std::string one_line_of(std::string help) {
  for (char& c : help) {
    if (c == '\n') c = ' ';
  }
  return help;
}

void add_options(const CLI::App& app, ShellCommand& command) {
  for (const CLI::Option* option : app.get_options()) {
    ShellOption found;
    for (const std::string& name : option->get_lnames()) {
      found.words.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      found.words.push_back("-" + name);
    }
    found.help = one_line_of(option->get_description());
    found.takes_value = option->get_items_expected_max() > 0;
    found.values = allowed_values(*option);
    if (!found.words.empty()) {
      command.options.push_back(std::move(found));
    } else if (command.values.empty()) {
      command.values = found.values;
    }
  }
}

/// A command and those below it, outermost first.
void add_commands(const CLI::App& app, const std::string& path,
                  std::vector<ShellCommand>& all) {
  ShellCommand command;
  command.path = path;
  command.help = one_line_of(app.get_description());
  add_options(app, command);
  all.push_back(std::move(command));
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    add_commands(*sub, path + " " + sub->get_name(), all);
  }
}

std::vector<ShellCommand> shell_commands(const CLI::App& app) {
  std::vector<ShellCommand> all;
  add_commands(app, "kith", all);
  for (ShellCommand& command : all) {
    for (const ShellCommand& other : all) {
      const size_t last = other.path.rfind(' ');
      if (last != std::string::npos &&
          other.path.substr(0, last) == command.path) {
        command.below.push_back(&other);
      }
    }
  }
  return all;
}

std::string last_word(const std::string& path) {
  return path.substr(path.rfind(' ') + 1);
}

/// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

/// 'kith train --device'|'kith train -k': patterns of a case.
std::string value_patterns(const std::string& path,
                           const std::vector<std::string>& words) {
  std::vector<std::string> patterns;
  for (const std::string& word : words) {
    patterns.push_back(quoted(path + " " + word));
  }
  return join(patterns, "|");
}

/// All paths but that of the program itself, as patterns of a case.
std::string path_patterns(const std::vector<ShellCommand>& all) {
  std::vector<std::string> patterns;
  for (const ShellCommand& command : all) {
    if (command.path != "kith") patterns.push_back(quoted(command.path));
  }
  return join(patterns, "|");
}

std::vector<std::string> arguments_of(const ShellCommand& command) {
  std::vector<std::string> words = command.values;
  for (const ShellCommand* sub : command.below) {
    words.push_back(last_word(sub->path));
  }
  return words;
}

std::string bash_script(const std::vector<ShellCommand>& all) {
  std::ostringstream out;
  out << "# Completion of kith for bash, made by: kith completion bash\n"
         "_kith() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]}\n"
         "  local prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local at=kith values='' options='' i\n"
         "  COMPREPLY=()\n"
         "  if [[ $cur == '=' ]]; then  # --option=\n"
         "    cur=''\n"
         "  elif [[ $prev == '=' ]]; then\n"
         "    prev=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"$at ${COMP_WORDS[i]}\" in\n"
         "      "
      << path_patterns(all)
      << ")\n"
         "        at=\"$at ${COMP_WORDS[i]}\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$at $prev\" in\n";
  for (const ShellCommand& command : all) {
    for (const ShellOption& option : command.options) {
      if (!option.takes_value) continue;
      out << "    " << value_patterns(command.path, option.words) << ")\n"
          << "      COMPREPLY=($(compgen -W "
          << quoted(join(option.values, " ")) << " -- \"$cur\")); return ;;\n";
    }
  }
  out << "  esac\n  case $at in\n";
  for (const ShellCommand& command : all) {
    std::vector<std::string> options;
    for (const ShellOption& option : command.options) {
      options.insert(options.end(), option.words.begin(), option.words.end());
    }
    out << "    " << quoted(command.path)
        << ")\n      values=" << quoted(join(arguments_of(command), " "))
        << "\n      options=" << quoted(join(options, " ")) << " ;;\n";
  }
  out << "  esac\n"
         "  [[ $cur == -* ]] && values=$options\n"
         "  COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
         "}\n"
         "complete -o default -F _kith kith\n";
  return out.str();
}

/// "word:help", as _describe wants it.
std::string zsh_entry(const std::string& word, const std::string& help) {
  return quoted(help.empty() ? word : word + ":" + help);
}

void write_zsh_words(std::ostream& out, const ShellCommand& command) {
  std::vector<std::string> values;
  for (const std::string& value : command.values) {
    values.push_back(zsh_entry(value, ""));
  }
  for (const ShellCommand* sub : command.below) {
    values.push_back(zsh_entry(last_word(sub->path), sub->help));
  }
  out << "    (" << quoted(command.path) << ")\n      values=("
      << join(values, "\n        ") << ")\n      options=(";
  std::vector<std::string> options;
  for (const ShellOption& option : command.options) {
    for (const std::string& word : option.words) {
      options.push_back(zsh_entry(word, option.help));
    }
  }
  out << join(options, "\n        ") << ") ;;\n";
}

std::string zsh_script(const std::vector<ShellCommand>& all) {
  std::ostringstream out;
  out << "#compdef kith\n"
         "# Completion of kith for zsh, made by: kith completion zsh\n"
         "_kith() {\n"
         "  local at=kith i\n"
         "  local -a values options\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    case \"$at $words[i]\" in\n"
         "      ("
      << path_patterns(all)
      << ")\n"
         "        at=\"$at $words[i]\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$at $words[CURRENT-1]\" in\n";
  for (const ShellCommand& command : all) {
    for (const ShellOption& option : command.options) {
      if (!option.takes_value) continue;
      out << "    (" << value_patterns(command.path, option.words) << ")\n"
          << "      "
          << (option.values.empty() ? "_files"
                                    : "compadd -- " + join(option.values, " "))
          << "; return ;;\n";
    }
  }
  out << "  esac\n  case $at in\n";
  for (const ShellCommand& command : all) write_zsh_words(out, command);
  out << "  esac\n"
         "  if [[ $words[CURRENT] == -* ]]; then\n"
         "    _describe -o option options\n"
         "  elif (( $#values )); then\n"
         "    _describe argument values\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "if [[ $funcstack[1] == _kith ]]; then\n"
         "  _kith \"$@\"\n"
         "else\n"
         "  compdef _kith kith\n"
         "fi\n";
  return out.str();
}

/// In single quotes, for fish, where a backslash escapes in them.
std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

void write_fish_option(std::ostream& out, const std::string& condition,
                       const ShellOption& option) {
  out << condition;
  for (const std::string& word : option.words) {
    out << (word.starts_with("--") ? " -l " + word.substr(2)
                                   : " -s " + word.substr(1));
  }
  if (!option.values.empty()) {
    out << " -x -a " << fish_quoted(join(option.values, " "));
  } else if (option.takes_value) {
    out << " -r";
  }
  out << " -d " << fish_quoted(option.help) << "\n";
}

std::string fish_script(const std::vector<ShellCommand>& all) {
  std::vector<std::string> paths;
  for (const ShellCommand& command : all) {
    if (command.path != "kith") paths.push_back(fish_quoted(command.path));
  }
  std::ostringstream out;
  out << "# Completion of kith for fish, made by: kith completion fish\n"
         "function __kith_at\n"
         "  set -l at kith\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    contains -- \"$at $word\" "
      << join(paths, " ")
      << "\n"
         "      and set at \"$at $word\"\n"
         "  end\n"
         "  test \"$at\" = \"$argv[1]\"\n"
         "end\n";
  for (const ShellCommand& command : all) {
    const std::string condition =
        "complete -c kith -n \"__kith_at " + fish_quoted(command.path) + "\"";
    for (const ShellCommand* sub : command.below) {
      out << condition << " -f -a " << last_word(sub->path) << " -d "
          << fish_quoted(sub->help) << "\n";
    }
    for (const std::string& value : command.values) {
      out << condition << " -f -a " << fish_quoted(value) << "\n";
    }
    for (const ShellOption& option : command.options) {
      write_fish_option(out, condition, option);
    }
  }
  return out.str();
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<ShellCommand> all = shell_commands(app);
  if (shell == "bash") return bash_script(all);
  if (shell == "zsh") return zsh_script(all);
  KITH_ASSERT(shell == "fish");
  return fish_script(all);
}

}  // namespace kith
