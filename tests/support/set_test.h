#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/data_set.h"
#include "tests/support/expect_error.h"
#include "tests/support/list_lines.h"
#include "tests/support/log_capture.h"
#include "tests/support/published_sets.h"
#include "tests/support/temp_dir.h"

namespace kith {

/// Tests of a data set on a small tree in its published format.
template <class Set>
class SetTest : public ::testing::Test {
 protected:
  explicit SetTest(std::string name) : name_(std::move(name)) {}

  /// With further options: {.crop_boxes = true}.
  std::unique_ptr<DataSet> open(typename Set::Options options = {}) const {
    options.path = dir_.path();
    return std::make_unique<Set>(std::move(options));
  }

  void write(const std::string& path, std::string_view contents) const {
    write_in_tree(dir_, path, contents);
  }

  void remove(const std::string& path) const {
    std::filesystem::remove_all(dir_.file(path));
  }

  /// "split/label:path" of every image.
  std::vector<std::string> contents(const DataSet& set) const {
    return lines_of(set.list(), dir_.path());
  }

  template <typename... Parts>
  void expect_refused(const Parts&... parts) const {
    expect_error<DataError>([&] { open(); }, parts...);
  }

  /// Opens the folder by its layout, and says what must be said of any set.
  void expect_recognised() const {
    EXPECT_EQ(open_data_set(dir_.path())->list().items.size(),
              open()->list().items.size());
    expect_error<ConfigError>(
        [&] { make_data_set(parse_config("{name: " + name_ + "}", "test")); },
        "'data.path' is missing");
    expect_error<DataError>(
        [&] {
          make_data_set(parse_config("{name: " + name_ + ", path: /no}", "t"));
        },
        "/no: no such folder");
  }

  std::string name_;
  TempDir dir_;
  LogCapture log_;
};

}  // namespace kith
