"""The Debian package: made by CPack, looked into, unpacked and used.

usage: deb_test.py CPACK BUILD_FOLDER VERSION

Nothing is installed: the package is unpacked into a temporary folder, and the
program is run from there. Exit status 77 (skipped) where there is no dpkg.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from run_path_test import is_elf, run_path

SKIPPED = 77
TOOLS = ("dpkg-deb", "dpkg-shlibdeps", "file", "ldd")

# Paths in the package, the library's folder apart.
FILES = ["usr/bin/kith", "usr/include/kith/kith.h",
         "usr/share/kith/recipes/glyphs.yaml",
         "usr/share/doc/kith/copyright", "usr/share/doc/kith/kith.cdx.json",
         "usr/share/doc/kith/examples/embed_one_image.cpp",
         "usr/share/doc/kith/examples/embed_one_image.py",
         "usr/lib/systemd/system/kith-serve@.service",
         "usr/share/bash-completion/completions/kith",
         "usr/share/zsh/site-functions/_kith",
         "usr/share/fish/vendor_completions.d/kith.fish"]
IN_LIBRARY_FOLDER = ["libkith.so", "libkith_base.so", "libkith_program.so",
                     "cmake/kith/kithConfig.cmake",
                     "cmake/kith/kithTargets.cmake"]

CONFIG = """
data: {name: glyphs, classes: 8, per_class: 4}
sampler: {batch: 8, per_class: 4}
model:
  input: {size: 16}
  backbone: {name: convnet, width: 4}
  head: {dim: 6}
train: {epochs: 1}
"""


def output_of(*command, **options):
    result = subprocess.run([str(word) for word in command], text=True,
                            stdout=subprocess.PIPE, check=False, **options)
    assert result.returncode == 0, (command, result.returncode, result.stdout)
    return result.stdout


def commands_of(program):
    listed = output_of(program, "--help").split("\nSubcommands:\n")[1]
    return re.findall(r"^  ([a-z][a-z_-]*)", listed.split("\n\n")[0], re.M)


def make_package(cpack, build, folder, generator="DEB", ending="deb"):
    print(output_of(cpack, "-G", generator, "--config",
                    build / "CPackConfig.cmake", "-B", folder, cwd=build))
    packages = list(folder.glob("*." + ending))
    assert len(packages) == 1, packages
    return packages[0]


def check_control(package, version, folder):
    fields = {}
    for line in output_of("dpkg-deb", "-f", package).splitlines():
        if ": " in line and not line.startswith(" "):
            key, value = line.split(": ", 1)
            fields[key] = value
    assert fields["Package"] == "kith", fields
    assert fields["Version"] == version, fields
    assert fields["Description"].startswith("deep metric learning"), fields
    depends = fields["Depends"]
    for name in ("libc6", "libjpeg", "libpng", "libyaml-cpp"):
        assert name in depends, (name, depends)
    # Nothing is run at installation but ldconfig, which CPack adds itself: in
    # scripts, or in newer versions as a trigger.
    output_of("dpkg-deb", "-e", package, folder)
    for path in folder.iterdir():
        if path.name in ("control", "md5sums"):
            continue
        lines = path.read_text("utf-8").split("\n")
        if path.name == "triggers":
            triggers = {line.strip() for line in lines
                        if line.strip() and not line.startswith("#")}
            assert triggers == {"activate-noawait ldconfig"}, triggers
            continue
        commands = {line.strip() for line in lines
                    if line.strip() and not line.startswith(("#!", "if "))}
        assert commands == {"set -e", "ldconfig", "fi"}, (path, commands)
    return depends


def check_installable(package):
    """apt finds every dependency. It only says what it would do."""
    if shutil.which("apt-get") is None:
        return
    check = subprocess.run(["apt-get", "check"], capture_output=True,
                           check=False)
    if check.returncode != 0:
        print("apt-get check fails on this machine: not asked about kith")
        return
    said = output_of("apt-get", "install", "-s", "--no-install-recommends",
                     package)
    assert re.search(r"^Inst kith ", said, re.M), said


def check_manual(root, commands):
    """Every command has a page, and nothing in them is taken for roff."""
    folder = root / "usr/share/man/man1"
    assert commands and "train" in commands, commands
    assert {path.name for path in folder.iterdir()} == {"kith.1"} | {
        f"kith-{command}.1" for command in commands}
    overview = (folder / "kith.1").read_text("utf-8")
    for command in commands:
        assert f"\n.BR kith\\-{command} (1)" in overview, command
    for command, text in (("index", "\\-\\-overwrite"),
                          ("data", "\n.SS kith data make\n"),
                          ("plot", "\n.SS kith plot class\\-means\n")):
        page = (folder / f"kith-{command}.1").read_text("utf-8")
        assert text in page, (command, text)
    for page in folder.iterdir():
        check_page(page)


def check_page(page):
    lines = page.read_text("utf-8").splitlines()
    assert not any(line.startswith("'") for line in lines), page
    # What apropos shows.
    summary = lines[lines.index(".SH NAME") + 1]
    assert re.fullmatch(page.stem.replace("-", r"\\-") + r" \\- \S.*",
                        summary), summary
    if shutil.which("groff") is None:
        return
    result = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", page],
                            text=True, capture_output=True, check=False)
    faults = [line for line in result.stderr.splitlines()
              if "cannot break line" not in line
              and "can't break line" not in line]  # options are long
    assert result.returncode == 0 and not faults, (page, faults)


def check_copyright(root):
    """The licences of what is compiled in."""
    text = (root / "usr/share/doc/kith/copyright").read_text("utf-8")
    for name in ("faiss", "gloo", "nlohmann-json", "CLI11", "Boost"):
        assert f"\nFiles: {name}\n" in text, name
    used = set(re.findall(r"^License: (\S+)$", text, re.M))
    for name in used:
        assert f"\nLicense: {name}\n " in text, (name, "has no text")


def check_files(root):
    names = [path.relative_to(root).as_posix()
             for path in root.rglob("*") if not path.is_dir()]
    folder = next(root.rglob("libkith.so")).parent.relative_to(root)
    for name in FILES + [(folder / tail).as_posix()
                         for tail in IN_LIBRARY_FOLDER]:
        assert name in names, (name, "is not in the package")
    for name in names:
        assert name.startswith("usr/"), (name, "lies outside /usr")


def check_run_paths(root):
    """No file says where libraries are: neither where kith was built nor where
    this machine has its LibTorch."""
    paths = [path for path in root.rglob("*") if is_elf(path)]
    assert len(paths) >= 4, paths
    for path in paths:
        assert run_path(path) == [], (path, run_path(path))


def torch_folder(build):
    """Where LibTorch is that the package does not depend on, such as pip's."""
    for line in output_of("ldd", build / "libkith_program.so").splitlines():
        if line.strip().startswith("libtorch.so => "):
            path = line.split()[2]
            return None if path.startswith(("/lib", "/usr")) else (
                str(pathlib.Path(path).parent))
    return None


