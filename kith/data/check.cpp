#include "kith/data/check.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "kith/core/error.h"

namespace kith {

std::vector<BrokenImage> find_broken_images(const DataSet& data,
                                            int64_t threads,
                                            Progress& progress) {
  const auto total = static_cast<int64_t>(data.list().items.size());
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::map<int64_t, std::string> problems;
  const auto work = [&] {
    for (int64_t i = next++; i < total; i = next++) {
      try {
        data.load(i);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        problems[i] = error.what();
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
        {data.list().items[static_cast<size_t>(index)].path, problem});
  }
  return broken;
}

}  // namespace kith
