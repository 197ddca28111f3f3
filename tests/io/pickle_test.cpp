#include "kith/io/pickle.h"

#include <limits>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/pickles.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

using PickleKind = PickleNode::Kind;

template <typename... Parts>
void expect_pickle_refused(const std::string& bytes, const Parts&... parts) {
  expect_error<DataError>([&] { parse_pickle(bytes); }, "a.pkl", parts...);
}

// Short text of an object and everything in it.
std::string show(const Pickle& pickle, const PickleNode& node) {
  std::string items;
  for (const uint32_t item : node.items) {
    items += (items.empty() ? "" : " ") + show(pickle, pickle.at(item));
  }
  switch (node.kind) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return node.integer != 0 ? "True" : "False";
    case PickleKind::kInt:
      return std::to_string(node.integer);
    case PickleKind::kBigInt:
      return "big";
    case PickleKind::kFloat:
      return std::to_string(node.real);
    case PickleKind::kString:
      return "'" + node.text + "'";
    case PickleKind::kBytes:
      return "b'" + node.text + "'";
    case PickleKind::kGlobal:
      return node.text;
    case PickleKind::kTuple:
      return "(" + items + ")";
    case PickleKind::kList:
      return "[" + items + "]";
    case PickleKind::kSet:
    case PickleKind::kDict:
      return "{" + items + "}";
    case PickleKind::kObject:
      return "<" + items + ">";
    case PickleKind::kPersistent:
      return "@" + items;
  }
  return "?";
}

std::string shown(const std::string& bytes) {
  const Pickle pickle = parse_pickle(bytes);
  return show(pickle, pickle.root());
}

TEST(Pickle, ReadsNumbers) {
  EXPECT_EQ(shown("N."), "None");
  EXPECT_EQ(shown("\x88."), "True");
  EXPECT_EQ(shown("\x89."), "False");
  EXPECT_EQ(shown("I01\n."), "True");
  EXPECT_EQ(shown("I-12\n."), "-12");
  EXPECT_EQ(shown("L34L\n."), "34");
  EXPECT_EQ(shown("K\xff."), "255");
  EXPECT_EQ(shown("M\xe9\x03."), "1001");
  EXPECT_EQ(shown("J\xfe\xff\xff\xff."), "-2");
  EXPECT_EQ(shown(raw({"\x8a\0.", 3})), "0");
  EXPECT_EQ(shown("\x8a\1\x80."), "-128");
  EXPECT_EQ(
      shown("\x8a\x08" +
            little_endian<int64_t>(std::numeric_limits<int64_t>::min()) + "."),
      "-9223372036854775808");
  EXPECT_EQ(shown(raw({"\x8b\2\0\0\0\0\1.", 8})), "256");
  EXPECT_EQ(shown("\x8a\x09" + std::string(9, '\1') + "."), "big");
  EXPECT_EQ(shown("F-2.5\n."), "-2.500000");
  EXPECT_EQ(shown(raw({"G\x3f\xf8\0\0\0\0\0\0.", 10})), "1.500000");
}

TEST(Pickle, ReadsText) {
  EXPECT_EQ(shown(p_str("h\xc3\xa9") + "."), "'h\xc3\xa9'");
  EXPECT_EQ(shown("U\3abc."), "'abc'");
  EXPECT_EQ(shown("\x8c\3abc."), "'abc'");
  EXPECT_EQ(shown("T\3" + std::string(3, '\0') + "abc."), "'abc'");
  EXPECT_EQ(shown("\x8d\3" + std::string(7, '\0') + "abc."), "'abc'");
  EXPECT_EQ(shown("S'a\\x41\\n\\'\\\\'\n."), "'aA\n'\\'");
  EXPECT_EQ(shown("S\"a\"\n."), "'a'");
  EXPECT_EQ(shown("V\\u00e9\xe9\\U0001F600\n."),
            "'\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80'");
  EXPECT_EQ(shown("C\2ab."), "b'ab'");
  EXPECT_EQ(shown("B\2" + std::string(3, '\0') + "ab."), "b'ab'");
  EXPECT_EQ(shown("\x8e\2" + std::string(7, '\0') + "ab."), "b'ab'");
  EXPECT_EQ(shown("\x96\2" + std::string(7, '\0') + "ab."), "b'ab'");
  EXPECT_EQ(shown(p_global("_codecs", "encode") +
                  p_tuple({p_str("a\xc3\xbf"), p_str("latin1")}) + "R."),
            "b'a\xff'");
}

