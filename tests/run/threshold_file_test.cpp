#include "kith/run/threshold_file.h"

#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(ThresholdFile, IsReadAsItWasWritten) {
  const TempDir folder;
  const std::string path = folder.file("threshold.json");
  const ThresholdFile written = {0.1 + 0.2,      "far=0.001", "the test split",
                                 "/a/b\xff/run", "abc",       "last checkpoint",
                                 "flip"};
  write_threshold_file(path, written);
  const ThresholdFile read = read_threshold_file(path);
  EXPECT_EQ(read.threshold, written.threshold);
  EXPECT_EQ(read.wanted, written.wanted);
  EXPECT_EQ(read.picked_on, written.picked_on);
  EXPECT_EQ(read.model, written.model);
  EXPECT_EQ(read.model_hash, written.model_hash);
  EXPECT_EQ(read.checkpoint, written.checkpoint);
  EXPECT_EQ(read.descriptor, written.descriptor);
}

TEST(ThresholdFile, WhatIsNoneIsRefused) {
  const TempDir folder;
  const std::string path = folder.file("threshold.json");
  for (const char* text :
       {"", "{", "[]", "3", "{}", "{\"version\": 1}",
        "{\"version\": 1, \"threshold\": \"0.5\"}",
        "{\"version\": 1, \"threshold\": null}",
        "{\"version\": 1, \"threshold\": 1.5}",
        "{\"version\": 1, \"threshold\": 0.5, \"wanted\": 3}",
        "{\"version\": 1, \"threshold\": 0.5, \"model\": []}"}) {
    write_file(path, text);
    expect_error<DataError>([&] { read_threshold_file(path); }, path,
                            "not the threshold.json");
  }
  write_file(path, "{\"version\": 2, \"threshold\": 0.5}");
  expect_error<DataError>([&] { read_threshold_file(path); }, path,
                          "another version");
  expect_error<DataError>([&] { read_threshold_file(folder.file("none")); },
                          "none");
}

}  // namespace
}  // namespace kith
