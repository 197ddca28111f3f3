#!/usr/bin/env python3
"""Checks that every C++ and CUDA file is formatted as .clang-format says.

usage: check_format.py [ROOT]     check the checkout at ROOT (default: .)

Exit status 1 when a file is not formatted, 77 (skipped) when clang-format is
not version 14, for other versions format a few constructs differently, or not
there; in CI (CI=true) it must be there.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

VERSION = 14
FOLDERS = ["kith", "cli", "python", "tests", "bench", "examples"]
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
SKIPPED = 77


def find_formatter():
    """The path of clang-format, the one named after the version first."""
    return (shutil.which(f"clang-format-{VERSION}")
            or shutil.which("clang-format"))


def major_version(formatter):
    text = subprocess.run([formatter, "--version"], check=True,
                          capture_output=True, text=True).stdout
    match = re.search(r"version (\d+)", text)
    return int(match.group(1)) if match else 0


def main(arguments):
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0] if arguments else ".")
    formatter = find_formatter()
    if not formatter:
        print("clang-format is missing: install the package clang-format"
              f" (version {VERSION})")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    version = major_version(formatter)
    if version != VERSION:
        print(f"skipped: needs clang-format {VERSION}, found {version}")
        return SKIPPED

    files = sorted(path.relative_to(root) for folder in FOLDERS
                   for path in (root / folder).rglob("*")
                   if path.suffix in SUFFIXES and path.is_file())
    if not files:
        print("no sources found: is this the root of the checkout?",
              file=sys.stderr)
        return 2

    def run(path):
        return subprocess.run([formatter, "--dry-run", "-Werror", str(path)],
                              cwd=root, capture_output=True, text=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run, files))
    bad = 0
    for path, result in zip(files, results):
        if result.returncode == 0:
            continue
        bad += 1
        if "clang-format-violations" in result.stderr:
            print(f"{path}: not formatted; clang-format -i {path}")
        else:  # such as a broken .clang-format
            print(f"{path}: {result.stderr.strip()}")
    print(f"{len(files)} files, {bad} not formatted")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
