"""Builds kith's libraries with CMake, against the torch of this Python, and
puts them into the package.

    pip install --no-build-isolation ./python

Environment:
    CXX          the compiler.
    CMAKE_ARGS   more arguments of cmake, such as "-D KITH_CUDA=OFF".
    KITH_BUILD   a folder where CMake has built the target kith_ops already,
                 relative to the checkout: its libraries are taken.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CMAKE_FILE = ROOT / "CMakeLists.txt"

if not CMAKE_FILE.is_file() or "project(kith" not in CMAKE_FILE.read_text():
    sys.exit(f"{HERE} is not the folder 'python' of a checkout of kith: the "
             "package is built from the checkout")
try:
    import torch
except ImportError as error:
    sys.exit(f"kith is built against the torch of this Python, and {error}: "
             "install torch, then pip install --no-build-isolation ./python")

VERSION = re.search(r"project\(kith VERSION (\S+)", CMAKE_FILE.read_text())[1]
TORCH = torch.__version__.split("+")[0]
BUILT = os.environ.get("KITH_BUILD")
BUILD = ROOT / (BUILT or f"build/pip-torch-{TORCH}")
# Nothing is written beside the sources.
SCRATCH = BUILD / "pip"


def run(*command, **options):
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    if subprocess.run(words, check=False, **options).returncode != 0:
        sys.exit(f"{words[0]} failed, see above")


def cached(name):
    """What the build folder's cache says, or an empty string."""
    cache = BUILD / "CMakeCache.txt"
    text = cache.read_text() if cache.is_file() else ""
    found = re.search(rf"^{name}:[A-Z]*=(.*)$", text, re.M)
    return found[1] if found else ""


def configure():
    env = dict(os.environ)
    compiler = env.get("CXX", "")
    if compiler:
        env.setdefault("CUDAHOSTCXX", compiler)
    arguments = ["-S", ROOT, "-B", BUILD]
    if not cached("CMAKE_GENERATOR") and shutil.which("ninja"):
        arguments += ["-G", "Ninja"]
    before = cached("CMAKE_CXX_COMPILER")
    if compiler and before and before != shutil.which(compiler):
        arguments.append("--fresh")
    options = {"CMAKE_BUILD_TYPE": "Release",
               "CMAKE_PREFIX_PATH": torch.utils.cmake_prefix_path,
               "KITH_BUILD_PYTHON": "ON"}
    # What the package has no use for.
    for name in ("BUILD_CLI", "BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCH",
                 "WITH_FAISS", "WITH_GLOO", "WITH_NCCL", "WITH_MPI"):
        options["KITH_" + name] = "OFF"
    for name, value in options.items():
        arguments += ["-D", f"{name}={value}"]
    arguments += shlex.split(env.get("CMAKE_ARGS", ""))
    run("cmake", *arguments, env=env)


def build_libraries():
    if BUILT:
        if not (BUILD / "CMakeCache.txt").is_file():
            sys.exit(f"KITH_BUILD is {BUILT}, but {BUILD} is not a build folder "
                     "of CMake")
        return
    configure()
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count()
    run("cmake", "--build", BUILD, "--target", "kith_ops", "--parallel", jobs)


class BuildWithLibraries(build_py):
    def run(self):
        package = pathlib.Path(self.build_lib).resolve() / "kith"
        shutil.rmtree(package, ignore_errors=True)  # of an earlier version
        super().run()
        build_libraries()
        run("cmake", "--install", BUILD, "--component", "wheel",
            "--prefix", package)
        # Imports the package: a torch that does not fit is found here.
        run(sys.executable, HERE / "make_stubs.py", package,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


class WithLibraries(Distribution):
    """For this Python and machine alone."""

    def has_ext_modules(self):
        return True


SCRATCH.mkdir(parents=True, exist_ok=True)
setup(
    version=VERSION,
    install_requires=["torch==" + ".".join(TORCH.split(".")[:2]) + ".*"],
    distclass=WithLibraries,
    cmdclass={"build_py": BuildWithLibraries},
    options={"build": {"build_base": str(SCRATCH)},
             "egg_info": {"egg_base": str(SCRATCH)}},
)
