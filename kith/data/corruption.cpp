#include "kith/data/corruption.h"

namespace kith {
namespace {

// FNV-1a: a number for a name that no other plug-in can change.
uint64_t number_of(const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

CorruptionRegistry& corruption_registry() {
  static CorruptionRegistry registry("corruption");
  return registry;
}

Image corrupt(const Corruption& corruption, const std::string& name,
              const Image& image, uint64_t seed, int64_t image_index) {
  if (image.width <= 0 || image.height <= 0) {
    throw DataError("the picture is empty: it has no pixels to corrupt");
  }
  Rng rng(seed, Stream::kCorrupt,
          {static_cast<int64_t>(number_of(name)), image_index});
  return corruption.apply(image, rng);
}

}  // namespace kith
