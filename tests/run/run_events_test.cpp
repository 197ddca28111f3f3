#include "kith/run/run_events.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/train/trainer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

/// The bytes of all event files of a folder.
std::vector<std::string> event_files(const TempDir& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) {
      files.push_back(read_file(entry.path().string(), 1 << 24));
    }
  }
  return files;
}

void run(const std::vector<std::string>& changes, const TempDir& folder) {
  const RunConfig config = tiny_config(changes);
  const auto data = make_data_set(config.section("data"));
  Trainer trainer(config, *data, folder.path(), c10::kCPU, silent_progress());
  trainer.resume();
  trainer.run();
}

int64_t count(const std::string& text, const std::string& tag) {
  // A tag is a string of field 1, with its length before it.
  const std::string wanted =
      std::string("\x0A") + static_cast<char>(tag.size()) + tag;
  int64_t found = 0;
  for (size_t at = text.find(wanted); at != std::string::npos;
       at = text.find(wanted, at + 1)) {
    ++found;
  }
  return found;
}

TEST(RunEvents, HoldEveryStepAndEvaluation) {
  const TempDir folder;
  run({"eval.before=true", "eval.metrics=[recall_any@1, intra, spectrum]"},
      folder);
  const std::vector<std::string> files = event_files(folder);
  ASSERT_EQ(files.size(), 1u);
  for (const char* tag :
       {"train/loss", "train/learning_rate", "train/gradient_norm", "time/data",
        "time/forward", "time/loss", "time/backward", "time/optimizer",
        "time/step", "time/images_per_second", "memory/data", "memory/loss",
        "memory/peak"}) {
    EXPECT_EQ(count(files[0], tag), 9) << tag;
  }
  for (const char* tag :
       {"eval/test/recall_any@1", "eval/test/intra", "time/evaluation",
        "eval/test/examples", "eval/test/similarity/positive",
        "eval/test/similarity/negative"}) {
    EXPECT_EQ(count(files[0], tag), 4) << tag;
  }
  EXPECT_EQ(count(files[0], "time/sampler"), 3);
  EXPECT_EQ(count(files[0], "eval/test/spectrum"), 0);
}

TEST(RunEvents, AreFewerIfLessIsLogged) {
  const TempDir folder;
  run({"log.every=4", "log.examples=0", "eval.every=0"}, folder);
  const std::vector<std::string> files = event_files(folder);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(count(files[0], "train/loss"), 2);
  EXPECT_EQ(count(files[0], "eval/test/examples"), 0);
  EXPECT_EQ(count(files[0], "eval/test/similarity/positive"), 2);
}

TEST(RunEvents, AFinishedRunThatIsResumedHasNoMore) {
  const TempDir folder;
  run({}, folder);
  run({}, folder);
  EXPECT_EQ(event_files(folder).size(), 1u);
}

}  // namespace
}  // namespace kith
