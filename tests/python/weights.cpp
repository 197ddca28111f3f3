#include "kith/models/weights.h"

#include <exception>
#include <iostream>
#include <utility>

#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "tests/python/commands.h"

namespace kith {
namespace {

void dump(const std::string& from, const std::string& to) {
  const NamedTensors tensors = read_weights(from);
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, tensor] : tensors) {
    views.emplace_back(name, view_of(tensor));
  }
  write_safetensors(to, views);
}

}  // namespace

void dump_weights(const Arguments&) {
  std::string from;
  std::string to;
  while (std::getline(std::cin, from) && std::getline(std::cin, to)) {
    try {
      dump(from, to);
      std::cout << std::endl;
    } catch (const std::exception& error) {
      std::cout << error.what() << std::endl;
    }
  }
}

}  // namespace kith
