#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// The first machine of a list as SLURM writes it: "node03" of
/// "node[03-07,9],other". ConfigError if the text is none.
std::string first_host(const std::string& list);

/// Entry `index` of counts as SLURM writes them: "2(x3),1" are 2, 2, 2 and 1.
/// ConfigError if the text is none or has no such entry.
int64_t count_of_node(const std::string& counts, int64_t index);

}  // namespace kith
