"""Where built and installed files look for libraries: in absolute folders or
beside themselves. The loader takes an empty element of a run path for the current
folder, and a relative one from there: whoever can write to it could have a
library of theirs executed.

usage: run_path_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

RELOCATABLE = 1  # e_type of object files
NEEDED, STRING_TABLE, RPATH, RUNPATH = 1, 5, 15, 29


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def dynamic_entries(path):
    """(tag, text) of the dynamic section of a 64-bit little-endian ELF file;
    None of an object file or one that is linked statically."""
    data = path.read_bytes()
    assert data[4:6] == b"\x02\x01", (path, "is not 64-bit little-endian")
    kind, = struct.unpack_from("<H", data, 16)
    if kind == RELOCATABLE:
        return None
    program_headers, = struct.unpack_from("<Q", data, 32)
    entry_size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data,
                                   program_headers + i * entry_size)
                for i in range(count)]

    def offset_of(address):
        for kind, _, offset, virtual, _, size in segments:
            if kind == 1 and virtual <= address < virtual + size:
                return offset + address - virtual
        raise AssertionError((path, hex(address), "is in no segment"))

    dynamic = [segment for segment in segments if segment[0] == 2]
    if not dynamic:
        return None
    start, size = dynamic[0][2], dynamic[0][5]
    pairs = list(struct.iter_unpack("<qQ", data[start:start + size]))
    strings = offset_of(next(value for tag, value in pairs
                             if tag == STRING_TABLE))
    texts = []
    for tag, value in pairs:
        if tag in (NEEDED, RPATH, RUNPATH):
            end = data.index(b"\0", strings + value)
            texts.append((tag, data[strings + value:end].decode()))
    return texts


def run_path(path):
    """The elements of a file's run path; None of an object file."""
    entries = dynamic_entries(path)
    if entries is None:
        return None
    return [element for tag, text in entries if tag in (RPATH, RUNPATH)
            for element in text.split(":")]


def is_safe(element):
    return (element.startswith("/") or element == "$ORIGIN"
            or element.startswith("$ORIGIN/"))


def check_folder(folder, refused=None):
    """Returns how many files were looked at."""
    count = 0
    for path in sorted(folder.rglob("*")):
        if not is_elf(path):
            continue
        elements = run_path(path)
        if elements is None:
            continue
        count += 1
        for element in elements:
            assert is_safe(element), (path, elements)
            assert refused is None or not element.startswith(refused), (
                path, elements)
    return count


def check_forged(program, folder):
    """A file in the current folder is not taken for a library."""
    libraries = [*folder.rglob("libkith*.so")]
    names = {path.name for path in libraries}  # the program loads one itself
    for path in [program, *libraries]:
        names |= {text for tag, text in dynamic_entries(path) or []
                  if tag == NEEDED}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            (pathlib.Path(scratch) / name).write_bytes(b"no library")
        result = subprocess.run([str(program), "--version"], cwd=scratch,
                                text=True, capture_output=True, check=False)
    assert result.returncode == 0, (program, result.stderr)
    assert result.stdout.startswith("kith "), result.stdout


def check_installed(cmake, build, folder):
    subprocess.run([cmake, "--install", str(build), "--prefix", str(folder)],
                   check=True, stdout=subprocess.DEVNULL)
    assert check_folder(folder, str(build)) >= 2
    program = folder / "bin/kith"
    if program.exists():
        check_forged(program, folder)


def check_package_script(cmake, build, source, folder):
    """What only this machine has is taken out of the files of a package."""
    wanted = ["$ORIGIN", "$ORIGIN/../lib"]
    # A program of the tests, which is not installed.
    file = next(path for path in sorted((build / "tests").iterdir())
                if is_elf(path) and len(":".join(run_path(path) or []))
                >= len(":".join(wanted)))
    assert any(element.startswith("/") for element in run_path(file)), file
    folder.mkdir()
    copy = shutil.copy(file, folder)
    for generator, run_paths in (("TGZ", wanted), ("DEB", [])):
        subprocess.run([cmake, f"-DCPACK_TEMPORARY_DIRECTORY={folder}",
                        f"-DCPACK_GENERATOR={generator}",
                        "-DCPACK_KITH_RUN_PATH=" + ":".join(wanted), "-P",
                        str(source / "cmake/KithPackageRunPath.cmake")],
                       check=True)
        assert run_path(pathlib.Path(copy)) == run_paths, generator


def main(cmake, build, source):
    build, source = (pathlib.Path(path).resolve() for path in (build, source))
    assert not is_safe("") and not is_safe("lib") and not is_safe("$ORIGINAL")
    count = check_folder(build)
    assert count >= 2, count
    program = build / "kith"
    if os.access(program, os.X_OK):
        check_forged(program, build)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_installed(cmake, build, folder / "installed")
        check_package_script(cmake, build, source, folder / "package")
    print(f"{count} files of {build} and those installed look for libraries in "
          "absolute folders and beside themselves")


if __name__ == "__main__":
    main(*sys.argv[1:])
