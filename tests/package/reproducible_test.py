"""The Debian package has the same bytes whoever packs it, and when; and holds
nothing of where it was built. scripts/reproduce compiles twice, too.

usage: reproducible_test.py CPACK BUILD_FOLDER SOURCE_FOLDER

Exit status 77 (skipped) where there is no dpkg.
"""

import os
import pathlib
import sys
import tempfile

from deb_test import make_package, output_of, skip_without_tools

DATE = "1234567890"  # 2009-02-13 23:31:30 UTC


def pack(cpack, build, folder, **environment):
    folder.mkdir()
    before = dict(os.environ)
    old = os.umask(0o022)  # the archive has it
    try:
        os.environ.update(environment)
        return make_package(cpack, build, folder)
    finally:
        os.umask(old)
        os.environ.clear()
        os.environ.update(before)


def check_dates(package):
    listed = output_of("dpkg-deb", "-c", package,
                       env={**os.environ, "TZ": "UTC"}).splitlines()
    assert len(listed) > 100, listed
    for line in listed:
        assert " 2009-02-13 23:31 " in line, line
        assert " root/root " in line, line


def check_no_paths(root, folders):
    for path in root.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        for folder in folders:
            assert os.fsencode(folder) + b"/" not in data, (
                path.relative_to(root), "names", folder)


def main(cpack, build, source):
    skip_without_tools()
    build, source = pathlib.Path(build), pathlib.Path(source)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        one = pack(cpack, build, scratch / "one", TZ="UTC",
                   LC_ALL="C", SOURCE_DATE_EPOCH=DATE)
        two = pack(cpack, build, scratch / "two", TZ="Asia/Tokyo",
                   LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH=DATE)
        assert one.name == two.name, (one, two)
        assert one.read_bytes() == two.read_bytes(), (
            "two packages of one build differ")
        check_dates(one)
        output_of("dpkg-deb", "-x", one, scratch / "root")
        check_no_paths(scratch / "root", {build, source, build.resolve(),
                                          source.resolve()})
        print(f"{one.name}: {one.stat().st_size} bytes, twice the same")


if __name__ == "__main__":
    main(*sys.argv[1:])
