"""How the program and its libraries were linked and compiled: at random
addresses, with tables that cannot be written once they are filled, no stack that
is executed, and guards of the stack and of calls of the C library.

usage: hardening_test.py READELF BUILD_FOLDER COMPILED

COMPILED is 1 if the guards that the compiler puts in are to be there.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LIBRARIES = ("libkith_base.so", "libkith.so", "libkith_program.so",
             "libkith_ops.so")


def read_elf(readelf, path):
    return subprocess.run(
        [readelf, "--file-header", "--segments", "--dynamic", "--dyn-syms",
         "--wide", str(path)],
        check=True, capture_output=True, text=True, env={"LC_ALL": "C"}).stdout


def faults_of_link(text, program):
    """What a file that was linked lacks."""
    if not re.search(r"^ +Type: +DYN ", text, re.M):
        yield "is loaded at a fixed address"
    if program and not re.search(r"FLAGS_1\).*\bPIE\b", text):
        yield "is not a position-independent program"
    stack = re.search(r"^ +GNU_STACK( +0x\w+){5} +(\w+)", text, re.M)
    if not stack or "E" in stack[2]:
        yield "has a stack that may be executed"
    if re.search(r"^ +LOAD( +0x\w+){5} +RWE ", text, re.M):
        yield "has a segment that may be written and executed"
    if not re.search(r"^ +GNU_RELRO ", text, re.M):
        yield "has tables that may be written (no RELRO)"
    if not re.search(r"\(FLAGS_1\) +Flags:.* NOW\b", text):
        yield "looks functions up when they are called (no BIND_NOW)"
    if re.search(r"\(TEXTREL\)", text):
        yield "has code that is written when it is loaded"


def faults_of_code(text):
    """What large files that were compiled lack; small ones may need neither."""
    if "__stack_chk_fail" not in text:
        yield "has no guards of the stack (-fstack-protector-strong)"
    if not re.search(r" __\w+_chk@", text.replace("__stack_chk_fail", "")):
        yield "has no guards of the C library's calls (_FORTIFY_SOURCE)"


def self_test(readelf, folder):
    """A file that has none of it is found out. None where that cannot be made."""
    source = folder / "weak.c"
    source.write_text("int main(void) { return 0; }\n", "utf-8")
    result = subprocess.run(
        ["cc", "-no-pie", "-fno-stack-protector", "-Wl,-z,norelro",
         "-Wl,-z,lazy", "-Wl,-z,execstack", str(source), "-o",
         str(folder / "weak")], capture_output=True, check=False)
    if result.returncode != 0:
        print("no weak program could be made: not tried")
        return
    text = read_elf(readelf, folder / "weak")
    found = [*faults_of_link(text, program=True), *faults_of_code(text)]
    assert len(found) == 7, found


def main(readelf, build, compiled):
    with tempfile.TemporaryDirectory() as folder:
        self_test(readelf, pathlib.Path(folder))
    build = pathlib.Path(build)
    paths = [path for name in LIBRARIES for path in build.rglob(name)
             if not path.is_relative_to(build / "_CPack_Packages")]
    assert paths, (build, "has no libraries")
    if (build / "kith").is_file():
        paths.append(build / "kith")
    faults = []
    for path in paths:
        text = read_elf(readelf, path)
        program = path.suffix != ".so"
        faults += [f"{path} {fault}" for fault in faults_of_link(text, program)]
        if compiled == "1" and path.name in ("libkith_base.so", "libkith.so"):
            faults += [f"{path} {fault}" for fault in faults_of_code(text)]
    assert not faults, "\n".join(faults)
    print(f"{len(paths)} files are hardened; guards of the compiler "
          f"{'too' if compiled == '1' else 'are off (KITH_HARDEN)'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
