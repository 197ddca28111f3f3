#include <exception>
#include <iostream>
#include <string>

#include <torch/torch.h>

#include "kith/index/recall.h"
#include "kith/index/vector_index.h"
#include "kith/io/tensor_io.h"

namespace {

using kith::Tensor;

void make(const std::string& config, const std::string& rows_path,
          const std::string& out) {
  const Tensor rows = kith::load_npy(rows_path);
  const auto index = kith::vector_index_registry().make(
      kith::parse_config(config, "config"), "index",
      {rows.size(1), 0, rows.size(0)});
  if (index->training_rows() > 0) {
    index->train(kith::rows_at(
        rows, kith::draw_positions(rows.size(0), index->training_rows(), 0)));
  }
  index->add(rows);
  index->save(out);
}

void search(const std::string& path, const std::string& queries,
            const std::string& out) {
  const auto found =
      kith::load_vector_index(path)->search(kith::load_npy(queries), 10);
  kith::save_npy(out + ".positions.npy", found.indices);
  kith::save_npy(out + ".similarities.npy", found.similarities);
}

}  // namespace

// Makes and searches indexes for tests in Python: PROGRAM make CONFIG ROWS.npy
// INDEX, or PROGRAM search INDEX QUERIES.npy OUT.
int main(int count, char** arguments) {
  try {
    if (count != 5) throw std::runtime_error("four arguments are needed");
    const std::string verb = arguments[1];
    (verb == "make" ? make : search)(arguments[2], arguments[3], arguments[4]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
