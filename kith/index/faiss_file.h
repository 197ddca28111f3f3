#pragma once

#include <string>

namespace kith {

/// Walks through a file of faiss's IndexIVFPQ ("IwPQ") or IndexHNSWFlat
/// ("IHNf") and compares every size in it with the size of the file, because
/// faiss allocates whatever a file asks for. DataError says what is wrong.
/// Needs no faiss.
void check_faiss_file(const std::string& path);

}  // namespace kith
