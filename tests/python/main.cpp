// usage: kith_for_python COMMAND ARGUMENT...; see commands.h

#include <exception>
#include <iostream>
#include <map>

#include "tests/python/commands.h"

int main(int count, char** arguments) {
  const std::map<std::string, void (*)(const kith::Arguments&)> commands = {
      {"backbone_options", kith::print_backbones},
      {"backbones", kith::run_backbone},
      {"faiss", kith::use_index},
      {"onnx", kith::write_onnx_models},
      {"plan", kith::print_plan},
      {"training", kith::train_and_plan},
      {"weights", kith::dump_weights}};
  try {
    commands.at(count > 1 ? arguments[1] : "")(
        kith::Arguments(arguments + 2, arguments + count));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "kith_for_python: " << error.what() << "\n";
    return 1;
  }
}
