#include "kith/data/check.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "kith/core/error.h"
#include "kith/core/log.h"

namespace kith {

std::vector<std::string> published_differences(const DataSet& data) {
  const std::optional<PublishedCounts> published = data.traits().published;
  if (!published) return {};
  std::vector<std::string> differences;
  const auto compare = [&](Split split, const char* what, int64_t count,
                           int64_t expected) {
    if (expected == 0 || count == expected) return;
    differences.push_back(
        std::string("the ") + split_name(split) + " split has " +
        std::to_string(count) + " " + what + ", but the published number is " +
        std::to_string(expected) + " (" + published->source + ")");
  };
  const SplitSummary train = summarise(data.list(), Split::kTrain);
  const SplitSummary test = summarise(data.list(), Split::kTest);
  compare(Split::kTrain, "images", train.images, published->train_images);
  compare(Split::kTrain, "classes", train.classes, published->train_classes);
  compare(Split::kTest, "images", test.images, published->test_images);
  compare(Split::kTest, "classes", test.classes, published->test_classes);
  for (const auto& [name, expected] : published->lists) {
    if (name == nullptr) break;
    const auto list = data.list().lists.find(name);
    const size_t count =
        list == data.list().lists.end() ? 0 : list->second.size();
    if (count == static_cast<size_t>(expected)) continue;
    differences.push_back(
        std::string("the list '") + name + "' has " + std::to_string(count) +
        " images, but the published number is " + std::to_string(expected) +
        " (" + published->source + ")");
  }
  return differences;
}

std::vector<BrokenImage> find_broken_images(const DataSet& data,
                                            int64_t threads, Progress& progress,
                                            std::optional<Split> split) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < data.list().items.size(); ++i) {
    if (split && data.list().items[i].split != *split) continue;
    positions.push_back(static_cast<int64_t>(i));
  }
  const auto total = static_cast<int64_t>(positions.size());
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::map<int64_t, std::string> problems;
  const auto work = [&] {
    for (int64_t i = next++; i < total; i = next++) {
      const int64_t position = positions[static_cast<size_t>(i)];
      const auto keep = [&](const std::string& problem) {
        const std::lock_guard lock(mutex);
        problems[position] = problem;
      };
      try {
        data.load(position);
      } catch (const BrokenImageError& error) {
        keep(error.problem());
      } catch (const std::exception& error) {
        keep(error.what());
      }
      ++done;
    }
  };
  progress.start("check", total);
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; ++t) workers.emplace_back(work);
  while (done < total) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    progress.advance(done, "");
  }
  for (std::thread& worker : workers) worker.join();
  progress.finish();

  std::vector<BrokenImage> broken;
  for (const auto& [index, problem] : problems) {
    broken.push_back(
        {index, data.list().items[static_cast<size_t>(index)].path, problem});
  }
  return broken;
}

void leave_out_broken(DataSet& data, int64_t threads, Progress& progress,
                      std::optional<Split> split) {
  if (!data.skips_broken()) return;
  const std::vector<BrokenImage> broken =
      find_broken_images(data, threads, progress, split);
  std::map<Split, size_t> counts;
  for (const BrokenImage& image : broken) {
    ++counts[data.list().items[static_cast<size_t>(image.position)].split];
  }
  for (const auto& [of, count] : counts) {
    if (count < data.list().of_split(of).size()) continue;
    throw DataError("none of the " + std::to_string(count) + " images of the " +
                    split_name(of) +
                    " split can be read; the first: " + broken.front().problem);
  }
  if (!broken.empty()) log_warning("left out: " + left_out_text(broken));
  data.leave_out(broken);
}

}  // namespace kith
