#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kith {

/// Page-locked memory for large pieces that come and go, such as the pictures
/// of a batch: a piece that is given back is kept for the next one of its size,
/// as long as the process lives. Whoever gives it back must have waited for the
/// copies from it.
///
/// It is of large pages where the system has such. A GPU's driver locks memory
/// page by page and lets no other thread at work meanwhile: with small pages
/// that takes longer than decoding the pictures that come into it.
///
/// Plain memory in a build without CUDA, and what page_locked() gives where
/// memory cannot be locked.
std::shared_ptr<uint8_t[]> locked_piece(size_t bytes);

}  // namespace kith
