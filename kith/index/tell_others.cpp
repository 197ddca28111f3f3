#include "kith/index/tell_others.h"

#include <exception>

#include <c10/util/Exception.h>

namespace kith {

void tell_of_exception(Communicator& ranks) noexcept {
  try {
    throw;
  } catch (const RankError&) {
  } catch (const c10::Error& error) {
    ranks.tell_failure(error.what_without_backtrace());
  } catch (const std::exception& error) {
    ranks.tell_failure(error.what());
  } catch (...) {
    ranks.tell_failure("stopped");
  }
}

}  // namespace kith
