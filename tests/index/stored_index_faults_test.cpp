// An index that is made, replaced or changed while the process is killed or the
// disk is full, at every call that writes: the old index or the new one opens,
// and is whole.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>
#include <thread>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/index_files.h"
#include "kith/index/kinds.h"
#include "kith/index/stored_index.h"
#include "kith/ops/pairwise.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace {

enum class Fault { kNone, kKill, kFullDisk };

// Of this process: only a child of a test has a fault.
Fault fault = Fault::kNone;
int calls_left = 0;  ///< Until it comes.
int calls = 0;

/// Whether this call is to fail.
bool fails() {
  ++calls;
  if (fault == Fault::kNone || calls_left-- > 0) return false;
  if (fault == Fault::kKill) ::raise(SIGKILL);
  errno = ENOSPC;
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of the C library's, for everything in this program.
extern "C" {

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return fails() ? -1 : real(from, to);
}

int unlink(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("unlink");
  return fails() ? -1 : real(path);
}

int remove(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("remove");
  return fails() ? -1 : real(path);
}

int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails() ? -1 : real(file);
}

ssize_t write(int file, const void* data, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return fails() ? -1 : real(file, data, size);
}

}  // extern "C"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kOld = 20;
constexpr int64_t kNew = 30;

class StoredIndexFiles : public ::testing::Test {
 protected:
  void SetUp() override { torch::set_num_threads(1); }  // for fork

  StoredIndex make(int64_t first, int64_t count) const {
    auto index = std::make_unique<ExactIndex>(8);
    index->add(x_.slice(0, first, first + count));
    std::vector<IndexItem> items;
    for (int64_t i = first; i < first + count; ++i) {
      items.push_back({std::to_string(i) + ".png", ""});
    }
    return StoredIndex(std::move(index), items, {"exact", "", "", {}, {}});
  }

  TempDir folder_;
  std::string path_ = folder_.file("i");
  Tensor x_ = normalize_rows(random_normal({60, 8}, 1, at::kFloat));
};

class StoredIndexFaults : public StoredIndexFiles,
                          public ::testing::WithParamInterface<Fault> {
 protected:
  /// Runs `action` in a process that has a fault at its n-th call; whether it
  /// came that far.
  template <class Action>
  static bool in_child(const Action& action, int n) {
    const pid_t child = ::fork();
    if (child == 0) {
      fault = GetParam();
      calls_left = n;
      calls = 0;
      try {
        action();
      } catch (const std::exception&) {
      }
      std::_Exit(calls > n ? 3 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return killed || (WIFEXITED(status) && WEXITSTATUS(status) == 3);
  }

  /// Opens the index, in both ways, and looks at every vector and item.
  void expect_whole(const std::set<int64_t>& sizes, int64_t first, int n) {
    for (const int64_t memory_mb : {0, 100}) {
      const StoredIndex index = StoredIndex::open(path_, memory_mb);
      EXPECT_TRUE(sizes.contains(index.count()))
          << index.count() << " at " << n;
      const int64_t begin = index.count() == kOld ? 0 : first;
      for (int64_t i = 0; i < index.count(); ++i) {
        EXPECT_TRUE(same_bits(index.vector(i), x_[begin + i])) << n;
        EXPECT_EQ(index.item(i).path, std::to_string(begin + i) + ".png");
      }
    }
    EXPECT_TRUE(check_index(path_)) << n;
    // Whoever opens the file with faiss finds one that is whole.
    if (fs::exists(path_)) load_vector_index(path_);
  }

  /// The next that changes the index puts its files in order.
  void expect_settled(int n) {
    settle_index(path_);
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".tmp")) names.insert(name);
    }
    EXPECT_EQ(names, (std::set<std::string>{"i", "i.items.csv", "i.json"}))
        << n;
  }
};

TEST_P(StoredIndexFaults, ReplacingLeavesTheOldOrTheNew) {
  std::set<int64_t> seen;
  for (int n = 0;; ++n) {
    make(0, kOld).save(path_);
    const bool cut_off = in_child([&] { make(kOld, kNew).save(path_); }, n);
    expect_whole({kOld, kNew}, kOld, n);
    seen.insert(StoredIndex::open(path_).count());
    expect_settled(n);
    expect_whole({kOld, kNew}, kOld, n);
    if (!cut_off) {
      EXPECT_EQ(StoredIndex::open(path_).count(), kNew);
      EXPECT_GT(n, 10);
      break;
    }
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_P(StoredIndexFaults, AddingLeavesTheOldOrTheNew) {
  for (int n = 0;; ++n) {
    make(0, kOld).save(path_);
    const bool cut_off = in_child(
        [&] {
          StoredIndex index = StoredIndex::open(path_);
          const StoredIndex more = make(kOld, 10);
          index.add(more.rows(), more.items());
          index.save(path_);
        },
        n);
    expect_whole({kOld, kOld + 10}, 0, n);
    expect_settled(n);
    if (!cut_off) break;
  }
  EXPECT_EQ(StoredIndex::open(path_).count(), kOld + 10);
}

TEST_P(StoredIndexFaults, RemovingLeavesTheOldOrTheNew) {
  for (int n = 0;; ++n) {
    make(0, kOld).save(path_);
    const bool cut_off = in_child(
        [&] {
          StoredIndex index = StoredIndex::open(path_);
          index.remove({"3.png"});
          index.save(path_);
        },
        n);
    expect_whole({kOld}, 0, n);
    const int64_t size = StoredIndex::open(path_).size();
    EXPECT_TRUE(size == kOld || size == kOld - 1) << n;
    if (!cut_off) break;
  }
  EXPECT_EQ(StoredIndex::open(path_).size(), kOld - 1);
}

// A first index has nothing to fall back to; what is left of it is removed.
TEST_P(StoredIndexFaults, MakingLeavesNothingOrTheNew) {
  for (int n = 0;; ++n) {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      fs::remove(entry.path());
    }
    const bool cut_off = in_child([&] { make(0, kOld).save(path_); }, n);
    if (fs::exists(path_ + ".json")) {
      expect_whole({kOld}, 0, n);
      expect_settled(n);
    } else {
      EXPECT_TRUE(cut_off);
      EXPECT_THROW(StoredIndex::open(path_), DataError);
      settle_index(path_);
      make(0, kOld).save(path_);
      expect_settled(n);
    }
    if (!cut_off) break;
  }
}

// Readers need no lock: they see one index or the other.
TEST_F(StoredIndexFiles, WhoReadsMeanwhileSeesOneOfTwo) {
  make(0, kOld).save(path_);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; i < 40; ++i) {
      make(i % 2 == 0 ? kOld : 0, i % 2 == 0 ? kNew : kOld).save(path_);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    done = true;
  });
  for (int n = 0; !done; ++n) {
    for (const int64_t memory_mb : {0, 100}) {
      const StoredIndex index = StoredIndex::open(path_, memory_mb);
      const int64_t first = index.count() == kOld ? 0 : kOld;
      for (const int64_t i : {int64_t{0}, index.count() - 1}) {
        EXPECT_TRUE(same_bits(index.vector(i), x_[first + i])) << n;
        EXPECT_EQ(index.item(i).path, std::to_string(first + i) + ".png") << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, StoredIndexFaults,
                         ::testing::Values(Fault::kKill, Fault::kFullDisk),
                         [](const auto& each) {
                           return each.param == Fault::kKill ? "Kill"
                                                             : "FullDisk";
                         });

}  // namespace
}  // namespace kith
