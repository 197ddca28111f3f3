#!/usr/bin/env python3
"""Checks the files of kith/: what they include, their length, their guard, and
that their messages name no flag of the program.

usage: check_layers.py [ROOT]     check the checkout at ROOT (default: .)
       check_layers.py --self-test

Exit status 1 with one line FILE:LINE: reason for each fault.
"""

import pathlib
import re
import sys
import tempfile

# What the files of a folder may include, besides their own folder.
ALLOWED = {
    "core": "",
    "io": "core",
    "image": "core",
    "data": "core io image",
    "samplers": "core",
    "distributed": "core",
    "ops": "core distributed image",
    "models": "core distributed io image data ops",
    "onnx": "core distributed io image data models ops",
    "miners": "core ops",
    "losses": "core distributed ops miners",
    "index": "core distributed io ops image data",
    "eval": "core distributed io image data models ops index",
    "run": "core distributed io image data models ops index eval",
    "train": "core distributed io image data samplers models ops miners"
             " losses index eval run",
    "use": "core distributed io image data samplers models onnx ops miners"
           " losses index eval run train chart serve",
    "chart": "core image",
    "report": "core io image data samplers models ops miners losses index"
              " eval run train chart",
    "serve": "core io image data samplers models ops miners losses index eval"
             " run train chart",
    "study": "core distributed io image data samplers models ops miners"
             " losses index eval run train chart report",
}
ALLOWED = {folder: set(seen.split()) for folder, seen in ALLOWED.items()}

# Folders that are built without LibTorch, and the files excepted.
NO_TORCH = {"core", "io", "image", "data", "samplers", "chart"}
MAY_USE_TORCH = re.compile(
    r"^kith/(core/(tensor|torch_compat|device|side_by_side)\.|io/tensor_io\.|"
    r"samplers/pool/)")

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
WARN_LINES, MAX_LINES = 400, 600

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
PRAGMA_ONCE = re.compile(r"^\s*#\s*pragma\s+once\b")
TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")


