#include "kith/io/pickle.h"

#include <bit>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/io/pickle_machine.h"
#include "kith/io/pickle_text.h"

namespace kith {
namespace {

using Kind = PickleNode::Kind;
using Refs = std::vector<uint32_t>;

constexpr uint8_t kMaxProtocol = 5;

// Reads instructions and hands them to the machine. Codes are those of Python's
// pickletools, which names and explains each.
class Reader {
 public:
  explicit Reader(ByteStream& in) : in_(in), machine_(in.name()) {}

  Pickle read() {
    for (;;) {
      machine_.set_position(in_.position());
      const uint8_t code = in_.byte();
      if (code == '.') return machine_.finish();
      if (!number(code) && !text(code) && !container(code) && !call(code) &&
          !stack(code) && !memo(code)) {
        machine_.fail("unknown instruction " + std::to_string(code));
      }
    }
  }

 private:
  // Each tells whether the code was one of its own.
  bool number(uint8_t code);
  bool text(uint8_t code);
  bool container(uint8_t code);
  bool call(uint8_t code);
  bool stack(uint8_t code);
  bool memo(uint8_t code);

  void push_long(uint64_t size);
  void push_int_line();
  void push_float_line();
  void push_text_line(bool is_unicode);
  void push_string(Kind kind, uint64_t size) {
    machine_.push_text(kind, in_.take(size));
  }
  void push_dict();
  void call_of_stack();
  uint64_t key_line();

