#include "kith/ops/jpeg_pixels.h"

namespace kith {

const GpuJpeg gpu_jpeg = {};

}  // namespace kith
