#pragma once

#include "kith/image/jpeg_picture.h"

namespace kith {

/// jpeg_to_pixels() on a GPU, with the same bits. Without LibTorch; cuda/ has
/// the kernels.
struct GpuJpeg {
  /// All is memory of the GPU. `stream` is a cudaStream_t.
  void (*to_pixels)(const JpegPictures& all, void* stream) = nullptr;
};

/// A null pointer without CUDA.
extern const GpuJpeg gpu_jpeg;

}  // namespace kith