  ByteStream& in_;
  detail::PickleMachine machine_;
};

bool Reader::number(uint8_t code) {
  switch (code) {
    case 'N':
      machine_.push({});
      return true;
    case 0x88:
    case 0x89:
      machine_.push_integer(Kind::kBool, code == 0x88);
      return true;
    case 'J':
      machine_.push_integer(Kind::kInt, in_.number<int32_t>());
      return true;
    case 'K':
      machine_.push_integer(Kind::kInt, in_.byte());
      return true;
    case 'M':
      machine_.push_integer(Kind::kInt, in_.number<uint16_t>());
      return true;
    case 'I':
    case 'L':
      push_int_line();
      return true;
    case 0x8a:
      push_long(in_.byte());
      return true;
    case 0x8b:
      push_long(in_.number<uint32_t>());
      return true;
    case 'F':
      push_float_line();
      return true;
    case 'G':
      // The one number of pickles that is big endian.
      machine_.push_real(
          std::bit_cast<double>(__builtin_bswap64(in_.number<uint64_t>())));
      return true;
    default:
      return false;
  }
}

void Reader::push_long(uint64_t size) {
  std::string bytes = in_.take(size);
  if (const auto value = detail::long_value(bytes)) {
    machine_.push_integer(Kind::kInt, *value);
  } else {
    machine_.push_text(Kind::kBigInt, std::move(bytes));
  }
}

void Reader::push_int_line() {
  const std::string line = in_.line();
  const auto value = detail::decimal_value(line);
  if (!value) machine_.fail(quote(line) + " is not an integer of 64 bits");
  // Protocol 0 has no other way to write a bool.
  const bool is_bool = line == "00" || line == "01";
  machine_.push_integer(is_bool ? Kind::kBool : Kind::kInt, *value);
}

void Reader::push_float_line() {
  const std::string line = in_.line();
  const auto value = detail::real_value(line);
  if (!value) machine_.fail(quote(line) + " is not a number");
  machine_.push_real(*value);
}

void Reader::push_text_line(bool is_unicode) {
  const std::string line = in_.line();
  auto value =
      is_unicode ? detail::unescape_unicode(line) : detail::unquote(line);
  if (!value) machine_.fail("badly written string " + quote(line));
  machine_.push_text(Kind::kString, std::move(*value));
}

bool Reader::text(uint8_t code) {
  switch (code) {
    case 'S':
    case 'V':
      push_text_line(code == 'V');
      return true;
    case 'T':
    case 'X':
      push_string(Kind::kString, in_.number<uint32_t>());
      return true;
    case 'U':
    case 0x8c:
      push_string(Kind::kString, in_.byte());
      return true;
    case 0x8d:
      push_string(Kind::kString, in_.number<uint64_t>());
      return true;
    case 'B':
      push_string(Kind::kBytes, in_.number<uint32_t>());
      return true;
    case 'C':
      push_string(Kind::kBytes, in_.byte());
      return true;
    case 0x8e:
    case 0x96:
      push_string(Kind::kBytes, in_.number<uint64_t>());
      return true;
    default:
      return false;
  }
}

bool Reader::container(uint8_t code) {
  switch (code) {
    case ')':
      machine_.push_items(Kind::kTuple, {});
      return true;
    case ']':
      machine_.push_items(Kind::kList, {});
      return true;
    case '}':
      machine_.push_items(Kind::kDict, {});
      return true;
    case 0x8f:
      machine_.push_items(Kind::kSet, {});
      return true;
    case 't':
      machine_.push_items(Kind::kTuple, machine_.pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      machine_.push_items(Kind::kTuple, machine_.pop_count(code - 0x84u));
      return true;
    case 'l':
      machine_.push_items(Kind::kList, machine_.pop_to_mark());
      return true;
    case 0x91:
      machine_.push_items(Kind::kSet, machine_.pop_to_mark());
      return true;
    case 'd':
      push_dict();
      return true;
    case 'a':
      machine_.extend(Kind::kList, machine_.pop_count(1));
      return true;
    case 'e':
      machine_.extend(Kind::kList, machine_.pop_to_mark());
      return true;
    case 's':
      machine_.extend(Kind::kDict, machine_.pop_count(2));
      return true;
    case 'u':
      machine_.extend(Kind::kDict, machine_.pop_to_mark());
      return true;
    case 0x90:
      machine_.extend(Kind::kSet, machine_.pop_to_mark());
      return true;
    default:
      return false;
  }
}

void Reader::push_dict() {
  const Refs items = machine_.pop_to_mark();
  machine_.push_items(Kind::kDict, {});
  machine_.extend(Kind::kDict, items);
}

bool Reader::call(uint8_t code) {
  switch (code) {
    case 'c': {
      const std::string module = in_.line();
      machine_.push_global(module, in_.line());
      return true;
    }
    case 0x93:
      machine_.push_global_of(machine_.pop_count(2));
      return true;
    case 'i': {
      const std::string module = in_.line();
      machine_.push_global(module, in_.line());
      const uint32_t callable = machine_.pop();
      machine_.call(callable, machine_.pop_to_mark());
      return true;
    }
    case 'o':
      call_of_stack();
      return true;
    case 'R':
    case 0x81: {
      const Refs parts = machine_.pop_count(2);
      machine_.call_with_tuple(parts[0], parts[1], {});
      return true;
    }
    case 0x92: {  // with keyword arguments, a dict
      const Refs parts = machine_.pop_count(3);
      machine_.call_with_tuple(parts[0], parts[1], {parts[2]});
      return true;
    }
    case 'b':
      machine_.build();
      return true;
    case 'P':
      machine_.push_text(Kind::kString, in_.line());
      machine_.push_items(Kind::kPersistent, machine_.pop_count(1));
      return true;
    case 'Q':
      machine_.push_items(Kind::kPersistent, machine_.pop_count(1));
      return true;
    case 0x82:
    case 0x83:
    case 0x84:
      machine_.fail("refers to a registry of classes that only Python has");
    case 0x97:
    case 0x98:
      machine_.fail("refers to a buffer outside of the pickle");
    default:
      return false;
  }
}

void Reader::call_of_stack() {
  Refs arguments = machine_.pop_to_mark();
  if (arguments.empty()) machine_.fail("a class is missing on the stack");
  const uint32_t callable = arguments.front();
  arguments.erase(arguments.begin());
  machine_.call(callable, std::move(arguments));
}

bool Reader::stack(uint8_t code) {
  switch (code) {
    case '(':
      machine_.push_mark();
      return true;
    case '0':
      machine_.drop();
      return true;
    case '1':
      machine_.pop_to_mark();
      return true;
    case '2':
      machine_.push_ref(machine_.top());
      return true;
    case 0x80:
      if (const uint8_t version = in_.byte(); version > kMaxProtocol) {
        machine_.fail("protocol " + std::to_string(version) + " is not known");
      }
      return true;
    case 0x95:
      if (in_.number<uint64_t>() > in_.remaining()) {
        machine_.fail("truncated: a frame is longer than what is left");
      }
      return true;
    default:
      return false;
  }
}

bool Reader::memo(uint8_t code) {
  switch (code) {
    case 'p':
      machine_.store(key_line());
      return true;
    case 'q':
      machine_.store(in_.byte());
      return true;
    case 'r':
      machine_.store(in_.number<uint32_t>());
      return true;
    case 0x94:
      machine_.store_next();
      return true;
    case 'g':
      machine_.recall(key_line());
      return true;
    case 'h':
      machine_.recall(in_.byte());
      return true;
    case 'j':
      machine_.recall(in_.number<uint32_t>());
      return true;
    default:
      return false;
  }
}

uint64_t Reader::key_line() {
  const std::string line = in_.line();
  const auto value = detail::decimal_value(line);
  if (!value || *value < 0) {
    machine_.fail(quote(line) + " is not the number of an object");
  }
  return static_cast<uint64_t>(*value);
}

}  // namespace

const PickleNode* Pickle::find(const PickleNode& dict,
                               std::string_view key) const {
  if (dict.kind != Kind::kDict) return nullptr;
  for (size_t i = dict.items.size(); i >= 2; i -= 2) {
    const PickleNode& name = at(dict.items[i - 2]);
    if (name.kind == Kind::kString && name.text == key) {
      return &at(dict.items[i - 1]);
    }
  }
  return nullptr;
}

Pickle read_pickle(ByteStream& in) { return Reader(in).read(); }

}  // namespace kith
