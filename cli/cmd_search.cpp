#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "cli/common.h"
#include "cli/index_words.h"
#include "cli/search_page.h"
#include "cli/source_flags.h"
#include "cli/threshold_flags.h"
#include "cli/usage.h"
#include "kith/chart/html.h"
#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/json_text.h"
#include "kith/core/options.h"
#include "kith/core/quote.h"
#include "kith/index/stored_index.h"
#include "kith/use/files.h"
#include "kith/use/search_index.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct SearchFlags {
  SearchIndexOptions options;
  std::string html;
  bool json = false;
  DeviceFlags device;
};

/// More pictures than a browser can show in one page are no help.
constexpr int64_t kMostOnPage = 10000;

using Threshold = std::optional<IndexThreshold>;

/// The hits that are answers, in their order: what is re-ranked need not have
/// the most similar first.
std::vector<SearchHit> accepted(const IndexAnswer& answer,
                                const Threshold& threshold) {
  std::vector<SearchHit> hits = answer.hits;
  std::erase_if(hits, [&](const SearchHit& hit) {
    return threshold && !threshold->accepts(hit.similarity);
  });
  return hits;
}

Json to_json(const std::vector<IndexAnswer>& answers, const StoredIndex& index,
             const Threshold& threshold) {
  Json queries = Json::array();
  for (const IndexAnswer& answer : answers) {
    Json results = Json::array();
    for (const SearchHit& hit : answer.hits) {
      Json result = {{"rank", results.size() + 1},
                     {"similarity", hit.similarity}};
      set_path(result, "path", index.items().path(hit.position));
      result["label"] = index.items().label(hit.position);
      result["position"] = hit.position;
      if (threshold) result["accepted"] = threshold->accepts(hit.similarity);
      results.push_back(std::move(result));
    }
    queries.push_back({{"query", answer.query}});
    if (threshold) {
      queries.back()["accepted"] = !accepted(answer, threshold).empty();
    }
    queries.back()["results"] = results;
  }
  Json json = {{"queries", queries}};
  if (threshold) json["threshold"] = threshold->value;
  return json;
}

/// "nothing like this here: the nearest, b.png, has 0.4213, below the threshold
/// 0.6123"
std::string unlike_text(const IndexAnswer& answer, const StoredIndex& index,
                        const IndexThreshold& threshold) {
  const SearchHit& nearest =
      *std::max_element(answer.hits.begin(), answer.hits.end(),
                        [](const SearchHit& a, const SearchHit& b) {
                          return a.similarity < b.similarity;
                        });
  return "nothing like this here: the nearest, " +
         printable(index.items().path(nearest.position)) + ", has " +
         format_fixed(static_cast<double>(nearest.similarity), 4) +
         ", below the threshold " + format_fixed(threshold.value, 4);
}

void print_answer(const IndexAnswer& all, const StoredIndex& index,
                  const Threshold& threshold) {
  print_line(printable(all.query));
  if (all.hits.empty()) {
    print_line("  nothing was found");
    return;
  }
  const IndexAnswer answer{all.query, accepted(all, threshold)};
  const size_t below = all.hits.size() - answer.hits.size();
  if (answer.hits.empty()) {
    print_line("  " + unlike_text(all, index, *threshold));
    return;
  }
  int width = 5;
  for (const SearchHit& hit : answer.hits) {
    const auto size =
        static_cast<int>(printable(index.items().label(hit.position)).size());
    width = std::clamp(size, width, 40);
  }
  std::printf("  rank  similarity  %-*s  path\n", width, "class");
  int rank = 0;
  for (const SearchHit& hit : answer.hits) {
    const IndexItem item = index.item(hit.position);
    std::printf("  %4d  %10.4f  %-*s  %s\n", ++rank,
                static_cast<double>(hit.similarity), width,
                printable(item.label).c_str(), printable(item.path).c_str());
  }
  if (below > 0) {
    print_line("  " + std::to_string(below) + " more below the threshold " +
               format_fixed(threshold->value, 4));
  }
}

