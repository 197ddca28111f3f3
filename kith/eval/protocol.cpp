#include "kith/eval/protocol.h"

#include "kith/core/error.h"

namespace kith {

QuerySets query_sets(const Protocol& protocol, const ImageList& list,
                     Split split) {
  QuerySets sets = protocol.sets(list, split);
  if (sets.queries.empty() || sets.gallery.empty()) {
    throw DataError(std::string("the ") + split_name(split) + " split has " +
                    (sets.queries.empty() ? "no queries" : "an empty gallery") +
                    ": it cannot be evaluated; choose another split "
                    "(eval.split, --split) or add images to it");
  }
  return sets;
}

ProtocolRegistry& protocol_registry() {
  static ProtocolRegistry registry("protocol");
  return registry;
}

}  // namespace kith
