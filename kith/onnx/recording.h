#pragma once

#include <functional>
#include <memory>

#include "kith/core/tensor.h"

namespace torch::jit {
struct Graph;
}  // namespace torch::jit

namespace kith {

/// A network in evaluation mode, as a function of pictures.
using RecordedFunction = std::function<Tensor(const Tensor& pictures)>;

/// LibTorch's operations that `function` does with `pictures`, in order, on the
/// CPU and without gradients: a list without branches, in which tensors that do
/// not come from the pictures are constants, and every size is that of these
/// pictures. No parameter of it may want a gradient.
std::shared_ptr<torch::jit::Graph> record(const RecordedFunction& function,
                                          const Tensor& pictures);

/// Whether the operations make of other pictures of the same shape what the
/// function made: not if it does something that is no operation of LibTorch, or
/// changes a view of a tensor in place.
bool is_faithful(const std::shared_ptr<torch::jit::Graph>& graph,
                 const Tensor& pictures, const Tensor& made);

}  // namespace kith
