#include "kith/miners/miner.h"

namespace kith {

MinerRegistry& miner_registry() {
  static MinerRegistry registry("miner");
  return registry;
}

}  // namespace kith
