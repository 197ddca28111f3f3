#include "cli/usage.h"

#include <algorithm>
#include <charconv>

#include "kith/core/options.h"

namespace kith {
namespace {

std::string did_you_mean(const std::string& word,
                         const std::vector<std::string>& known) {
  const std::string near = nearest_name(word, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub :
       command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  return names;
}

/// An argument that nothing takes. Options first: the words behind an unknown
/// one are left over because of it.
std::string unknown_argument(const CLI::App& command,
                             const std::vector<std::string>& left_over) {
  for (const std::string& word : left_over) {
    if (!word.starts_with('-')) continue;
    const std::string name = word.substr(0, word.find('='));
    return "unknown option '" + name + "'" +
           did_you_mean(name, option_names(command));
  }
  const std::string& word = left_over.front();
  const std::vector<std::string> commands = command_names(command);
  if (commands.empty()) return "unexpected argument '" + word + "'";
  return "unknown command '" + word + "'" + did_you_mean(word, commands);
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = "kith";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::vector<std::string> left_over = command->remaining();
  std::string problem = error.what();
  if (!left_over.empty()) {
    problem = unknown_argument(*command, left_over);
  } else if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
             !command_names(*command).empty()) {
    problem = "a command is missing: " + join(command_names(*command));
  } else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    problem = problem.substr(0, problem.find(':')) + ": a value is missing";
  }
  return problem + " (see: " + name + " --help)";
}

std::string flag_words(const std::string& message) {
  // The one function that an error of the library names, by its command.
  static const std::string function = "add_to_index()";
  if (const size_t at = message.find(function); at != std::string::npos) {
    return flag_words(
        std::string(message).replace(at, function.size(), "kith index add"));
  }
  static const std::string mark = "option '";
  std::string text;
  size_t at = 0;
  for (size_t begin; (begin = message.find(mark, at)) != std::string::npos;) {
    const size_t name = begin + mark.size();
    const size_t end =
        message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", name);
    text += message.substr(at, begin - at);
    if (end == std::string::npos || message[end] != '\'' || end == name) {
      text += mark;
      at = name;
      continue;
    }
    std::string flag = message.substr(name, end - name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    text += "--" + flag;
    at = end + 1;
  }
  return text + message.substr(at);
}

CLI::Validator one_of(const std::vector<std::string>& allowed) {
  return CLI::Validator(
      [allowed](std::string& word) -> std::string {
        for (const std::string& known : allowed) {
          if (word == known) return "";
        }
        return "must be one of " + join(allowed) + ", got '" + word + "'" +
               did_you_mean(word, allowed);
      },
      "{" + join(allowed, ",") + "}");
}

void add_checkpoint_flag(CLI::App& command, std::string& checkpoint,
                         const std::string& usual) {
  const CLI::Validator check(
      [](std::string& word) -> std::string {
        static const std::vector<std::string> names = {"last", "best"};
        const bool is_epoch =
            !word.empty() && word.size() < 16 &&
            word.find_first_not_of("0123456789") == std::string::npos;
        if (is_epoch || word == names[0] || word == names[1]) return "";
        return "must be last, best or the number of an epoch, got '" + word +
               "'" + did_you_mean(word, names);
      },
      "{last,best}|EPOCH");
  command
      .add_option("--checkpoint", checkpoint,
                  "Which network of a run: last, best, or of the epoch with "
                  "this number, 0 before training; default: " +
                      usual)
      ->check(check);
}

CLI::Validator integer(int64_t lo, int64_t hi) {
  const bool open = hi == std::numeric_limits<int64_t>::max();
  const std::string allowed =
      open ? "at least " + std::to_string(lo)
           : "from " + std::to_string(lo) + " to " + std::to_string(hi);
  return CLI::Validator(
      [=](std::string& word) -> std::string {
        int64_t value = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, value);
        const bool good =
            error == std::errc() && stop == end && value >= lo && value <= hi;
        return good ? ""
                    : "must be an integer, " + allowed + ", got '" + word + "'";
      },
      "");
}

void add_rerank_flag(CLI::App& command, std::vector<std::string>& texts,
                     const std::string& what) {
  command
      .add_option("--rerank", texts,
                  what +
                      ", by a name of kith list rerankers and its options; "
                      "several times: one after the other")
      ->type_name("NAME[:KEY=VALUE,...]")
      ->allow_extra_args(false);
}

}  // namespace kith
