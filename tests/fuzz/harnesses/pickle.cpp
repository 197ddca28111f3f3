#include "kith/io/pickle.h"

#include "kith/core/file.h"
#include "kith/io/byte_stream.h"
#include "kith/io/pickle_numpy.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/pickle_words.h"
#include "tests/support/paths.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> files = {
      p_pickle(p_dict({{"a", p_int(1)}, {"b", p_ints({2, 3})}})),
      "(dVa\nI1\ns."};
  for (const char* name : {"arrays_0", "arrays_2", "arrays_4", "arrays_5",
                           "lists_0", "lists_2", "lists_4", "lists_5"}) {
    files.push_back(
        read_file(golden_dir() + "/ground_truth/" + name + ".pkl", 1 << 20));
  }
  return files;
}

void read(std::string_view bytes) {
  ByteStream in(bytes, "a.pkl");
  const Pickle pickle = read_pickle(in);
  pickle.find(pickle.root(), "a");
  for (const PickleNode& node : pickle.nodes()) {
    if (is_numpy(pickle, node)) numpy_view(pickle, node, "a.pkl");
  }
}

const AddHarness kAdd(
    {.name = "pickle", .read = read, .seeds = seeds, .words = pickle_words()});

}  // namespace
}  // namespace kith
