#include "kith/ops/stream.h"

namespace kith {

StreamPoint::StreamPoint(c10::Device) {}
void StreamPoint::wait() const {}

void StreamPoint::reach() const {}

OwnStream::OwnStream(c10::Device) : guard_(nullptr, [](void*) {}) {}
OwnStream::~OwnStream() = default;

void use_on_this_stream(const Tensor&) {}

}  // namespace kith
