#include "kith/distributed/c10d/rank_store.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "kith/core/error.h"
#include "kith/distributed/detail/aside.h"
#include "kith/distributed/detail/seconds_text.h"
#include "kith/distributed/reach.h"

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

// Names in the store. A rank's own mark is the name, "/" and its number.
constexpr const char* kHere = "here";
constexpr const char* kFailed = "failed";  // its value: why
constexpr const char* kLost = "lost";
constexpr const char* kLeft = "left";

/// No operation of the store takes long while it is there.
constexpr std::chrono::seconds kStoreTimeout{5};
/// For others to notice too.
constexpr std::chrono::milliseconds kNotice{800};

std::string mark_of(const std::string& mark, int64_t rank) {
  return mark + "/" + std::to_string(rank);
}

std::vector<uint8_t> bytes_from(const std::string& text) {
  return {text.begin(), text.end()};
}

/// "rank 2", "ranks 2 and 3", "ranks 1, 2 and 3".
std::string ranks_text(const std::vector<int64_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace

RankStore::RankStore(const RankPlace& place, const std::string& engine,
                     std::chrono::milliseconds timeout)
    : place_(place),
      engine_(engine),
      is_host_(place.rank == 0 && !place.store_is_kept &&
               place.store_file.empty()) {
  const Clock::time_point begin = Clock::now();
  if (place.size == 1) {
    own_ip_ = "127.0.0.1";
    store_ = c10::make_intrusive<c10d::HashStore>();
  } else if (place.store_file.empty()) {
    connect_to_address(timeout);
  } else {
    connect_to_file();
  }
  store_ = c10::make_intrusive<c10d::PrefixStore>(place.store_prefix, store_);
  const auto all_came =
      aside([store = std::make_shared<RankStore>(*this), begin, timeout] {
        store->wait_for_all(begin, timeout);
        store->check_engines();
        return true;
      });
  if (all_came.wait_for(timeout + kStoreTimeout) != std::future_status::ready) {
    throw RunError(who() + ": " + store_is_gone());
  }
  all_came.get();
  store_->setTimeout(
      std::max<std::chrono::milliseconds>(timeout, kStoreTimeout));
}

std::string RankStore::who() const {
  return "rank " + std::to_string(place_.rank) + " of " +
         std::to_string(place_.size);
}

std::string RankStore::store_is_gone() const {
  if (place_.store_is_kept) return "whoever started the ranks has gone";
  return "rank 0, which keeps the store, does not answer";
}

void RankStore::connect_to_file() {
  own_ip_ = "127.0.0.1";
  // Not for a number of ranks: then the last to leave would remove the file.
  store_ = c10::make_intrusive<c10d::FileStore>(place_.store_file, -1);
}

void RankStore::connect_to_address(std::chrono::milliseconds timeout) {
  const std::string address =
      place_.address + ":" + std::to_string(place_.port);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place_.port);
  options.isServer = is_host_;
  options.waitWorkers = false;
  // c10d counts whole seconds; it listens, or something does, by now.
  options.timeout = std::max<std::chrono::milliseconds>(timeout, kStoreTimeout);
  if (!is_host_) {
    const Reached reached = reach(place_.address, place_.port, timeout);
    if (!reached.error.empty()) {
      throw RunError(who() + " cannot reach MASTER_ADDR:MASTER_PORT (" +
                     address + ") within " + seconds_text(timeout) + ": " +
                     reached.error +
                     "; check MASTER_ADDR, MASTER_PORT and the firewall; " +
                     (place_.store_is_kept ? "torchrun" : "rank 0") +
                     " must run on that machine");
    }
    own_ip_ = reached.from_ip;
  }
  // c10d would print lines of its own.
  if (is_host_ && port_is_taken(place_.port)) {
    throw RunError(who() + " cannot listen on port " +
                   std::to_string(place_.port) +
                   ": another program has it; set MASTER_PORT to another one, "
                   "the same for all ranks");
  }
  try {
    store_ = c10::make_intrusive<c10d::TCPStore>(place_.address, options);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw RunError(who() + " cannot " +
                   (is_host_ ? "listen at " : "use the store at ") + address +
                   ": " + text.substr(0, text.find('\n')));
  }
  if (is_host_) own_ip_ = reach(place_.address, place_.port, kNotice).from_ip;
}

std::vector<int64_t> RankStore::without_mark(const std::string& mark) const {
  std::vector<int64_t> ranks;
  for (int64_t r = 0; r < place_.size; ++r) {
    if (!store_->check({mark_of(mark, r)})) ranks.push_back(r);
  }
  return ranks;
}

