#include "kith/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr int64_t kNoError = std::numeric_limits<int64_t>::max();

/// A batch being made: which images are still to come and the first error.
struct Pending {
  std::mutex fit_mutex;  ///< For fit() alone: the first image allocates.
  Batch batch;
  std::vector<std::vector<Image>> waiting;  ///< [count] Pictures of any size.
  int64_t missing = 0;
  bool ready = false;
  int64_t error_position = kNoError;
  std::exception_ptr error;
};

/// Not filled with zeros: every byte is written once, by an image.
std::shared_ptr<uint8_t[]> plain_memory(size_t bytes) {
  return std::shared_ptr<uint8_t[]>(new uint8_t[bytes]);
}

}  // namespace

/// One mutex guards everything but the pixels and their size: a worker writes
/// its image's part of the pixels without the lock, which is safe because the
/// parts are disjoint and next() takes a batch only after its last image was
/// counted.
class Loader::State {
 public:
  /// One of the functions is empty.
  State(std::vector<std::vector<int64_t>> batches, LoadFunction load,
        LoadPicturesFunction load_pictures, const LoaderOptions& options)
      : batches_(std::move(batches)),
        load_(std::move(load)),
        load_pictures_(std::move(load_pictures)),
        allocate_(options.allocate ? options.allocate : plain_memory),
        window_(std::max<int64_t>(options.prefetch, 0) + 1) {
    try {
      for (int64_t i = 0; i < std::max<int64_t>(options.threads, 1); ++i) {
        workers_.emplace_back([this] { work(); });
      }
    } catch (...) {  // no more threads: the destructor will not run
      join();
      throw;
    }
  }

  ~State() { join(); }

  int64_t remaining() const {
    return static_cast<int64_t>(batches_.size()) - taken_;
  }

  Batch next() {
    KITH_ASSERT(remaining() > 0);
    std::unique_lock lock(mutex_);
    batch_ready_.wait(
        lock, [this] { return !pending_.empty() && pending_.front()->ready; });
    const std::unique_ptr<Pending> done = std::move(pending_.front());
    pending_.pop_front();
    ++taken_;
    lock.unlock();
    work_available_.notify_all();
    if (done->error) std::rethrow_exception(done->error);
    return std::move(done->batch);
  }

 private:
  struct Task {
    Pending* pending;
    int64_t batch;
    int64_t position;
    int64_t index;
  };

