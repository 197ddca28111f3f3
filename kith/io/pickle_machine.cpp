#include "kith/io/pickle_machine.h"

#include <algorithm>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/io/pickle_names.h"
#include "kith/io/pickle_text.h"

namespace kith::detail {
namespace {

constexpr size_t kMaxNodes = 4'000'000;
// Of the stack, and of what is copied within the pickle: a few bytes can ask
// for one more copy of a long list.
constexpr size_t kMaxRefs = 16'000'000;

}  // namespace

void PickleMachine::fail(const std::string& why) const {
  throw DataError(name_ + ": broken pickle at byte " +
                  std::to_string(position_) + ": " + why);
}

PickleMachine::Ref PickleMachine::add(PickleNode node) {
  if (nodes_.size() == kMaxNodes) {
    fail("more than " + std::to_string(kMaxNodes) + " objects");
  }
  nodes_.push_back(std::move(node));
  return static_cast<Ref>(nodes_.size() - 1);
}

void PickleMachine::push(PickleNode node) { push_ref(add(std::move(node))); }

void PickleMachine::push_ref(Ref ref) {
  if (stack_.size() == kMaxRefs) fail("the stack is too long");
  stack_.push_back(ref);
}

void PickleMachine::push_integer(Kind kind, int64_t value) {
  PickleNode node;
  node.kind = kind;
  node.integer = value;
  push(std::move(node));
}

void PickleMachine::push_real(double value) {
  PickleNode node;
  node.kind = Kind::kFloat;
  node.real = value;
  push(std::move(node));
}

void PickleMachine::push_text(Kind kind, std::string value) {
  PickleNode node;
  node.kind = kind;
  node.text = std::move(value);
  push(std::move(node));
}

void PickleMachine::push_items(Kind kind, std::vector<Ref> items) {
  PickleNode node;
  node.kind = kind;
  node.items = std::move(items);
  push(std::move(node));
}

PickleMachine::Ref PickleMachine::top() const {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("an object is missing on the stack");
  return stack_.back();
}

PickleMachine::Ref PickleMachine::pop() {
  const Ref ref = top();
  stack_.pop_back();
  return ref;
}

std::vector<PickleMachine::Ref> PickleMachine::pop_count(size_t count) {
  std::vector<Ref> items(count);
  for (size_t i = count; i > 0; --i) items[i - 1] = pop();
  return items;
}

void PickleMachine::push_mark() {
  if (marks_.size() == kMaxNodes) fail("too many marks");
  marks_.push_back(stack_.size());
}

std::vector<PickleMachine::Ref> PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("a mark is missing on the stack");
  const auto begin =
      stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Ref> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

void PickleMachine::drop() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
  } else {
    pop();
  }
}

void PickleMachine::store(uint64_t key) {
  memo_[key] = top();
  if (memo_.size() > kMaxNodes) fail("the memo is too large");
}

void PickleMachine::recall(uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) {
    fail("no object has number " + std::to_string(key));
  }
  push_ref(found->second);
}

void PickleMachine::extend(Kind kind, const std::vector<Ref>& items) {
  PickleNode& node = nodes_[top()];
  if (node.kind != kind && node.kind != Kind::kObject) {
    fail("elements are given to something that cannot hold them");
  }
  if (kind == Kind::kDict && items.size() % 2 != 0) fail("a key has no value");
  node.items.insert(node.items.end(), items.begin(), items.end());
}

void PickleMachine::push_global(const std::string& module,
                                const std::string& name) {
  const auto role = pickle_role(module, name);
  const std::string full = module + "." + name;
  if (!role) {
    throw DataError(name_ + ": refers to " + quote(full) +
                    ", which is not a tensor or a container; kith reads data "
                    "only and runs nothing. In Python, save data alone; of a "
                    "model, torch.save(model.state_dict(), file)");
  }
  push_text(Kind::kGlobal, full);
  nodes_[stack_.back()].integer = static_cast<int64_t>(*role);
}

void PickleMachine::push_global_of(const std::vector<Ref>& names) {
  for (const Ref name : names) {
    if (at(name).kind != Kind::kString) fail("a name is not a string");
  }
  push_global(at(names[0]).text, at(names[1]).text);
}

void PickleMachine::charge(size_t count) {
  copied_ += count;
  if (copied_ > kMaxRefs) fail("the same objects are copied too often");
}

bool PickleMachine::is_sequence(Ref ref) const {
  return at(ref).kind == Kind::kTuple || at(ref).kind == Kind::kList;
}

void PickleMachine::copy_items(Ref from, std::vector<Ref>& to) {
  const std::vector<Ref>& items = at(from).items;
  charge(items.size());
  to.insert(to.end(), items.begin(), items.end());
}

