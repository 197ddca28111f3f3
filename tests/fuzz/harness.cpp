#include "tests/fuzz/harness.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "kith/core/error.h"

namespace kith {
namespace {

std::vector<Harness>& all() {
  static std::vector<Harness> harnesses;
  return harnesses;
}

}  // namespace

AddHarness::AddHarness(Harness harness) {
  const auto place =
      std::find_if(all().begin(), all().end(), [&](const Harness& other) {
        return std::strcmp(harness.name, other.name) < 0;
      });
  all().insert(place, std::move(harness));
}

const std::vector<Harness>& harnesses() { return all(); }

Outcome try_input(const Harness& harness, std::string_view bytes) {
  try {
    harness.read(bytes);
    return {};
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  } catch (const nlohmann::json::exception&) {
  } catch (const std::exception& error) {
    return {true,
            std::string("an error that is not for users: ") + error.what()};
  }
  return {true};
}

const std::string& as_file(std::string_view bytes) {
  static const int descriptor = ::memfd_create("kith_fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const auto size = static_cast<off_t>(bytes.size());
  if (::ftruncate(descriptor, size) != 0 ||
      ::pwrite(descriptor, bytes.data(), bytes.size(), 0) != size) {
    throw std::runtime_error("there is no memory for a file");
  }
  return path;
}

}  // namespace kith
