#include "kith/serve/index_watch.h"

#include <chrono>
#include <utility>

namespace kith {

IndexWatch::IndexWatch(const ServedIndexes& indexes, double seconds)
    : indexes_(indexes), seconds_(seconds), thread_([this] { work(); }) {}

IndexWatch::~IndexWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void IndexWatch::reload() {
  {
    const std::lock_guard lock(mutex_);
    reload_ = true;
  }
  changed_.notify_all();
}

void IndexWatch::work() {
  const std::chrono::duration<double> pause(seconds_);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [this] { return reload_ || stopped_; });
    if (stopped_) return;
    const bool reload = std::exchange(reload_, false);
    lock.unlock();
    for (const auto& index : indexes_) {
      index->look(reload ? ServedIndex::Look::kAnyway
                         : ServedIndex::Look::kIfNew);
    }
  }
}

}  // namespace kith
