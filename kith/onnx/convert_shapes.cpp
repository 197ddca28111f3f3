#include <algorithm>
#include <limits>
#include <numeric>

#include <torch/torch.h>

#include "kith/onnx/operation.h"

// Operations that put numbers elsewhere.

namespace kith {
namespace {

/// What it is given, in the type that comes out.
Operation::Names same(Operation& op) {
  const char* argument = op.has("self") ? "self" : "input";
  if (op.has("train") && op.truth("train")) {
    op.refuse("the network is in training mode");
  }
  return {op.tensor(argument, op.type())};
}

/// Into the sizes that come out: of the free ones each is that of the same
/// dimension before (0 in ONNX), but for one that follows from all others (-1).
Operation::Names reshape(Operation& op) {
  const Extents &from = op.at("self").extents, &to = op.extents();
  if (from == to) return {op.tensor("self")};
  std::vector<int64_t> sizes;
  bool has_open = false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].is_fixed()) {
      sizes.push_back(to[i].first);
    } else if (i < from.size() && from[i] == to[i]) {
      sizes.push_back(0);
    } else if (!has_open) {
      has_open = true;
      sizes.push_back(-1);
    } else {
      op.refuse("several of its sizes depend on those of the pictures");
    }
  }
  return op.add("Reshape", {op.tensor("self"), op.model().integers(sizes)});
}

Operation::Names permuted(Operation& op, std::vector<int64_t> order) {
  return op.add("Transpose", {op.tensor("self")}, {{"perm", std::move(order)}});
}

Operation::Names permute(Operation& op) {
  return permuted(op, op.axes("dims"));
}

Operation::Names transpose(Operation& op) {
  std::vector<int64_t> order(op.extents().size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() < 2) return same(op);
  const bool is_t = !op.has("dim0");
  const auto first = static_cast<size_t>(is_t ? 0 : op.axis("dim0"));
  const auto second = static_cast<size_t>(is_t ? 1 : op.axis("dim1"));
  std::swap(order.at(first), order.at(second));
  return permuted(op, order);
}

Operation::Names unsqueeze(Operation& op) {
  int64_t place = op.integer("dim");
  if (place < 0) place += op.rank();
  return op.add("Unsqueeze", {op.tensor("self")},
                {{"axes", std::vector<int64_t>{place}}});
}

Operation::Names expand(Operation& op) {
  if (op.at("self").extents == op.extents()) return {op.tensor("self")};
  return op.add("Expand", {op.tensor("self"), op.shape(op.extents())});
}

/// A number everywhere, in the shape of another tensor or in that which comes
/// out.
Operation::Names filled(Operation& op, double value) {
  const std::string shape = op.has("self")
                                ? op.model().add("Shape", {op.tensor("self")})
                                : op.shape(op.extents());
  return op.add("Expand", {op.model().number(value, op.type()), shape});
}

Operation::Names zeros(Operation& op) { return filled(op, 0); }
Operation::Names ones(Operation& op) { return filled(op, 1); }
Operation::Names full(Operation& op) {
  return filled(op, op.real("fill_value"));
}

/// [begin, end) along a dimension.
std::string sliced(Operation& op, int64_t axis, int64_t begin, int64_t end,
                   int64_t step = 1) {
  OnnxBuilder& model = op.model();
  return model.add("Slice", {op.tensor("self"), model.integers({begin}),
                             model.integers({end}), model.integers({axis}),
                             model.integers({step})});
}

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

/// A place along a dimension that the argument may count from its end.
int64_t place_in(Operation& op, const char* argument, const Extent& size) {
  const int64_t place = op.integer(argument);
  if (place >= 0) return place;
  if (!size.is_fixed()) op.refuse("it counts from an end that is not fixed");
  return place + size.first;
}

Operation::Names narrow(Operation& op) {
  const int64_t axis = op.axis("dim");
  const Extent& size = op.at("self").extents.at(static_cast<size_t>(axis));
  const Extent& kept = op.extents().at(static_cast<size_t>(axis));
  const int64_t begin = place_in(op, "start", size);
  if (begin + kept.first == size.first && begin + kept.second == size.second) {
    return {sliced(op, axis, begin, kToTheEnd)};
  }
  if (!kept.is_fixed()) op.refuse("its length depends on the pictures");
  return {sliced(op, axis, begin, begin + kept.first)};
}

Operation::Names slice(Operation& op) {
  const int64_t axis = op.axis("dim");
  const int64_t begin = op.has("start") ? op.integer("start") : 0;
  const int64_t end = op.has("end") ? op.integer("end") : kToTheEnd;
  return {sliced(op, axis, begin, end, op.integer("step"))};
}

