#include "kith/eval/embed_times.h"

#include "kith/core/number_text.h"
#include "kith/core/timer.h"

namespace kith {

std::string EmbedTimes::bound() const {
  if (waiting > seconds / 2) return "decoding";
  return copying > seconds / 2 ? "copies to the GPU" : "the network";
}

std::string EmbedTimes::text() const {
  const auto percent = [&](double part) {
    return format_fixed(seconds > 0 ? 100 * part / seconds : 0, 0) + "%";
  };
  const double rate = seconds > 0 ? static_cast<double>(images) / seconds : 0;
  return std::to_string(images) + " images in " + duration_text(seconds) +
         ", " + format_fixed(rate, 0) + " images/s; bound by " + bound() +
         " (" + percent(waiting) + " of the time waiting for pictures" +
         (200 * copying >= seconds && copying > 0
              ? ", " + percent(copying) + " for copies to the GPU"
              : "") +
         ")";
}

Batch next_batch(Loader& loader, EmbedTimes* times) {
  const Timer timer;
  Batch batch = loader.next();
  if (times != nullptr) times->waiting += timer.seconds();
  return batch;
}

}  // namespace kith