void write_page(const SearchFlags& flags,
                const std::vector<IndexAnswer>& answers,
                const StoredIndex& index, const Threshold& threshold) {
  std::vector<SearchPageQuery> queries;
  for (const IndexAnswer& answer : answers) {
    SearchPageQuery query{answer.query, !flags.options.images.empty(), {}};
    const std::vector<SearchHit> shown = accepted(answer, threshold);
    if (shown.empty() && !answer.hits.empty()) {
      query.nothing = unlike_text(answer, index, *threshold);
    }
    for (const SearchHit& hit : shown) {
      const IndexItem item = index.item(hit.position);
      query.found.push_back({item.path, item.label, hit.similarity});
    }
    queries.push_back(std::move(query));
  }
  const std::string lead =
      "The nearest of " + std::to_string(index.size()) + " items in " +
      fs::path(flags.options.index).filename().string() +
      (flags.options.label.empty() ? ""
                                   : " of the class " + flags.options.label) +
      ", by cosine similarity" +
      (flags.options.rerank.empty()
           ? ""
           : ", re-ranked by " + join(flags.options.rerank)) +
      (threshold ? ", of at least " + format_fixed(threshold->value, 4) : "") +
      ".";
  make_folder_of(flags.html);
  write_file_atomically(flags.html, search_page(lead, queries));
}

void check_usage(const SearchFlags& flags) {
  if (flags.options.images.empty() == flags.options.embeddings.empty()) {
    throw ConfigError(
        "kith search needs what to search for: either --image FILE (or a "
        "folder) or --embeddings FILE.npy (see: kith search --help)");
  }
  if (!flags.options.embeddings.empty() && !flags.options.model.empty()) {
    throw ConfigError("--model goes with --image only; leave it out");
  }
  if (!flags.options.embeddings.empty() && !flags.options.checkpoint.empty()) {
    throw ConfigError("--checkpoint goes with --image only; leave it out");
  }
}

void run_search(const SearchFlags& flags) {
  check_usage(flags);
  const c10::Device device = flags.device.apply();
  const StoredIndex index =
      StoredIndex::open(flags.options.index, flags.options.memory_mb, device);
  const Threshold threshold = search_threshold(flags.options, index);
  const Rows queries =
      search_rows(flags.options, index, device, progress_bar());
  const int64_t shown =
      queries.count() * (1 + std::min(flags.options.k, index.size()));
  if (!flags.html.empty() && shown > kMostOnPage) {
    throw ConfigError("--html shows at most " + std::to_string(kMostOnPage) +
                      " pictures, got " + std::to_string(shown) +
                      ": search for fewer, with a smaller -k, or use --json");
  }
  const std::vector<IndexAnswer> answers =
      search_index(flags.options, index, queries);
  if (!flags.html.empty()) write_page(flags, answers, index, threshold);
  if (flags.json) {
    print_json(to_json(answers, index, threshold));
    return;
  }
  for (const IndexAnswer& answer : answers) {
    print_answer(answer, index, threshold);
  }
  if (!flags.html.empty()) {
    print_line("Look at it: " + absolute_path(flags.html));
  }
}

}  // namespace

void add_search(CLI::App& app) {
  auto* command =
      app.add_subcommand("search", "Find the nearest items of an index");
  auto flags = std::make_shared<SearchFlags>();
  command->add_option("--index", flags->options.index, "What kith index wrote")
      ->required();
  command
      ->add_option("--image", flags->options.images,
                   "Images to search for; of a folder all below it")
      ->type_name("FILE|FOLDER ...");
  command->add_option("--embeddings", flags->options.embeddings,
                      "Or vectors to search for (.npy), [N, dim]");
  command->add_option("--model", flags->options.model,
                      "With --image: where the index's model is now; default: "
                      "where it was");
  add_checkpoint_flag(*command, flags->options.checkpoint,
                      "the one that the index was made with");
  command->add_option("-k", flags->options.k, "How many to find")
      ->check(integer(1, 100'000))
      ->capture_default_str();
  add_rerank_flag(*command, flags->options.rerank, "Order what is found anew");
  command->add_option("--label", flags->options.label,
                      "Only items of this class");
  command->add_option(
      "--threshold", flags->options.threshold,
      std::string(kThresholdHelp) + "default: the index's own, if it has one");
  command->add_option("--html", flags->html,
                      "A page that shows them, everything in one file");
  command
      ->add_option("--memory-mb", flags->options.memory_mb,
                   "A larger exact index is read a block at a time")
      ->check(integer(1, kMostMemoryMb))
      ->capture_default_str();
  command->add_flag("--json", flags->json,
                    "One JSON object on standard output");
  flags->device.add_to(*command);
  command->callback([flags] { run_search(*flags); });
}

}  // namespace kith
