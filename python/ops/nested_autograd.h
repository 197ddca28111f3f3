#pragma once

#include <ATen/SavedTensorHooks.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace kith::ops {

/// While it lives, autograd records as if nothing were around it: also below
/// the dispatcher's autograd keys, where kernels run, and without the hooks by
/// which checkpoints and the like exchange what is saved.
class NestedAutograd {
 public:
  NestedAutograd()
      : keys_(with_autograd()),
        mode_(true),
        hooks_(at::SavedTensorDefaultHooks::get_tls_state()) {
    at::SavedTensorDefaultHooks::set_tls_state({});
  }
  ~NestedAutograd() { at::SavedTensorDefaultHooks::set_tls_state(hooks_); }
  NestedAutograd(const NestedAutograd&) = delete;
  NestedAutograd& operator=(const NestedAutograd&) = delete;

 private:
  static c10::impl::LocalDispatchKeySet with_autograd() {
    c10::impl::LocalDispatchKeySet keys =
        c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ =
        keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }

  c10::impl::ForceDispatchKeyGuard keys_;
  at::AutoGradMode mode_;
  at::impl::SavedTensorDefaultHooksTLS hooks_;
};

}  // namespace kith::ops
