"""Every installed header compiles by itself, with installed ones only.

usage: headers_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER

Reading LibTorch's headers for each would take half an hour. So headers that
reach them get the precompiled header of the library, and the compiler stops
behind the header, before it instantiates what LibTorch's templates left to do.
Headers that include a part of LibTorch get nothing, and show that it suffices.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

OWN = re.compile(r'^#include "(kith/[^"]+)"', re.MULTILINE)
TORCH = re.compile(r"^#include <((?:torch|ATen|c10)/[^>]+)>", re.MULTILINE)
END = "behind the header"


def compiler_of(build, source):
    """The compiler and flags of libkith, without the folder of its sources; and
    those for the precompiled header."""
    commands = json.loads((build / "compile_commands.json").read_text())
    command = next(c["command"] for c in commands
                   if "lib/CMakeFiles/kith.dir/" in c["command"]
                   and "cmake_pch.hxx" in c["command"]
                   and not c["file"].endswith("cmake_pch.hxx.cxx"))
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words)
                 if re.search(r"(\+\+|cc|clang)(-\d+)?$", word)
                 and "ccache" not in word)
    flags, header = [words[first]], []
    rest = iter(words[first + 1:])
    for word in rest:
        if word in ("-o", "-c", "-MF", "-MT", "-MQ"):
            next(rest)
        elif word == "-include":
            header = [word, next(rest)]
        elif word not in ("-MD", f"-I{source}", "-Winvalid-pch"):
            flags.append(word)
    return flags, header


def main(cmake, build, source):
    build, source = pathlib.Path(build), pathlib.Path(source)
    flags, header = compiler_of(build, source)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([cmake, f"-DKITH_SOURCE_DIR={source}",
                        "-DKITH_INCLUDEDIR=include",
                        f"-DCMAKE_INSTALL_PREFIX={folder}", "-P",
                        source / "cmake/KithInstallHeaders.cmake"],
                       check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "DESTDIR": ""})
        root = pathlib.Path(folder) / "include"
        texts = {str(path.relative_to(root)): path.read_text()
                 for path in root.rglob("*.h")}

        def reaches_torch(name, seen):
            if name in seen or name not in texts:
                return False
            seen.add(name)
            return bool(TORCH.search(texts[name])) or any(
                reaches_torch(other, seen) for other in OWN.findall(texts[name]))

        def check(name):
            direct = TORCH.findall(texts[name])
            whole = "torch/torch.h" in direct or (
                not direct and reaches_torch(name, set()))
            result = subprocess.run(
                [*flags, *(header if whole else []), f"-I{root}",
                 "-fsyntax-only", "-Wfatal-errors", "-x", "c++", "-"],
                input=f'#include "{name}"\nstatic_assert(false, "{END}");\n',
                capture_output=True, text=True, cwd=build)
            errors = [line for line in result.stderr.splitlines()
                      if re.search(r"(error|warning): ", line)]
            return [line for line in errors if END not in line] or (
                [] if errors else ["no end found: " + result.stderr])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            names = sorted(texts)
            faults = dict(zip(names, pool.map(check, names)))
    for name, lines in faults.items():
        for line in lines:
            print(f"{name}: {line}")
    bad = sum(bool(lines) for lines in faults.values())
    print(f"{len(names)} headers, {bad} do not compile by themselves")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
