#pragma once

#include <ATen/TracerMode.h>

namespace kith {

/// Whether LibTorch's tracer records what this thread computes, as for ONNX. It
/// sees LibTorch's operations alone: layers leave kernels of kith's own aside
/// meanwhile, and what no other format has.
inline bool is_recorded() { return at::tracer::impl::is_dispatch_enabled(); }

}  // namespace kith
