#pragma once

extern "C" {
// Of OpenBLAS, where LibTorch is built with it: set_num_threads of LibTorch
// does not reach the threads of OpenBLAS. Null otherwise.
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] void openblas_set_num_threads(int count);
}
