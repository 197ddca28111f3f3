#include "kith/use/search_index.h"

#include <algorithm>
#include <functional>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/data/image_files.h"
#include "kith/index/search_reranked.h"
#include "kith/use/decide.h"
#include "kith/use/embed_images.h"
#include "kith/use/index_model.h"

namespace kith {
namespace {

/// Which positions may be found; empty for all.
std::function<bool(int64_t)> filter_of(const SearchIndexOptions& options,
                                       const StoredIndex& index) {
  if (options.label.empty()) return {};
  const std::vector<std::string>& labels = index.items().labels();
  if (std::find(labels.begin(), labels.end(), options.label) == labels.end()) {
    const std::string near = nearest_name(options.label, labels);
    throw ConfigError("option 'label' " + options.label +
                      ": no such class in " + options.index +
                      (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return [&index, label = options.label](int64_t position) {
    return index.items().label(position) == label;
  };
}

/// Files, with the images below a folder in its place.
std::vector<std::string> files_of(const std::vector<std::string>& paths,
                                  bool warn) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    const ImageFiles found = find_image_files(path);
    if (found.images.empty()) {
      throw DataError(path + ": no images below this folder to search for");
    }
    if (warn && !found.ignored.empty()) {
      log_warning(path + ": " + std::to_string(found.ignored.size()) +
                  " files are not images and are left out (first: " +
                  found.ignored.front() + ")");
    }
    files.insert(files.end(), found.images.begin(), found.images.end());
  }
  return files;
}

}  // namespace

std::optional<IndexThreshold> search_threshold(
    const SearchIndexOptions& options, const StoredIndex& index) {
  if (options.threshold.empty()) return index.info().threshold;
  return threshold_for(options.threshold, index.info().model_hash,
                       options.index);
}

Rows search_rows(const SearchIndexOptions& options, const StoredIndex& index,
                 c10::Device device, Progress& progress) {
  check_rerank(parse_rerank(options.rerank, "option 'rerank'"), index);
  if (!options.embeddings.empty()) {
    return unit_rows(options.embeddings, options.memory_mb, at::kCPU);
  }
  const LoadedModel model = load_index_model(
      index, options.index, {options.model, options.checkpoint}, device);
  return embed_files(model, files_of(options.images, true), progress);
}

std::vector<IndexAnswer> search_index(const SearchIndexOptions& options,
                                      const StoredIndex& index,
                                      const Rows& queries) {
  if (queries.dim() != index.dim()) {
    throw DataError("the queries have " + std::to_string(queries.dim()) +
                    " dimensions, but " + options.index + " has " +
                    std::to_string(index.dim()) +
                    ": search with what the same model made");
  }
  const std::vector<std::string> images = files_of(options.images, false);
  if (!images.empty() &&
      static_cast<int64_t>(images.size()) != queries.count()) {
    throw RunError("the images to search for have changed meanwhile: " +
                   std::to_string(queries.count()) + " before, " +
                   std::to_string(images.size()) + " now; search again");
  }
  const RerankSteps steps = parse_rerank(options.rerank, "option 'rerank'");
  constexpr int64_t kBlock = 1024;
  const auto keep = filter_of(options, index);
  std::vector<IndexAnswer> answers;
  for (int64_t first = 0; first < queries.count(); first += kBlock) {
    const int64_t count = std::min(kBlock, queries.count() - first);
    for (auto& hits : search_reranked(index, queries.read(first, count),
                                      options.k, steps, keep)) {
      const size_t at = answers.size();
      answers.push_back(
          {images.empty() ? std::to_string(at) : images[at], std::move(hits)});
    }
  }
  return answers;
}

}  // namespace kith
