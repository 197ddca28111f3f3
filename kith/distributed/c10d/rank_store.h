#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "kith/distributed/launch.h"

namespace kith {

/// The store through which ranks find each other, and in which they leave word
/// when something goes wrong.
///
/// Where its machine is off, or the way there is cut, an operation of the store
/// waits for many minutes: those that may meet this are done on threads that
/// are not waited for that long.
class RankStore {
 public:
  /// RunError if the store cannot be reached, not all ranks come in time, or
  /// they come with another engine.
  RankStore(const RankPlace& place, const std::string& engine,
            std::chrono::milliseconds timeout);

  /// For the engine: names in it are its own.
  c10::intrusive_ptr<c10d::Store> for_engine() const;

  /// This machine, as the others reach it; "": not known.
  const std::string& own_ip() const { return own_ip_; }

  /// Leaves word why this rank fails.
  void leave_word(const std::string& reason);

  /// While this rank waits: throws RunError if another has left word, or does
  /// not wait any more. Returns after a second if the store does not answer,
  /// which may be for a while.
  void look_for_trouble();

  /// After this rank has lost contact: tells the others, waits about a second
  /// for those that tell the same, and names the rest.
  std::string missing();

  /// At the orderly end: returns when all ranks are there, or after seconds.
  void leave() noexcept;

  /// Whether the others lose the store when this process ends.
  bool is_host() const { return is_host_; }

 private:
  /// What the store says of the others.
  struct Trouble {
    bool has_failed = false;
    bool is_lost = false;
  };

  void connect_to_file();
  void connect_to_address(std::chrono::milliseconds timeout);
  void wait_for_all(std::chrono::steady_clock::time_point begin,
                    std::chrono::milliseconds timeout);
  void check_engines() const;
  void leave_or_throw();
  std::vector<int64_t> without_mark(const std::string& mark) const;
  std::string missing_or_throw();
  std::string who() const;
  std::string store_is_gone() const;

  RankPlace place_;
  std::string engine_;
  bool is_host_;
  std::string own_ip_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_future<Trouble> look_;  ///< Not valid: nothing was asked.
};

}  // namespace kith
