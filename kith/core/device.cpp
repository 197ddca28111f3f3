#include "kith/core/device.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include <torch/torch.h>
#include <torch/version.h>

#include "kith/core/detail/openblas.h"
#include "kith/core/error.h"

// Of the OpenMP that LibTorch brings; none if it computes without it.
extern "C" void omp_set_num_threads(int threads) __attribute__((weak));

namespace kith {

c10::Device parse_device(const std::string& text) {
  const auto gpus = static_cast<int64_t>(torch::cuda::device_count());
  if (text == "cpu") return c10::Device(c10::kCPU);
  if (text == "auto") {
    return gpus > 0 ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  }
  int64_t index = text == "cuda" ? 0 : -1;
  if (text.starts_with("cuda:")) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 5, end, index);
    if (error != std::errc() || stop != end) index = -1;
  }
  if (index < 0) {
    throw ConfigError("unknown device '" + text +
                      "'; expected auto, cpu, cuda or cuda:N");
  }
  if (index >= gpus) {
    throw ConfigError("device '" + text + "' is not there: " +
                      (gpus == 0 ? "no CUDA GPU is visible to this build"
                                 : "there are " + std::to_string(gpus) +
                                       " CUDA GPUs, numbered from 0"));
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

void set_threads(int64_t threads) {
  if (threads == 0) {
    threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  }
  torch::set_num_threads(static_cast<int>(threads));
  if (openblas_set_num_threads != nullptr) {
    openblas_set_num_threads(static_cast<int>(threads));
  }
}

void compute_on_this_thread_alone() {
  // LibTorch tells OpenMP its number of threads when a thread first asks.
  torch::get_num_threads();
  if (omp_set_num_threads != nullptr) omp_set_num_threads(1);
}

std::string torch_description() {
  std::string text = TORCH_VERSION;
  if (!torch::cuda::is_available()) return text + ", CPU";
  return text + ", CUDA, " + std::to_string(torch::cuda::device_count()) +
         " GPU(s)";
}

}  // namespace kith