  void join() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    work_available_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_available_.wait(lock, [this] { return stop_ || has_task(); });
      if (stop_) return;
      const Task task = take_task();
      lock.unlock();
      const std::exception_ptr error = make(task);
      lock.lock();
      keep_first_error(task, error);
      if (--task.pending->missing > 0) continue;
      if (load_pictures_ && !task.pending->error) {
        lock.unlock();  // nobody else works on this batch any more
        const std::exception_ptr late = join_waiting(*task.pending);
        lock.lock();
        task.pending->error = late;
      }
      task.pending->ready = true;
      batch_ready_.notify_all();
    }
  }

  bool has_task() const {
    const auto total = static_cast<int64_t>(batches_.size());
    return next_batch_ < total && next_batch_ < taken_ + window_;
  }

  Task take_task() {
    const std::vector<int64_t>& indices =
        batches_[static_cast<size_t>(next_batch_)];
    if (next_position_ == 0) {
      auto pending = std::make_unique<Pending>();
      pending->batch.indices = indices;
      pending->missing = static_cast<int64_t>(indices.size());
      if (load_pictures_) pending->waiting.resize(indices.size());
      pending_.push_back(std::move(pending));
    }
    const Task task{pending_.back().get(), next_batch_, next_position_,
                    indices[static_cast<size_t>(next_position_)]};
    if (++next_position_ == static_cast<int64_t>(indices.size())) {
      next_position_ = 0;
      ++next_batch_;
    }
    return task;
  }

  /// Loads an image into its place; called without the lock.
  std::exception_ptr make(const Task& task) {
    try {
      if (load_pictures_) {
        std::vector<Image> pictures =
            load_pictures_(task.batch, task.position, task.index);
        KITH_ASSERT(!pictures.empty());
        task.pending->waiting[static_cast<size_t>(task.position)] =
            std::move(pictures);
        return nullptr;
      }
      const Image image = load_(task.batch, task.position, task.index);
      if (image.pixels.empty()) return nullptr;
      uint8_t* pixels = fit(*task.pending, image);
      std::copy(
          image.pixels.begin(), image.pixels.end(),
          pixels + static_cast<size_t>(task.position) * image.pixels.size());
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  std::exception_ptr join_waiting(Pending& pending) {
    try {
      pending.batch.parts =
          join_pictures(pending.waiting, [this](size_t bytes) {
            const std::lock_guard allocate_lock(allocate_mutex_);
            return allocate_(bytes);
          });
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  /// Called with the lock held.
  static void keep_first_error(const Task& task,
                               const std::exception_ptr& error) {
    Pending& pending = *task.pending;
    if (!error || task.position >= pending.error_position) return;
    pending.error_position = task.position;
    pending.error = error;
  }

  /// The pixels of the batch. The first image decides the size and allocates;
  /// meanwhile threads that work on other batches go on.
  uint8_t* fit(Pending& pending, const Image& image) {
    const std::lock_guard fit_lock(pending.fit_mutex);
    if (pending.batch.parts.empty()) {
      pending.batch.parts = {whole_batch(pending.batch.count(), image)};
    }
    const BatchPart& part = pending.batch.parts.front();
    if (part.height != image.height || part.width != image.width ||
        part.channels != image.channels) {
      throw std::logic_error("bug in kith: images of one batch differ in size");
    }
    return part.pixels.get();
  }

  BatchPart whole_batch(int64_t count, const Image& like) {
    std::vector<int64_t> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    const std::lock_guard allocate_lock(allocate_mutex_);
    return make_part(std::move(all), like, allocate_);
  }

  const std::vector<std::vector<int64_t>> batches_;
  const LoadFunction load_;
  const LoadPicturesFunction load_pictures_;
  const PixelMemory allocate_;
  const int64_t window_;

  std::mutex allocate_mutex_;
  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable batch_ready_;
  std::deque<std::unique_ptr<Pending>> pending_;
  int64_t next_batch_ = 0;     ///< The next image to be loaded is at
  int64_t next_position_ = 0;  ///< this batch and position.
  int64_t taken_ = 0;          ///< Batches handed out. Only next() writes it.
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

Loader::Loader(std::vector<std::vector<int64_t>> batches, LoadFunction load,
               const LoaderOptions& options) {
  for (const auto& batch : batches) KITH_ASSERT(!batch.empty());
  state_ = std::make_unique<State>(std::move(batches), std::move(load),
                                   LoadPicturesFunction(), options);
}

Loader::Loader(std::vector<std::vector<int64_t>> batches,
               LoadPicturesFunction load, const LoaderOptions& options) {
  for (const auto& batch : batches) KITH_ASSERT(!batch.empty());
  state_ = std::make_unique<State>(std::move(batches), LoadFunction(),
                                   std::move(load), options);
}

Loader::~Loader() = default;

int64_t Loader::remaining() const { return state_->remaining(); }

Batch Loader::next() { return state_->next(); }

std::vector<std::vector<int64_t>> in_batches(
    const std::vector<int64_t>& indices, int64_t size) {
  KITH_ASSERT(size > 0);
  std::vector<std::vector<int64_t>> batches;
  for (auto begin = indices.begin(); begin != indices.end();) {
    const auto end =
        begin + std::min<std::ptrdiff_t>(size, indices.end() - begin);
    batches.emplace_back(begin, end);
    begin = end;
  }
  return batches;
}

}  // namespace kith