TEST(Pickle, ReadsContainers) {
  EXPECT_EQ(shown(")."), "()");
  EXPECT_EQ(shown("K\1\x85."), "(1)");
  EXPECT_EQ(shown("K\1K\2\x86."), "(1 2)");
  EXPECT_EQ(shown("K\1K\2K\3\x87."), "(1 2 3)");
  EXPECT_EQ(shown("(K\1K\2t."), "(1 2)");
  EXPECT_EQ(shown("(K\1l."), "[1]");
  EXPECT_EQ(shown("]K\1a(K\2K\3e."), "[1 2 3]");
  EXPECT_EQ(shown("(K\1Nd."), "{1 None}");
  EXPECT_EQ(shown("}K\1Ns(K\2)u."), "{1 None 2 ()}");
  EXPECT_EQ(shown("\x8f(K\1K\2\x90."), "{1 2}");
  EXPECT_EQ(shown("(K\1\x91."), "{1}");
  EXPECT_EQ(shown(p_global("collections", "OrderedDict") + ")R}b."), "{}");
  EXPECT_EQ(shown(p_global("collections", "OrderedDict") +
                  "](](K\1K\2e(K\3K\4le\x85R."),
            "{1 2 3 4}");
  EXPECT_EQ(shown(p_global("collections", "defaultdict") +
                  p_global("__builtin__", "list") + "\x85R(K\1]u."),
            "{1 []}");
  EXPECT_EQ(shown(p_global("__builtin__", "set") + "](K\1e\x85R."), "{1}");
}

TEST(Pickle, FindsKeysOfDicts) {
  const Pickle pickle =
      parse_pickle(p_dict({{"a", "K\1"}, {"b", "K\2"}, {"a", "K\3"}}) + ".");
  EXPECT_EQ(pickle.find(pickle.root(), "a")->integer, 3);
  EXPECT_EQ(pickle.find(pickle.root(), "b")->integer, 2);
  EXPECT_EQ(pickle.find(pickle.root(), "c"), nullptr);
  EXPECT_EQ(pickle.find(*pickle.find(pickle.root(), "a"), "a"), nullptr);
}

TEST(Pickle, UsesStackAndMemo) {
  EXPECT_EQ(shown("]q\5h\5h\5\x86."), "([] [])");
  EXPECT_EQ(shown("]p7\ng7\n\x86."), "([] [])");
  EXPECT_EQ(shown(raw({"]r\1\2\0\0j\1\2\0\0\x86.", 14})), "([] [])");
  EXPECT_EQ(shown(raw({"\x80\4\x95\6\0\0\0\0\0\0\0]\x94h\0\x86.", 17})),
            "([] [])");
  EXPECT_EQ(shown("K\1K\2"
                  "0."),
            "1");
  EXPECT_EQ(shown("K\1(K\2K\3"
                  "1."),
            "1");
  EXPECT_EQ(shown("K\1(0."), "1");
  EXPECT_EQ(shown("K\1"
                  "2\x86."),
            "(1 1)");
}

TEST(Pickle, LeavesTheStreamBehindThePickle) {
  ByteStream in("K\1.K\2.", "a.pkl");
  EXPECT_EQ(read_pickle(in).root().integer, 1);
  EXPECT_EQ(read_pickle(in).root().integer, 2);
  EXPECT_EQ(in.remaining(), 0u);
}

// What training checkpoints hold beside weights is kept without being made.
TEST(Pickle, KeepsPlainDataInert) {
  EXPECT_EQ(shown(p_global("argparse", "Namespace") + ")\x81}b."),
            "<argparse.Namespace () {}>");
  EXPECT_EQ(shown(p_global("torch", "device") + p_str("cpu") + "\x85R."),
            "<torch.device ('cpu')>");
  EXPECT_EQ(shown(p_str("pathlib") + p_str("PosixPath") + "\x93" + p_str("a") +
                  "\x85R."),
            "<pathlib.PosixPath ('a')>");
  EXPECT_EQ(shown("(K\1iargparse\nNamespace\n."), "<argparse.Namespace (1)>");
  EXPECT_EQ(shown("(" + p_global("argparse", "Namespace") + "K\1o."),
            "<argparse.Namespace (1)>");
  EXPECT_EQ(shown(p_global("argparse", "Namespace") + ")}\x92."),
            "<argparse.Namespace ({})>");
  EXPECT_EQ(shown(p_global("collections", "deque") + ")R(K\1e."),
            "<collections.deque () 1>");
  EXPECT_EQ(shown(p_str("id") + "Q."), "@'id'");
  EXPECT_EQ(shown("Pid\n."), "@'id'");
}

