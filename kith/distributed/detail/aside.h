#pragma once

#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace kith {

/// Calls work() on a thread of its own that need not be waited for, since it
/// may wait for ever. What it uses must be its own. It is gone when the answer
/// is there.
template <class Work>
auto aside(Work work) -> std::shared_future<decltype(work())> {
  std::promise<decltype(work())> promise;
  auto answer = promise.get_future().share();
  std::thread([promise = std::move(promise),
               own = std::optional<Work>(std::move(work))]() mutable {
    try {
      auto result = (*own)();
      own.reset();
      promise.set_value(std::move(result));
    } catch (...) {
      own.reset();
      promise.set_exception(std::current_exception());
    }
  }).detach();
  return answer;
}

}  // namespace kith
