#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "kith/io/pickle.h"

namespace kith::detail {

/// The machine that a pickle is a program for: a stack of objects with marks in
/// it, and a memo of numbered objects. It builds objects and calls nothing.
/// Everything that a pickle of few bytes could make large is counted.
class PickleMachine {
 public:
  using Kind = PickleNode::Kind;
  using Ref = uint32_t;

  explicit PickleMachine(std::string name) : name_(std::move(name)) {}

  /// Of the instruction that runs, for errors.
  void set_position(uint64_t position) { position_ = position; }
  [[noreturn]] void fail(const std::string& why) const;

  void push(PickleNode node);
  void push_ref(Ref ref);
  void push_integer(Kind kind, int64_t value);
  void push_real(double value);
  void push_text(Kind kind, std::string value);
  void push_items(Kind kind, std::vector<Ref> items);

  /// What lies below the last mark is out of reach of these.
  Ref top() const;
  Ref pop();
  std::vector<Ref> pop_count(size_t count);

  void push_mark();
  std::vector<Ref> pop_to_mark();
  /// Takes away the last object, or the mark if nothing lies above it.
  void drop();

  void store(uint64_t key);  ///< The top, in the memo.
  void store_next() { store(memo_.size()); }
  void recall(uint64_t key);

  /// Gives elements to the list, set or dict on top of the stack.
  void extend(Kind kind, const std::vector<Ref>& items);

  /// DataError for a name that is not known to be plain data.
  void push_global(const std::string& module, const std::string& name);
  void push_global_of(const std::vector<Ref>& names);

  /// Replaces a class or function and its arguments by the object made.
  void call(Ref callable, std::vector<Ref> arguments);
  void call_with_tuple(Ref callable, Ref tuple, const std::vector<Ref>& more);

  /// Pops attributes, for the object that then is on top.
  void build();

  /// The object on top, with everything below it checked.
  Pickle finish();

 private:
  Ref add(PickleNode node);
  const PickleNode& at(Ref ref) const { return nodes_[ref]; }
  bool is_sequence(Ref ref) const;
  void copy_items(Ref from, std::vector<Ref>& to);
  std::vector<Ref> dict_items(const std::vector<Ref>& arguments);
  std::vector<Ref> set_items(const std::vector<Ref>& arguments);
  std::string bytes_of(const std::vector<Ref>& arguments);
  void charge(size_t count);
  void check_depth(Ref root) const;

  std::string name_;
  uint64_t position_ = 0;
  std::vector<PickleNode> nodes_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, Ref> memo_;
  size_t copied_ = 0;
};

}  // namespace kith::detail
