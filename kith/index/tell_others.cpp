#include "kith/index/tell_others.h"

#include <exception>

#include <c10/util/Exception.h>

namespace kith {

void tell_of_exception(Communicator& ranks) noexcept {
  // The same object on its way through several callers that tell.
  static thread_local std::exception_ptr told;
  const std::exception_ptr current = std::current_exception();
  if (current == nullptr || current == told) return;
  told = current;
  try {
    std::rethrow_exception(current);
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