# A block comment; or a line comment or string, which may hold /* of a glob.
COMMENT = re.compile(r'(/\*.*?\*/)|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def code_lines(text):
    """The lines of `text`, with those inside /* */ comments made empty."""
    def blank(match):
        return "\n" * match[1].count("\n") if match[1] else match[0]
    return COMMENT.sub(blank, text).split("\n")


# The program's flags are not the library's: its messages say "option 'out'",
# which the program prints as --out. These start programs.
FLAG = re.compile(r'(?<![\w<!-])--[a-z][a-z-]*')
STARTS_PROGRAM = {"kith/study/evaluation.cpp", "kith/study/sweep.cpp",
                  "kith/distributed/mpirun.cpp"}


def check_messages(path, text, errors):
    if path.as_posix() in STARTS_PROGRAM:
        return
    for match in COMMENT.finditer(text):
        flag = match[0].startswith('"') and FLAG.search(match[0])
        if flag:
            line = text.count("\n", 0, match.start()) + 1
            errors.append(f"{path}:{line}: a message names the flag {flag[0]};"
                          f" say option '{flag[0][2:].replace('-', '_')}'")


# What throws raw errors of std::filesystem, unless it is given an error_code.
RAW = re.compile(r"(?:\bfs|\bstd::filesystem)::(exists|is_directory|"
                 r"is_regular_file|is_empty|create_directory|"
                 r"create_directories|remove|remove_all|rename|copy|copy_file|"
                 r"file_size|absolute|canonical|weakly_canonical)\(")
WITH_CODE = re.compile(r",\s*\w+$")
MAY_USE_RAW = "kith/core/path.cpp"


def check_raw_errors(path, text, errors):
    if path.as_posix() == MAY_USE_RAW:
        return
    for match in RAW.finditer(text):
        end, depth = match.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if not WITH_CODE.search(text[match.end():end - 1]):
            line = text.count("\n", 0, match.start()) + 1
            errors.append(f"{path}:{line}: {match[1]}() throws a raw filesystem"
                          " error; take the function of kith/core/path.h, or"
                          " give it an error_code")


def check_include(path, folder, quote, target):
    """Why the file `path` (below ROOT) may not include `target`, or None."""
    if TORCH.match(target):
        if path.suffix in {".cu", ".cuh"}:
            return f"device code may not include LibTorch ({target})"
        if folder in NO_TORCH and not MAY_USE_TORCH.match(path.as_posix()):
            return f"kith/{folder} may not include LibTorch ({target})"
        if (target == "torch/torch.h" and path.suffix == ".h"
                and folder != "models"):
            return (f"a header may not include {target}: it costs 15 s a file;"
                    " take the smallest header that serves")
        return None
    parts = target.split("/")
    if parts[0] in {"cli", "tests", "bench", "examples"}:
        return f"kith may not include {parts[0]}/ ({target})"
    if parts[0] != "kith":
        # A path that is not from the root would hide an edge.
        if quote == '"':
            return f'write "kith/<folder>/<file>", not "{target}"'
        return None
    if folder is None:  # the umbrella header
        return None
    if len(parts) < 3:
        return f"kith/{folder} may not include the umbrella {target}"
    if parts[1] not in ALLOWED:
        return f"{target}: kith/{parts[1]} is not a known folder"
    if parts[1] != folder and parts[1] not in ALLOWED[folder]:
        allowed = ", ".join(sorted(ALLOWED[folder])) or "nothing of kith"
        return (f"{folder} -> {parts[1]} is forbidden ({target});"
                f" {folder} may include {allowed}")
    return None


def check_file(root, path, errors, warnings):
    text = (root / path).read_text(encoding="utf-8")
    lines = code_lines(text)
    folder = path.parts[1] if len(path.parts) > 2 else None
    if folder is not None and folder not in ALLOWED:
        errors.append(f"{path}:1: kith/{folder} is not a known folder")
        return
    if folder is None and path.name != "kith.h":
        errors.append(f"{path}:1: only kith.h lies directly in kith/")
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        reason = match and check_include(path, folder, *match.groups())
        if reason:
            errors.append(f"{path}:{number}: {reason}")
    check_messages(path, text, errors)
    check_raw_errors(path, text, errors)
    if path.suffix in {".h", ".cuh"} and not any(map(PRAGMA_ONCE.match, lines)):
        errors.append(f"{path}:1: no #pragma once")
    length = len(lines) - (lines[-1] == "")
    if length > MAX_LINES:
        errors.append(f"{path}:{length}: {length} lines, over {MAX_LINES}")
    elif length > WARN_LINES:
        warnings.append(f"{path}:{length}: warning: {length} lines, over"
                        f" {WARN_LINES}")


def check_tree(root):
    """Returns the number of files and the lists of errors and warnings."""
    files = sorted(p.relative_to(root) for p in (root / "kith").rglob("*")
                   if p.suffix in SUFFIXES and p.is_file())
    errors, warnings = [], []
    for path in files:
        check_file(root, path, errors, warnings)
    return len(files), errors, warnings


# Files of a small tree, and what the check must say (None: nothing).
ONCE = "#pragma once\n"
CASES = [
    ({"kith/core/a.h": ONCE, "kith/losses/b.cpp": '#include "kith/core/a.h"\n'},
     None),
    ({"kith/losses/b.cpp": '#include "kith/losses/loss.h"\n'}, None),
    ({"kith/core/a.cpp": '\n#include "kith/train/t.h"\n'},
     "kith/core/a.cpp:2: core -> train is forbidden"),
    ({"kith/samplers/a.cpp": '#  include <kith/data/t.h>\n'},
     "kith/samplers/a.cpp:1: samplers -> data is forbidden"),
    ({"kith/train/optimizers/a.cpp": '#include "kith/chart/t.h"\n'},
     "train -> chart is forbidden"),
    ({"kith/ops/cuda/a.cu": '#include "kith/miners/t.h"\n'},
     "ops -> miners is forbidden"),
    ({"kith/core/a.cpp": '/* old\n#include "kith/train/t.h"\n*/\n'
                         '// #include "kith/train/t.h"\n'}, None),
    ({"kith/core/a.cpp": '// sets/*.cpp\n#include "kith/train/t.h"\n// */\n'},
     "kith/core/a.cpp:2: core -> train is forbidden"),
    ({"kith/eval/a.cpp": '#include "cli/common.h"\n'}, "may not include cli/"),
    ({"kith/eval/a.cpp": '#include "tests/support/x.h"\n'},
     "may not include tests/"),
    ({"kith/eval/a.cpp": '#include "../train/x.h"\n'}, 'not "../train/x.h"'),
    ({"kith/eval/a.cpp": '#include "kith/kith.h"\n'}, "the umbrella"),
    ({"kith/eval/a.cpp": '#include "kith/misc/x.h"\n'}, "not a known folder"),
    ({"kith/misc/a.cpp": ""}, "not a known folder"),
    ({"kith/a.cpp": ""}, "only kith.h lies directly"),
    ({"kith/kith.h": ONCE + '#include "kith/train/t.h"\n'}, None),
    ({"cli/main.cpp": '#include "kith/train/t.h"\n'}, None),
    ({"kith/data/a.cpp": "#include <ATen/core/Tensor.h>\n"},
     "kith/data may not include LibTorch"),
    ({"kith/chart/a.cpp": "#include <c10/util/Half.h>\n"},
     "kith/chart may not include LibTorch"),
    ({"kith/core/tensor_other.h": ONCE + "#include <torch/types.h>\n"},
     "kith/core may not include LibTorch"),
    ({"kith/core/tensor.h": ONCE + "#include <ATen/core/Tensor.h>\n",
      "kith/io/tensor_io.cpp": "#include <torch/torch.h>\n",
      "kith/core/device.cpp": "#include <torch/torch.h>\n"}, None),
    ({"kith/samplers/a.cpp": "#include <torch/torch.h>\n"},
     "kith/samplers may not include LibTorch"),
    ({"kith/samplers/pool/a.cpp": "#include <torch/torch.h>\n"}, None),
    ({"kith/losses/a.cpp": "#include <torch/torch.h>\n",
      "kith/models/a.h": ONCE + "#include <torch/torch.h>\n"}, None),
    ({"kith/losses/a.h": ONCE + "#include <torch/torch.h>\n"},
     "kith/losses/a.h:2: a header may not include torch/torch.h"),
    ({"kith/run/a.cpp": "bool x = fs::exists(a(b));\n"},
     "kith/run/a.cpp:1: exists() throws a raw filesystem error"),
    ({"kith/run/a.cpp": "bool x = fs::exists(a(b), none);\n",
      "kith/core/path.cpp": "bool x = std::filesystem::exists(a);\n"}, None),
    ({"kith/ops/cuda/a.cu": "#include <ATen/ATen.h>\n"},
     "device code may not include LibTorch"),
    ({"kith/models/a.cuh": ONCE + "#include <c10/core/Device.h>\n"},
     "device code may not include LibTorch"),
    ({"kith/eval/a.cpp": '\nconst char* a = "give --out, or";\n'},
     "kith/eval/a.cpp:2: a message names the flag --out; say option 'out'"),
    ({"kith/eval/a.cpp": 'f("x" + y + "--memory-mb");\n'},
     "say option 'memory_mb'"),
    ({"kith/eval/a.cpp": '// as "--out" says\n--count; f("a--b <!--c", "--");\n',
      "kith/study/sweep.cpp": 'f("--out");\n'}, None),
    ({"kith/ops/a.h": "int f();\n"}, "kith/ops/a.h:1: no #pragma once"),
    ({"kith/ops/a.h": "// #pragma once\n"}, "no #pragma once"),
    ({"kith/ops/a.cpp": "\n" * 600}, "warning: 600 lines, over 400"),
    ({"kith/ops/a.cpp": "\n" * 601}, "601 lines, over 600"),
    ({"kith/ops/a.cpp": "\n" * 400}, None),
]


def self_test():
    failed = 0
    for files, expected in CASES:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in {"kith/core/z.cpp": "", **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            _, errors, warnings = check_tree(root)
        found = errors + warnings
        is_right = (expected in found[0] and len(found) == 1
                    if expected and found else not expected and not found)
        # A warning alone must not fail the check, anything else must.
        is_right &= bool(errors) == bool(
            expected and not expected.startswith("warning"))
        if not is_right:
            failed += 1
            print(f"FAILED {list(files)}: expected {expected}, found {found}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases passed")
    return 1 if failed else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    count, errors, warnings = check_tree(
        pathlib.Path(arguments[0] if arguments else "."))
    if count == 0:
        print("no sources below kith/: is this the root of the checkout?",
              file=sys.stderr)
        return 2
    print("\n".join(warnings + errors), end="\n" if warnings + errors else "")
    print(f"{count} files, {len(errors)} faults")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
