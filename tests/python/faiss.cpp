#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/index/recall.h"
#include "kith/index/vector_index.h"
#include "kith/io/tensor_io.h"
#include "tests/python/commands.h"

namespace kith {
namespace {

void make_index_file(const std::string& config, const std::string& rows_path,
                     const std::string& out) {
  const Tensor rows = load_npy(rows_path);
  const auto index = vector_index_registry().make(
      parse_config(config, "config"), "index", {rows.size(1), 0, rows.size(0)});
  if (index->training_rows() > 0) {
    index->train(
        rows_at(rows, draw_positions(rows.size(0), index->training_rows(), 0)));
  }
  index->add(rows);
  index->save(out);
}

void search_index_file(const std::string& path, const std::string& queries,
                       const std::string& out) {
  const auto found = load_vector_index(path)->search(load_npy(queries), 10);
  save_npy(out + ".positions.npy", found.indices);
  save_npy(out + ".similarities.npy", found.similarities);
}

}  // namespace

void use_index(const Arguments& arguments) {
  if (arguments.size() != 4) throw ConfigError("four arguments are needed");
  (arguments[0] == "make" ? make_index_file : search_index_file)(
      arguments[1], arguments[2], arguments[3]);
}

}  // namespace kith
