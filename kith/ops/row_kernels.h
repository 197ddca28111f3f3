#pragma once

// Which kernels of a row loss there are. A loss is known by the type of its
// parameters; the tables below are defined in generated files, one for each
// loss and kind of processor (see kith/CMakeLists.txt).

#include "kith/ops/rows/table.h"

namespace kith {

template <class Params, class T>
struct PlainRows {
  static const RowKernels<T> kernels;
};
template <class Params, class T>
struct Avx2Rows {
  static const RowKernels<T> kernels;
};
template <class Params, class T>
struct Avx512Rows {
  static const RowKernels<T> kernels;
};
template <class Params, class T>
struct CudaRows {
  static const RowKernels<T> kernels;  ///< Null pointers without CUDA.
};

}  // namespace kith
