#pragma once

#include <string>
#include <vector>

namespace kith {

/// Instructions of pickles, and names that are known in them.
inline std::vector<std::string> pickle_words() {
  return {"\x80\x02",
          "\x80\x05",
          "ccollections\nOrderedDict\n",
          "ctorch._utils\n_rebuild_tensor_v2\n",
          "ctorch._utils\n_rebuild_parameter\n",
          "ctorch\nFloatStorage\n",
          "ctorch\nLongStorage\n",
          "ctorch\nSize\n",
          "cnumpy.core.multiarray\n_reconstruct\n",
          "cnumpy\nndarray\n",
          "cnumpy\ndtype\n",
          "c_codecs\nencode\n",
          "cbuiltins\nset\n",
          std::string("X\x07\0\0\0storage", 12),
          ")R",
          "}(",
          "](",
          "\x8a\x08",
          "\x95",
          "\x93",
          "\x8c\x01",
          "q\x01",
          "h\x01",
          "Q",
          "b",
          "u",
          "e",
          "t",
          "\x85",
          "\x86",
          "\x87",
          "\x94",
          "\x90",
          "0",
          "2",
          "1"};
}

}  // namespace kith
