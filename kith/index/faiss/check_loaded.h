#pragma once

#include <string>

namespace faiss {
struct IndexHNSWFlat;
struct IndexIVFPQ;
}  // namespace faiss

namespace kith {

/// Checks what faiss follows without looking: links, levels and positions must
/// lie within the index. DataError names the file. The sizes are right: see
/// check_faiss_file.
void check_loaded(const faiss::IndexHNSWFlat& index, const std::string& path);
void check_loaded(const faiss::IndexIVFPQ& index, const std::string& path);

}  // namespace kith