TEST(Pickle, RefusesGadgets) {
  const std::string argument = p_str("touch /tmp/x") + "\x85R.";
  const std::pair<const char*, const char*> names[] = {
      {"os", "system"},
      {"posix", "system"},
      {"nt", "system"},
      {"subprocess", "Popen"},
      {"subprocess", "call"},
      {"builtins", "eval"},
      {"builtins", "exec"},
      {"__builtin__", "eval"},
      {"builtins", "getattr"},
      {"builtins", "__import__"},
      {"builtins", "open"},
      {"operator", "attrgetter"},
      {"functools", "partial"},
      {"importlib", "import_module"},
      {"runpy", "run_path"},
      {"pickle", "loads"},
      {"torch", "load"},
      {"torch.hub", "load"},
      {"torch.jit", "load"},
      {"numpy", "load"},
      {"numpy.testing._private.utils", "runstring"},
      {"torch._utils", "_import_dotted_name"},
      {"torchvision.models.resnet", "ResNet"},
      {"collections", "OrderedDict.__class__"},
      {"collections", ""},
      {"", "OrderedDict"},
      {"torch", " "},
      {"torch", "Size Tensor"},
      {"torch", "Siz"},
      {"collections ", "OrderedDict"},
  };
  for (const auto& [module, name] : names) {
    const std::string full = raw(module) + "." + name;
    expect_pickle_refused(p_global(module, name) + argument, "'" + full + "'",
                          "runs nothing", "state_dict()");
    expect_pickle_refused(p_str(module) + p_str(name) + "\x93" + argument,
                          full);
    expect_pickle_refused("(" + p_str("x") + "i" + module + "\n" + name + "\n.",
                          full);
    expect_pickle_refused("(" + p_global(module, name) + p_str("x") + "o.",
                          full);
    expect_pickle_refused(p_global(module, name) + ")\x81.", full);
    // Not called, and dropped again.
    expect_pickle_refused(p_global(module, name) + "0N.", full);
  }
  expect_pickle_refused("\x82\1.", "registry");
  expect_pickle_refused(raw({"\x83\1\0.", 4}), "registry");
  expect_pickle_refused(raw({"\x84\1\0\0\0.", 6}), "registry");
  expect_pickle_refused("\x97.", "buffer");
  expect_pickle_refused("]\x98.", "buffer");
  expect_pickle_refused(p_str("os.system") + argument, "not a known name");
  expect_pickle_refused(p_global("argparse", "Namespace") + ")R" + argument,
                        "not a known name");
}

TEST(Pickle, RefusesNonsense) {
  expect_pickle_refused("", "truncated");
  expect_pickle_refused(".", "missing on the stack");
  expect_pickle_refused("\xff.", "unknown instruction 255");
  expect_pickle_refused("\x80\x06N.", "protocol 6");
  expect_pickle_refused("0.", "missing");
  expect_pickle_refused("K\1(\x85.", "missing");
  expect_pickle_refused("t.", "a mark is missing");
  expect_pickle_refused("h\1.", "number 1");
  expect_pickle_refused("g-1\n.", "'-1'");
  expect_pickle_refused("K\1K\2a.", "cannot hold");
  expect_pickle_refused("]K\1K\2s.", "cannot hold");
  expect_pickle_refused("}(K\1u.", "no value");
  expect_pickle_refused("(K\1d.", "no value");
  expect_pickle_refused("Ix\n.", "'x'");
  expect_pickle_refused("I99999999999999999999\n.", "64 bits");
  expect_pickle_refused("Fx\n.", "'x'");
  expect_pickle_refused("S'x\n.", "string");
  expect_pickle_refused("S'\\q'\n.", "string");
  expect_pickle_refused("S'\\x4'\n.", "string");
  expect_pickle_refused("V\\u12\n.", "string");
  expect_pickle_refused("V\\Uffffffff\n.", "string");
  expect_pickle_refused("K\1K\2\x93.", "not a string");
  expect_pickle_refused("(o.", "class is missing");
  expect_pickle_refused("K\1}b.", "attributes");
  expect_pickle_refused(p_global("collections", "OrderedDict") + "K\1R.",
                        "tuple");
  expect_pickle_refused(p_global("collections", "OrderedDict") + "K\1\x85R.",
                        "pairs");
  expect_pickle_refused(p_global("collections", "OrderedDict") + "](K\1e\x85R.",
                        "pairs");
  expect_pickle_refused(p_global("builtins", "set") + "}\x85R.", "list");
  expect_pickle_refused(p_global("_codecs", "encode") +
                            p_tuple({p_str("\xe4\xb8\xad"), p_str("latin1")}) +
                            "R.",
                        "Latin-1");
  expect_pickle_refused(
      p_global("builtins", "bytes") + "\x8a\4\xff\xff\xff\x7f\x85R.",
      "Latin-1");
}

