#include "kith/eval/protocol.h"

namespace kith {

ProtocolRegistry& protocol_registry() {
  static ProtocolRegistry registry("protocol");
  return registry;
}

}  // namespace kith
