#include "kith/eval/embed_times.h"

#include "kith/core/number_text.h"
#include "kith/core/timer.h"

namespace kith {

std::string EmbedTimes::bound() const {
  return waiting > seconds / 2 ? "decoding" : "the network";
}

std::string EmbedTimes::text() const {
  const double share = seconds > 0 ? 100 * waiting / seconds : 0;
  const double rate = seconds > 0 ? static_cast<double>(images) / seconds : 0;
  return std::to_string(images) + " images in " + duration_text(seconds) +
         ", " + format_fixed(rate, 0) + " images/s; bound by " + bound() +
         " (" + format_fixed(share, 0) + "% of the time waiting for pictures)";
}

Batch next_batch(Loader& loader, EmbedTimes* times) {
  const Timer timer;
  Batch batch = loader.next();
  if (times != nullptr) times->waiting += timer.seconds();
  return batch;
}

}  // namespace kith
