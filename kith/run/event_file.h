#pragma once

#include <cstdint>
#include <string>

#include "kith/core/growing_file.h"
#include "kith/run/event_summary.h"

namespace kith {

/// A new event file of TensorBoard in the folder of a run,
/// events.out.tfevents.<seconds>.<host>.<process>. Its name sorts after those
/// of event files that are there already, for TensorBoard reads them in that
/// order.
///
/// Each event is in the file once write() returns: a run that is killed loses
/// none. That is one call of the system for all values of a step, some
/// microseconds.
class EventFile {
 public:
  /// Says that a run begins here with `first_step`: of files before this one,
  /// TensorBoard drops what belongs to that step and later ones. RunError if
  /// the file cannot be written.
  EventFile(const std::string& folder, int64_t first_step);

  void write(int64_t step, const EventSummary& summary);

  const std::string& path() const { return path_; }

 private:
  void write_record(const std::string& data);

  std::string path_;
  GrowingFile file_;
};

}  // namespace kith
