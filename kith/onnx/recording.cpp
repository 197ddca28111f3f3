#include "kith/onnx/recording.h"

#include <algorithm>

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/torch.h>

namespace kith {
namespace {

namespace jit = torch::jit;

/// The tracer warns of every change in place; is_faithful() tells whether one
/// matters.
class QuietTracer {
 public:
  QuietTracer()
      : before_(jit::tracer::getTracerStateWarnMode().exchange(false)) {}
  ~QuietTracer() { jit::tracer::getTracerStateWarnMode() = before_; }
  QuietTracer(const QuietTracer&) = delete;
  QuietTracer& operator=(const QuietTracer&) = delete;

 private:
  bool before_;
};

}  // namespace

std::shared_ptr<jit::Graph> record(const RecordedFunction& function,
                                   const Tensor& pictures) {
  const torch::NoGradGuard no_grad;
  const QuietTracer quiet;
  const auto graph =
      jit::tracer::trace(
          {pictures},
          [&](jit::Stack stack) {
            return jit::Stack{function(stack.front().toTensor())};
          },
          [](const torch::autograd::Variable&) { return std::string(); },
          /*strict=*/true, /*force_outplace=*/true)
          .first->graph;
  jit::EliminateDeadCode(graph);
  return graph;
}

bool is_faithful(const std::shared_ptr<jit::Graph>& graph,
                 const Tensor& pictures, const Tensor& made) {
  const torch::NoGradGuard no_grad;
  jit::Stack stack = {pictures};
  jit::InterpreterState(jit::Code(graph, "")).run(stack);
  const Tensor found = stack.front().toTensor();
  const double size = std::max(made.abs().max().item<double>(), 1e-30);
  return found.sizes() == made.sizes() &&
         (found - made).abs().max().item<double>() <= 1e-4 * size;
}

}  // namespace kith
