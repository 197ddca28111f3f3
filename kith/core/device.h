#pragma once

#include <string>

#include <c10/core/Device.h>

namespace kith {

/// "auto" (the GPU if there is one), "cpu", "cuda" or "cuda:N". ConfigError if
/// the text is anything else or there is no such device.
c10::Device parse_device(const std::string& text);

/// Threads of LibTorch's operators and of OpenBLAS; 0 means one per core.
/// Results on the CPU are reproducible bit for bit only with the same number.
void set_threads(int64_t threads);

/// What this thread computes from now on, it computes without the help of
/// others.
void compute_on_this_thread_alone();

/// "1.13.1", and whether it was built with CUDA and sees a GPU.
std::string torch_description();

}  // namespace kith
