#include "kith/ops/folded_conv.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "kith/ops/stem.h"

namespace kith {
namespace {

template <class T>
NormFold<T> fold_of(const ConvNormWeights& w, double eps) {
  NormFold<T> p;
  p.channels = w.weight.size(0);
  p.inner = w.weight.numel() / std::max<int64_t>(1, p.channels);
  p.eps = eps;
  p.weight = numbers<Sum<T>>(w.weight);
  p.gamma = numbers<Sum<T>>(w.gamma);
  p.beta = numbers<Sum<T>>(w.beta);
  p.mean = numbers<Sum<T>>(w.mean);
  p.var = numbers<Sum<T>>(w.var);
  return p;
}

}  // namespace

FoldedConv::Tensors FoldedConv::of(const ConvNormWeights& w, double eps,
                                   Layout layout, at::ScalarType type) {
  const std::array<Tensor, 5> all = {w.weight, w.gamma, w.beta, w.mean, w.var};
  const std::lock_guard lock(mutex_);
  const bool is_same =
      std::equal(sources_.begin(), sources_.end(), all.begin(),
                 [](const Source& s, const Tensor& t) { return s.is_of(t); });
  if (is_same && type == type_ && layout == layout_) return tensors_;
  // What is kept must serve a graph too.
  const c10::InferenceMode no_inference(false);
  const at::NoGradGuard no_grad;
  const auto learnt = w.weight.options();
  const int64_t out = w.weight.size(0);
  Tensors made;
  if (layout == Layout::kByPlace) {
    made.by_place =
        at::empty({w.weight.size(2) * w.weight.size(3), out}, learnt);
  } else {
    made.weight = at::empty_like(w.weight, learnt.dtype(type));
  }
  made.bias = at::empty({out}, learnt);
  made.bias_as_maps = at::empty({out}, learnt.dtype(type));
  with_conv_kernels(made.bias_as_maps,
                    [&]<class T>(const ConvKernels<T>& kernels) {
                      FoldedNorm<T> to;
                      to.weight = numbers<T>(made.weight);
                      to.by_place = numbers<Sum<T>>(made.by_place);
                      to.bias = numbers<Sum<T>>(made.bias);
                      to.bias_as_maps = numbers<T>(made.bias_as_maps);
                      kernels.fold(fold_of<T>(w, eps), to, current_stream());
                    });
  if (layout == Layout::kStem) made.weight = stem_weight(made.weight);
  if (!w.weight.is_leaf()) {
    forget();
    return made;
  }
  std::transform(all.begin(), all.end(), sources_.begin(), [](const Tensor& t) {
    return t.is_inference()
               ? Source{}
               : Source{t.storage().getWeakStorageImpl(), t.data_ptr(),
                        static_cast<int64_t>(t._version())};
  });
  layout_ = layout;
  type_ = type;
  tensors_ = made;
  return made;
}

bool FoldedConv::Source::is_of(const Tensor& tensor) const {
  return storage && !tensor.is_inference() &&
         storage->_unsafe_get_target() ==
             tensor.storage().unsafeGetStorageImpl() &&
         numbers == tensor.data_ptr() &&
         version == static_cast<int64_t>(tensor._version());
}

void FoldedConv::clear() {
  const std::lock_guard lock(mutex_);
  forget();
}

void FoldedConv::forget() {
  sources_ = {};
  tensors_ = {};
}

FoldedConv::Gradients FoldedConv::gradients(const ConvNormWeights& w,
                                            double eps, Layout layout,
                                            at::ScalarType type,
                                            const Tensor& to_weight,
                                            const Tensor& to_bias) {
  const bool by_place = layout == Layout::kByPlace;
  const Tensor flat =
      layout == Layout::kStem
          ? stem_weight_gradient(to_weight, w.weight.size(1), w.weight.size(2))
          : to_weight;
  const Tensor all = by_place ? flat : laid_as(w.weight, flat);
  const Gradients made = {at::empty_like(w.weight), at::empty_like(w.gamma)};
  with_conv_kernels(all, type, [&]<class T>(const ConvKernels<T>& kernels) {
    FoldGradient<T> of;
    of.weight = by_place ? nullptr : numbers<T>(all);
    of.by_place = by_place ? numbers<Sum<T>>(all) : nullptr;
    of.bias = numbers<Sum<T>>(to_bias);
    of.to_weight = numbers<Sum<T>>(made.weight);
    of.to_gamma = numbers<Sum<T>>(made.gamma);
    kernels.fold_gradient(fold_of<T>(w, eps), of, current_stream());
  });
  return made;
}

}  // namespace kith
