#include "kith/eval/embed_times.h"

#include "kith/core/number_text.h"
#include "kith/core/timer.h"

namespace kith {

std::string EmbedTimes::bound() const {
  if (waiting > seconds / 2) return "decoding";
  if (writing > seconds / 2) return "writing";
  return copying > seconds / 2 ? "copies to the GPU" : "the network";
}

std::string EmbedTimes::text() const {
  const auto percent = [&](double part) {
    return format_fixed(seconds > 0 ? 100 * part / seconds : 0, 0) + "%";
  };
  const auto if_any = [&](double part, const std::string& what) {
    const bool is_any = 200 * part >= seconds && part > 0;
    return is_any ? ", " + percent(part) + " for " + what : "";
  };
  const double rate = seconds > 0 ? static_cast<double>(images) / seconds : 0;
  return std::to_string(images) + " images in " + duration_text(seconds) +
         ", " + format_fixed(rate, 0) + " images/s; bound by " + bound() +
         " (" + percent(waiting) + " of the time waiting for pictures" +
         if_any(copying, "copies to the GPU") + if_any(writing, "writing") +
         ")";
}

std::string EmbedTimes::parts() const {
  const auto part = [](const char* name, double its_seconds) {
    return name + (" " + format_fixed(its_seconds, 3));
  };
  return part("first pictures", first) + ", " +
         part("other pictures", waiting - first) + ", " +
         part("copies", copying) + ", " +
         part("network", seconds - waiting - copying - writing) + ", " +
         part("writing", writing);
}

Batch next_batch(Loader& loader, EmbedTimes* times) {
  const Timer timer;
  Batch batch = loader.next();
  if (times != nullptr) {
    const double seconds = timer.seconds();
    times->waiting += seconds;
    if (times->first == 0) times->first = seconds;
  }
  return batch;
}

}  // namespace kith