TEST(Pickle, SizesAreCheckedBeforeMemoryIsTaken) {
  expect_pickle_refused(
      "X\xff\xff\xff\xff"
      "abc.",
      "truncated", "4294967295");
  expect_pickle_refused("\x8d" + std::string(8, '\xff') + "abc.", "truncated");
  expect_pickle_refused("\x8e" + std::string(7, '\xff') +
                            "\x7f"
                            "abc.",
                        "truncated");
  expect_pickle_refused(
      "\x8b\xff\xff\xff\xff"
      "abc.",
      "truncated");
  expect_pickle_refused("\x95" + std::string(8, '\xff') + "N.", "frame");
}

TEST(Pickle, RefusesCycles) {
  expect_pickle_refused("]q\1h\1a.", "contains itself");
  expect_pickle_refused("}q\1K\1h\1s.", "contains itself");
  expect_pickle_refused("]q\1]h\1aa.", "contains itself");
  expect_pickle_refused("(]q\1h\1tq\2ah\2.", "a.pkl");
  expect_pickle_refused(
      p_global("argparse", "Namespace") + ")\x81q\1}" + p_str("a") + "h\1sb.",
      "contains itself");
}

TEST(Pickle, RefusesDeepNestingWithoutRecursion) {
  const auto nested = [](size_t depth) {
    return std::string(depth, ']') + std::string(depth - 1, 'a') + ".";
  };
  EXPECT_NO_THROW(parse_pickle(nested(Pickle::kMaxDepth)));
  expect_pickle_refused(nested(Pickle::kMaxDepth + 1), "nested");
  expect_pickle_refused(nested(1'000'000), "nested");
  std::string tuples = ")";
  tuples.append(1'000'000, '\x85');
  expect_pickle_refused(tuples + ".", "nested");
  // Shared: two paths a level, but few objects.
  std::string shared = ")";
  for (int i = 0; i < 150; ++i) shared += "2\x86";
  EXPECT_NO_THROW(parse_pickle(shared + "."));
}

TEST(Pickle, LimitsWhatFewBytesCanMake) {
  expect_pickle_refused(std::string(4'100'000, 'N') + ".", "objects");
  expect_pickle_refused(std::string(4'100'000, '(') + ".", "marks");
  expect_pickle_refused("N" + std::string(4'100'000, '\x94') + ".", "memo");
  expect_pickle_refused("N" + std::string(16'100'000, '2') + ".", "stack");
  std::string list = "](";
  for (int i = 0; i < 10'000; ++i) list += "))\x86";
  std::string copies =
      p_global("collections", "OrderedDict") + "q\1" + list + "e\x85q\2";
  for (int i = 0; i < 10'000; ++i) copies += "h\1h\2R";
  expect_pickle_refused(copies + ".", "copied too often");
}

TEST(Pickle, EveryTruncationIsRefused) {
  const std::string good =
      p_pickle(p_dict({{"a", p_tensor({"0", 4, {2, 2}, {2, 1}})},
                       {"b", "]q\1(K\1G" + std::string(8, '\1') + "e"}}));
  EXPECT_NO_THROW(parse_pickle(good));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(parse_pickle(good.substr(0, size)), DataError) << size;
  }
}

TEST(Pickle, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(5);
  const std::string good =
      p_pickle(p_dict({{"a", p_tensor({"0", 4, {2, 2}, {2, 1}})},
                       {"b",
                        "]q\1(K\1I12\nV\\u00e9\nS'a'\nh\1\x85"
                        "e"},
                       {"c", p_global("argparse", "Namespace") + ")\x81}b"}}));
  for (int i = 0; i < 20'000; ++i) {
    try {
      parse_pickle(damage(good, random));
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