void RankStore::wait_for_all(Clock::time_point begin,
                             std::chrono::milliseconds timeout) {
  try {
    store_->set(mark_of(kHere, place_.rank), bytes_from(engine_));
    for (;;) {
      const std::vector<int64_t> missing = without_mark(kHere);
      if (missing.empty()) return;
      if (Clock::now() > begin + timeout) {
        throw RunError(ranks_text(missing) + " of " +
                       std::to_string(place_.size) + " did not come within " +
                       seconds_text(timeout));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (const c10::Error&) {
    throw RunError(who() + ": " + store_is_gone());
  }
}

void RankStore::check_engines() const {
  for (int64_t r = 0; r < place_.size; ++r) {
    const std::vector<uint8_t> theirs = store_->get(mark_of(kHere, r));
    const std::string engine(theirs.begin(), theirs.end());
    if (engine == engine_) continue;
    throw ConfigError("rank " + std::to_string(r) + " sends with " + engine +
                      ", rank " + std::to_string(place_.rank) + " with " +
                      engine_ + ": name one engine for all");
  }
}

c10::intrusive_ptr<c10d::Store> RankStore::for_engine() const {
  return c10::make_intrusive<c10d::PrefixStore>(engine_, store_);
}

void RankStore::leave_word(const std::string& reason) {
  const auto left = aside([store = store_, rank = place_.rank, reason] {
    store->set(mark_of(kFailed, rank), bytes_from(reason));
    store->set(kFailed, bytes_from(std::to_string(rank)));
    return true;
  });
  if (left.wait_for(kStoreTimeout) != std::future_status::ready) {
    throw RunError(store_is_gone());
  }
  left.get();
}

void RankStore::look_for_trouble() {
  if (!look_.valid()) {
    look_ = aside([store = store_] {
      return Trouble{store->check({kFailed}), store->check({kLost})};
    });
  }
  // The answer may come later: how long to wait is the caller's matter.
  constexpr std::chrono::seconds kLook{1};
  if (look_.wait_for(kLook) != std::future_status::ready) return;
  const std::shared_future<Trouble> look = std::exchange(look_, {});
  Trouble trouble;
  try {
    trouble = look.get();
  } catch (const std::exception&) {
    throw RunError(store_is_gone());
  }
  if (trouble.has_failed) throw RunError("another rank failed");
  if (trouble.is_lost) throw RunError("another rank lost contact");
}

void RankStore::leave_or_throw() {
  store_->set(mark_of(kLeft, place_.rank), bytes_from("1"));
  const Clock::time_point end = Clock::now() + kStoreTimeout;
  while (!without_mark(kLeft).empty() && Clock::now() < end) {
    look_for_trouble();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void RankStore::leave() noexcept {
  try {
    const auto left = aside([store = std::make_shared<RankStore>(*this)] {
      store->leave_or_throw();
      return true;
    });
    // An error: the store has gone with a rank that saw all leave, or with one
    // that died.
    left.wait_for(kStoreTimeout);
  } catch (...) {
    // No thread: this rank leaves without a word.
  }
}

std::string RankStore::missing_or_throw() {
  store_->set(mark_of(kLost, place_.rank), bytes_from("1"));
  store_->set(kLost, bytes_from("1"));
  const Clock::time_point end = Clock::now() + kNotice;
  std::vector<int64_t> silent;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    silent.clear();
    std::string failed;
    for (const int64_t r : without_mark(kLost)) {
      const std::string mark = mark_of(kFailed, r);
      if (!store_->check({mark})) {
        silent.push_back(r);
        continue;
      }
      const std::vector<uint8_t> why = store_->get(mark);
      failed += (failed.empty() ? "" : "; ") + ranks_text({r}) +
                " failed: " + std::string(why.begin(), why.end());
    }
    // It says more than that a rank which waits for it is still silent.
    if (!failed.empty()) return failed;
  } while (!silent.empty() && Clock::now() < end);
  if (silent.empty()) return "";
  return ranks_text(silent) +
         (silent.size() == 1 ? " does not answer" : " do not answer");
}

std::string RankStore::missing() {
  const auto answer = aside([store = std::make_shared<RankStore>(*this)] {
    return store->missing_or_throw();
  });
  if (answer.wait_for(kStoreTimeout) != std::future_status::ready) {
    return store_is_gone();
  }
  try {
    return answer.get();
  } catch (const std::exception&) {
    return store_is_gone();
  }
}

}  // namespace kith
