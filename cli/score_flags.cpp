#include "cli/score_flags.h"

#include "cli/usage.h"

namespace kith {

void ScoreFlags::add_to(CLI::App& command, const std::string& usual) {
  command.add_option(
      "--metrics", metrics,
      "Names with commas, such as recall_any@1,10,map_at_r (see: "
      "kith list metrics); default: " +
          usual);
  add_rerank_flag(command, rerank, "Re-rank and score again");
  command
      .add_option("--no-positive", no_positive,
                  "Queries without positives: leave_out, or count as miss")
      ->check(one_of({"leave_out", "miss"}))
      ->capture_default_str();
  command
      .add_option("--bootstrap", bootstrap,
                  "Resamples of the queries for 95% intervals; 0: none")
      ->check(integer(0, 1000000))
      ->capture_default_str();
  command
      .add_option("--seed", seed, "Of resamples, clusterings and corruptions")
      ->check(integer(0))
      ->capture_default_str();
  command
      .add_option("--memory", memory_mb,
                  "MB for blocks of embeddings and similarities")
      ->check(integer(16, 1 << 24))
      ->capture_default_str();
  command.add_flag("--by-class", by_class,
                   "Adds the values of each class to the JSON");
  auto* as_json =
      command.add_flag("--json", json, "One JSON object on standard output");
  command
      .add_option("--format", format,
                  "Of what is printed: table for people, or one to paste: "
                  "markdown, latex, csv")
      ->check(one_of({"table", "markdown", "latex", "csv"}))
      ->capture_default_str()
      ->excludes(as_json);
}

EvaluateOptions ScoreFlags::options() const {
  EvaluateOptions options;
  options.misses = no_positive == "miss";
  options.bootstrap = bootstrap;
  options.by_query = by_class;
  options.seed = static_cast<uint64_t>(seed);
  options.memory_mb = memory_mb;
  return options;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  if (text.empty()) return {};
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

}  // namespace kith
