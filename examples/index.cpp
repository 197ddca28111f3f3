// Makes an index of the images that a run is tested with, searches in it and
// changes it.
//
// usage: index RUN
#include <iostream>

#include "kith/kith.h"

int main(int argc, char** argv) {
  const std::string run = argc > 1 ? argv[1] : "example-run";
  const std::string path = run + "/index.faiss";
  const auto device = kith::parse_device("auto");

  // A larger set would take .kind = kith::index_kind<kith::HnswIndex>().
  const auto made = kith::make_index(
      {.source = {.source = run}, .out = path, .overwrite = true}, device);
  std::cout << made.items << " items of " << made.dim << " dimensions\n";

  const auto index = kith::StoredIndex::open(path);
  const auto query = index.vector(0).unsqueeze(0);  // [1, dim], unit length
  const auto found = index.search(query, 4);        // one list a query
  for (const auto& hit : found.front()) {
    const auto item = index.item(hit.position);
    std::cout << hit.similarity << " " << item.label << " " << item.path
              << "\n";
  }

  const auto left = kith::remove_from_index(
      {.index = path, .names = {index.item(0).path, index.item(1).path}});
  std::cout << left.removed << " removed, " << left.items << " left\n";
  const auto now = kith::add_to_index(
      {.index = path, .source = {.source = run}, .replace = true}, device);
  std::cout << now.added << " added, of which " << now.replaced
            << " replaced others; " << now.items << " items\n";
}