/// One place along a dimension, without the dimension.
std::string place(Operation& op, int64_t axis, int64_t index) {
  return op.model().add(
      "Gather",
      {op.tensor("self"),
       op.model().number(static_cast<double>(index), at::kLong)},
      {{"axis", axis}});
}

Operation::Names select(Operation& op) {
  const int64_t axis = op.axis("dim");
  const Extent& size = op.at("self").extents.at(static_cast<size_t>(axis));
  return {place(op, axis, place_in(op, "index", size))};
}

Operation::Names unbind(Operation& op) {
  const int64_t axis = op.axis("dim");
  const Extent& size = op.at("self").extents.at(static_cast<size_t>(axis));
  if (!size.is_fixed()) op.refuse("their number depends on the pictures");
  Operation::Names parts;
  for (int64_t i = 0; i < size.first; ++i) parts.push_back(place(op, axis, i));
  return parts;
}

/// Pieces of so many along a dimension, the last of what is left.
Operation::Names in_pieces(Operation& op, int64_t axis, int64_t each) {
  const Extent& size = op.at("self").extents.at(static_cast<size_t>(axis));
  if (!size.is_fixed()) op.refuse("their sizes depend on the pictures");
  Operation::Names parts;
  for (int64_t begin = 0; begin < size.first; begin += each) {
    parts.push_back(
        sliced(op, axis, begin, std::min(size.first, begin + each)));
  }
  return parts;
}

Operation::Names chunk(Operation& op) {
  const int64_t axis = op.axis("dim"), count = op.integer("chunks");
  const int64_t size =
      op.at("self").extents.at(static_cast<size_t>(axis)).first;
  return in_pieces(op, axis, (size + count - 1) / count);
}

Operation::Names split(Operation& op) {
  return in_pieces(op, op.axis("dim"), op.integer("split_size"));
}

/// Counts from the end that comes out.
int64_t joined_axis(const Operation& op) {
  const int64_t place = op.integer("dim");
  return place < 0 ? place + op.rank() : place;
}

Operation::Names cat(Operation& op) {
  return op.add("Concat", op.tensors("tensors"), {{"axis", joined_axis(op)}});
}

Operation::Names stack(Operation& op) {
  const int64_t axis = joined_axis(op);
  Operation::Names parts = op.tensors("tensors");
  for (std::string& part : parts) {
    part = op.model().add("Unsqueeze", {part},
                          {{"axes", std::vector<int64_t>{axis}}});
  }
  return op.add("Concat", parts, {{"axis", axis}});
}

/// LibTorch counts pads from the last dimension, ONNX has all beginnings before
/// all ends.
Operation::Names pad(Operation& op) {
  const std::vector<int64_t> pads = op.integers("pad");
  const auto rank = static_cast<size_t>(op.rank());
  std::vector<int64_t> all(2 * rank);
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    all.at(rank - 1 - i) = pads[2 * i];
    all.at(2 * rank - 1 - i) = pads[2 * i + 1];
  }
  const double value = op.has("value") ? op.real("value") : 0;
  return op.add("Pad", {op.tensor("self")},
                {{"mode", "constant"}, {"pads", all}, {"value", value}});
}

/// From the last to the first along dimensions.
Operation::Names flip(Operation& op) {
  OnnxBuilder& model = op.model();
  const std::vector<int64_t> axes = op.axes("dims");
  const std::vector<int64_t> last(axes.size(), -1);
  const std::vector<int64_t> beyond(axes.size(),
                                    std::numeric_limits<int64_t>::min());
  return op.add(
      "Slice", {op.tensor("self"), model.integers(last), model.integers(beyond),
                model.integers(axes), model.integers(last)});
}

}  // namespace

Converters shape_converters() {
  return {{"contiguous", same},   {"to", same},
          {"detach", same},       {"alias", same},
          {"clone", same},        {"dropout", same},
          {"view", reshape},      {"view_as", reshape},
          {"reshape", reshape},   {"flatten", reshape},
          {"unflatten", reshape}, {"squeeze", reshape},
          {"permute", permute},   {"transpose", transpose},
          {"t", transpose},       {"unsqueeze", unsqueeze},
          {"expand", expand},     {"expand_as", expand},
          {"zeros", zeros},       {"zeros_like", zeros},
          {"empty_like", zeros},  {"ones", ones},
          {"ones_like", ones},    {"full", full},
          {"full_like", full},    {"narrow", narrow},
          {"slice", slice},       {"select", select},
          {"unbind", unbind},     {"chunk", chunk},
          {"split", split},       {"cat", cat},
          {"stack", stack},       {"constant_pad_nd", pad},
          {"flip", flip}};
}

}  // namespace kith
