#include "kith/ops/unit_kernels.h"

namespace kith {
namespace {

template <class T>
constexpr UnitKernels<T> kNoUnitKernels = {};

}  // namespace

template <>
const UnitKernels<float>& cuda_unit_kernels<float>() {
  return kNoUnitKernels<float>;
}
template <>
const UnitKernels<double>& cuda_unit_kernels<double>() {
  return kNoUnitKernels<double>;
}

}  // namespace kith
