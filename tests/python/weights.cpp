#include "kith/models/weights.h"

#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"

namespace {

void dump(const std::string& from, const std::string& to) {
  const kith::NamedTensors tensors = kith::read_weights(from);
  std::vector<std::pair<std::string, kith::ArrayView>> views;
  for (const auto& [name, tensor] : tensors) {
    views.emplace_back(name, kith::view_of(tensor));
  }
  kith::write_safetensors(to, views);
}

}  // namespace

// Writes what read_weights makes of a file to a .safetensors file, for tests in
// Python. Of two lines of input, one names the first file and one the second;
// the answer is an empty line or the error. One process serves many files,
// because LibTorch is slow to start.
int main() {
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
  return 0;
}
