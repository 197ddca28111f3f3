#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "kith/serve/served_index.h"

namespace kith {

/// Looks every second whether indexes have changed on disk, on a thread of its
/// own. A file that is asked for its mark is simpler than notices of the
/// kernel, which do not tell what other machines write to a network disk.
class IndexWatch {
 public:
  explicit IndexWatch(const ServedIndexes& indexes, double seconds = 1);
  ~IndexWatch();
  IndexWatch(const IndexWatch&) = delete;
  IndexWatch& operator=(const IndexWatch&) = delete;

  /// Has all of them loaded again soon, whether they have changed or not.
  void reload();

 private:
  void work();

  const ServedIndexes& indexes_;
  double seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reload_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace kith
