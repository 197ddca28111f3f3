#pragma once

#include <memory>
#include <string>

#include "kith/index/index_files.h"
#include "kith/serve/served_index.h"
#include "tests/serve/routes_fixture.h"

namespace kith {

/// A small index in files, served.
class ServedFilesTest : public RoutesTest {
 protected:
  ServedFilesTest() : path_(folder_.file("small.faiss")) {
    small_.index().save(path_);
    indexes_.clear();
    indexes_.push_back(std::make_unique<ServedIndex>(
        ServedIndexOptions{.name = "small", .path = path_},
        StoredIndex::open(path_), file_mark(record_path(path_)), service_));
  }

  ServedIndex& index() { return *indexes_.front(); }

  /// What `kith index remove` does.
  void remove_on_disk(const std::string& item) {
    const auto lock = lock_index(path_);
    StoredIndex stored = StoredIndex::open(path_, 0);
    EXPECT_EQ(stored.remove({item}), 1);
    stored.save(path_);
  }

  TempDir folder_;
  std::string path_;
};

}  // namespace kith
