#include "kith/index/index_files.h"

#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/timer.h"
#include "kith/io/crc32c.h"
#include "kith/io/file_sums.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kItemsEnd = ".items.csv";
constexpr std::string_view kWaitingEnd = ".new";

/// ".photos.faiss." for "dir/photos.faiss".
std::string waiting_start(const std::string& index) {
  return "." + fs::path(index).filename().string() + ".";
}

/// Whether a file has a name that waiting_data() gives.
bool is_waiting(std::string_view name, const std::string& start) {
  if (!name.starts_with(start)) return false;
  name.remove_prefix(start.size());
  if (name.ends_with(kItemsEnd)) name.remove_suffix(kItemsEnd.size());
  if (!name.ends_with(kWaitingEnd)) return false;
  name.remove_suffix(kWaitingEnd.size());
  constexpr size_t kDigits = 16;
  return name == kUnfinished ||
         (name.size() == kDigits &&
          name.find_first_not_of("0123456789abcdef") == name.npos);
}

void move_file(const std::string& from, const std::string& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) {
    throw RunError(to + ": cannot be replaced by " + from + ": " +
                   failed.message());
  }
}

/// Gives data that wait their names.
void put_in_place(const std::string& index, const std::string& generation) {
  const IndexData data = waiting_data(index, generation);
  if (path_exists(data.vectors)) move_file(data.vectors, index);
  if (path_exists(data.items)) move_file(data.items, items_path(index));
}

void remove_waiting(const std::string& index) {
  const fs::path folder = full_path(index).parent_path();
  const std::string start = waiting_start(index);
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_waiting(entry->path().filename().string(), start)) {
      found.push_back(entry->path());
    }
  }
  for (const fs::path& file : found) fs::remove(file, error);
}

/// 16 digits that tell contents apart.
std::string generation_of(const IndexFiles& files) {
  const std::string vectors = files.vectors.hex();
  const std::string items = files.items.hex();
  return sum_text(crc32c(vectors)) + sum_text(crc32c(items));
}

}  // namespace

std::string items_path(const std::string& index) {
  return index + std::string(kItemsEnd);
}

std::string record_path(const std::string& index) { return index + ".json"; }

IndexData waiting_data(const std::string& index,
                       const std::string& generation) {
  fs::path vectors = fs::path(index).parent_path() / waiting_start(index);
  vectors += generation;
  vectors += kWaitingEnd;
  return {vectors.string(), items_path(vectors.string())};
}

IndexData current_data(const std::string& index, const IndexRecord& record) {
  IndexData data = {index, items_path(index)};
  if (record.files.generation.empty()) return data;
  const IndexData waiting = waiting_data(index, record.files.generation);
  if (path_exists(waiting.vectors)) data.vectors = waiting.vectors;
  if (path_exists(waiting.items)) data.items = waiting.items;
  return data;
}

void switch_index(const std::string& index, const IndexData& unfinished,
                  IndexRecord& record) {
  record.files.vectors = sums_of_file(unfinished.vectors);
  record.files.items = sums_of_file(unfinished.items);
  record.files.generation = generation_of(record.files);
  const IndexData data = waiting_data(index, record.files.generation);
  move_file(unfinished.vectors, data.vectors);
  move_file(unfinished.items, data.items);
  write_index_record(record_path(index), record);
  settle_index(index);
}

void settle_index(const std::string& index) {
  if (path_exists(record_path(index))) {
    IndexRecord record;
    try {
      record = read_index_record(record_path(index));
    } catch (const ReadError&) {
      throw;
    } catch (const DataError&) {
      return;  // which data it means is not known: all stay
    }
    if (!record.files.generation.empty()) {
      put_in_place(index, record.files.generation);
    }
  }
  remove_waiting(index);
}

std::unique_ptr<FileLock> lock_index(const std::string& index,
                                     double patience) {
  const fs::path file =
      fs::path(index).parent_path() / (waiting_start(index) + "lock");
  auto lock = std::make_unique<FileLock>(file.string());
  const Timer timer;
  while (!lock->try_lock()) {
    if (timer.seconds() > patience) {
      throw RunError(index + " is being made or changed by another program" +
                     lock->holder() + "; wait for it");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  settle_index(index);
  return lock;
}

bool check_index(const std::string& index) {
  const IndexRecord record = read_index_record(record_path(index));
  const IndexData data = current_data(index, record);
  for (const auto& [path, sums] :
       {std::pair(&data.vectors, &record.files.vectors),
        std::pair(&data.items, &record.files.items)}) {
    if (!sums->known()) return false;
    const FileReader file(*path);
    FileCheck(file, *sums).check_all(file);
  }
  return true;
}

}  // namespace kith