def check_program(root, depends, scratch, torch):
    program = root / "usr/bin/kith"
    # Installed, they would be where the loader looks.
    libraries = next(root.rglob("libkith.so")).parent
    clean = {**os.environ, "LD_LIBRARY_PATH": ":".join(
        [str(libraries)] + ([torch] if torch is not None else []))}

    def kith(*arguments):
        return output_of(program, *arguments, env=clean, cwd=scratch)

    libraries = {line.split()[0]: line.split()[2]
                 for line in output_of(
                     "ldd", next(root.rglob("libkith_program.so")),
                     env=clean).splitlines()
                 if "=>" in line and "not found" not in line}
    assert pathlib.Path(libraries["libkith.so"]).resolve().is_relative_to(
        root.resolve()), libraries["libkith.so"]
    for name, path in libraries.items():
        if name.startswith("libtorch") and path.startswith(("/lib", "/usr")):
            assert "libtorch" in depends, depends
    assert kith("--version").startswith("kith "), "version"
    assert "recall_at_k" in kith("list", "losses")
    recipe = json.loads(kith("list", "recipes", "--json"))["recipes"][0]
    assert pathlib.Path(recipe["path"]).resolve().is_relative_to(
        root.resolve() / "usr/share/kith/recipes"), recipe
    (scratch / "tiny.yaml").write_text(CONFIG, "utf-8")
    kith("train", "tiny.yaml", "--out", "run", "--device", "cpu")
    assert (scratch / "run/metrics.json").exists()
    kith("export", "run", "--out", "exported")
    assert (scratch / "exported/model.json").exists()


def check_archive(archive, folder, torch):
    """It can be unpacked anywhere."""
    folder.mkdir()
    output_of("tar", "-xf", archive, "-C", folder)
    program = next(folder.glob("*/usr/bin/kith"))
    assert run_path(program)[0].startswith("$ORIGIN"), run_path(program)
    environment = {key: value for key, value in os.environ.items()
                   if key != "LD_LIBRARY_PATH"}
    if torch is not None:
        environment["LD_LIBRARY_PATH"] = torch
    said = output_of(program, "--version", env=environment)
    assert said.startswith("kith "), said


def skip_without_tools():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print("skipped: no " + ", ".join(missing))
        sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)


def main(cpack, build, version):
    skip_without_tools()
    build = pathlib.Path(build)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = make_package(cpack, build, folder / "made")
        depends = check_control(package, version, folder / "control")
        output_of("dpkg-deb", "-x", package, folder / "root")
        check_installable(package)
        check_files(folder / "root")
        check_manual(folder / "root", commands_of(build / "kith"))
        check_copyright(folder / "root")
        check_run_paths(folder / "root")
        (folder / "scratch").mkdir()
        check_program(folder / "root", depends, folder / "scratch",
                      torch_folder(build))
        check_archive(make_package(cpack, build, folder / "archive", "TGZ",
                                   "tar.gz"),
                      folder / "unpacked", torch_folder(build))
    print(f"{package.name}: depends on {depends}")


if __name__ == "__main__":
    main(*sys.argv[1:])
