#include "kith/index/item_table.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {"path,label\na.jpg,one\n\"b,c.jpg\",two\n",
          "label,path,more\n,x,y\n"};
}

void read(std::string_view bytes) {
  const ItemTable items = read_items(as_file(bytes));
  for (int64_t i = 0; i < items.size(); ++i) {
    items.path(i);
    items.label(i);
  }
}

const AddHarness kAdd({.name = "index_items",
                       .read = read,
                       .seeds = seeds,
                       .words = {"path", "label", "\"", ",", "\r\n"}});

}  // namespace
}  // namespace kith