// Pairs of a dict made from nothing, dicts, or lists of pairs. Types (the
// default of a defaultdict) and None hold no pairs.
std::vector<PickleMachine::Ref> PickleMachine::dict_items(
    const std::vector<Ref>& arguments) {
  std::vector<Ref> items;
  for (const Ref argument : arguments) {
    const Kind kind = at(argument).kind;
    if (kind == Kind::kGlobal || kind == Kind::kNone) continue;
    if (kind == Kind::kDict) {
      copy_items(argument, items);
      continue;
    }
    if (!is_sequence(argument)) fail("a dict is not made of a list of pairs");
    charge(at(argument).items.size());
    for (const Ref pair : at(argument).items) {
      if (!is_sequence(pair) || at(pair).items.size() != 2) {
        fail("a dict is not made of a list of pairs");
      }
      copy_items(pair, items);
    }
  }
  return items;
}

std::vector<PickleMachine::Ref> PickleMachine::set_items(
    const std::vector<Ref>& arguments) {
  std::vector<Ref> items;
  for (const Ref argument : arguments) {
    if (!is_sequence(argument)) fail("a set is not made of a list");
    copy_items(argument, items);
  }
  return items;
}

// bytes(), bytes(b'..'), and _codecs.encode('..', 'latin1'), which is how
// protocol 2 writes bytes.
std::string PickleMachine::bytes_of(const std::vector<Ref>& arguments) {
  if (arguments.empty()) return {};
  const PickleNode& first = at(arguments[0]);
  charge(first.text.size());
  if (first.kind == Kind::kBytes && arguments.size() == 1) return first.text;
  if (first.kind == Kind::kString && arguments.size() == 2) {
    const std::string& codec = at(arguments[1]).text;
    auto bytes = latin1_of_utf8(first.text);
    if (bytes && (codec == "latin1" || codec == "latin-1")) {
      return std::move(*bytes);
    }
  }
  fail("bytes are made of something that is not text in Latin-1");
}

void PickleMachine::call(Ref callable, std::vector<Ref> arguments) {
  if (at(callable).kind != Kind::kGlobal) {
    fail("calls something that is not a known name");
  }
  switch (static_cast<PickleRole>(at(callable).integer)) {
    case PickleRole::kDict:
      push_items(Kind::kDict, dict_items(arguments));
      return;
    case PickleRole::kSet:
      push_items(Kind::kSet, set_items(arguments));
      return;
    case PickleRole::kBytes:
      push_text(Kind::kBytes, bytes_of(arguments));
      return;
    case PickleRole::kData: {
      push_items(Kind::kTuple, std::move(arguments));
      const Ref tuple = pop();
      push_items(Kind::kObject, {callable, tuple});
      return;
    }
  }
}

void PickleMachine::call_with_tuple(Ref callable, Ref tuple,
                                    const std::vector<Ref>& more) {
  if (at(tuple).kind != Kind::kTuple) {
    fail("the arguments of a call are not a tuple");
  }
  std::vector<Ref> arguments;
  copy_items(tuple, arguments);
  arguments.insert(arguments.end(), more.begin(), more.end());
  call(callable, std::move(arguments));
}

// Attributes of a container (PyTorch's state dicts have _metadata) say nothing
// about its contents and are left out.
void PickleMachine::build() {
  const Ref state = pop();
  PickleNode& node = nodes_[top()];
  switch (node.kind) {
    case Kind::kObject:
      node.items.push_back(state);
      return;
    case Kind::kDict:
    case Kind::kList:
    case Kind::kSet:
      return;
    default:
      fail("attributes are given to something that has none");
  }
}

// Visits every object under the root once, children first, without recursion.
void PickleMachine::check_depth(Ref root) const {
  constexpr uint32_t kUnseen = 0;
  constexpr uint32_t kOpen = ~uint32_t{0};
  struct Step {
    Ref ref;
    size_t next = 0;
    uint32_t deepest = 0;
  };
  std::vector<uint32_t> height(nodes_.size(), kUnseen);
  std::vector<Step> path{{root}};
  height[root] = kOpen;
  while (!path.empty()) {
    Step& step = path.back();
    const std::vector<Ref>& items = at(step.ref).items;
    if (step.next == items.size()) {
      const uint32_t own = step.deepest + 1;
      if (own > Pickle::kMaxDepth) {
        throw DataError(name_ + ": objects are nested more than " +
                        std::to_string(Pickle::kMaxDepth) + " deep");
      }
      height[step.ref] = own;
      path.pop_back();
      if (!path.empty()) {
        path.back().deepest = std::max(path.back().deepest, own);
      }
      continue;
    }
    const Ref child = items[step.next++];
    if (height[child] == kOpen) {
      throw DataError(name_ + ": an object contains itself; weights never do");
    }
    if (height[child] == kUnseen) {
      height[child] = kOpen;
      path.push_back({child});
    } else {
      step.deepest = std::max(step.deepest, height[child]);
    }
  }
}

Pickle PickleMachine::finish() {
  const Ref root = pop();
  check_depth(root);
  return Pickle(std::move(nodes_), root);
}

}  // namespace kith::detail
