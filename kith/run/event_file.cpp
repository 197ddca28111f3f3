#include "kith/run/event_file.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include <unistd.h>

#include "kith/core/path.h"
#include "kith/io/crc32c.h"

namespace kith {
namespace {

constexpr const char* kPrefix = "events.out.tfevents.";
constexpr const char* kVersion = "brain.Event:2";

// Field numbers of tensorflow/core/util/event.proto.
namespace event {
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
constexpr int kSessionLog = 7;
}  // namespace event
namespace session_log {
constexpr int kStatus = 1;
constexpr uint64_t kStart = 1;
}  // namespace session_log

/// Seconds since 1970.
double wall_time() {
  const std::chrono::duration<double> since =
      std::chrono::system_clock::now().time_since_epoch();
  return since.count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "localhost";
}

/// Now, or later if files of the same second are there, as after a resume at
/// once. Names that kith or another program did not make of a time are passed
/// over.
int64_t seconds_for_name(const std::string& folder) {
  constexpr int64_t kDay = 86400;
  const auto now = static_cast<int64_t>(wall_time());
  int64_t seconds = now;
  if (!is_folder(folder)) return now;  // is told when the file is opened
  for (const std::string& name : kith::names_in(folder)) {
    if (!name.starts_with(kPrefix)) continue;
    int64_t taken = 0;
    std::from_chars(name.data() + std::strlen(kPrefix),
                    name.data() + name.size(), taken);
    if (taken < now + kDay) seconds = std::max(seconds, taken + 1);
  }
  return seconds;
}

ProtoMessage make_event(int64_t step) {
  ProtoMessage message;
  message.add_double(event::kWallTime, wall_time());
  message.add_int64(event::kStep, step);
  return message;
}

}  // namespace

EventFile::EventFile(const std::string& folder, int64_t first_step)
    : path_(folder + "/" + kPrefix + std::to_string(seconds_for_name(folder)) +
            "." + host_name() + "." + std::to_string(::getpid())),
      file_(path_, GrowingFile::Start::kEmpty) {
  ProtoMessage version;
  version.add_double(event::kWallTime, wall_time());
  version.add_bytes(event::kFileVersion, kVersion);
  write_record(version.bytes());
  ProtoMessage status;
  status.add_varint(session_log::kStatus, session_log::kStart);
  ProtoMessage start = make_event(first_step);
  start.add_message(event::kSessionLog, status);
  write_record(start.bytes());
}

void EventFile::write(int64_t step, const EventSummary& summary) {
  ProtoMessage message = make_event(step);
  message.add_message(event::kSummary, summary.message());
  write_record(message.bytes());
}

/// A record is its length, the CRC of that, its bytes, and the CRC of these.
void EventFile::write_record(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  file_.append(length + little_endian(masked_crc32c(length), 4) + data +
               little_endian(masked_crc32c(data), 4));
}

}  // namespace kith
