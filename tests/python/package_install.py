"""Installs the package into a fresh virtual environment with pip, of libraries
that are built already. The tests of the package use it.

usage: PYTHONPATH=SOURCE/python KITH_OPS_LIBRARY=FILE
           python3 package_install.py ENVIRONMENT SOURCE BUILD

Exit status 77 (skipped) without a Python that has the torch of the libraries
and pip; in CI (CI=true) there must be one.
"""

import importlib.util
import os
import pathlib
import shutil
import site
import subprocess
import sys

import find_python

find_python.need("torch", "kith")


def lacks(*modules):
    """Looked for, not imported: setuptools wants to be the first."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


def main(environment, source, build):
    if lacks("pip", "setuptools", "venv"):
        print(f"skipped: {sys.executable} has no "
              + ", ".join(lacks("pip", "setuptools", "venv")))
        return 1 if os.environ.get("CI") == "true" else find_python.SKIPPED
    environment = pathlib.Path(environment)
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages",
                    "--without-pip", environment], check=True)
    python = environment / "bin/python"
    clean = {key: value for key, value in os.environ.items()
             if key not in ("PYTHONPATH", "KITH_OPS_LIBRARY")}

    def run(*words, **options):
        return subprocess.run([python, *words], env=clean, **options)

    # The site of an environment that this Python is in itself is not the
    # system's.
    if run("-c", "import pip, setuptools, torch",
           stderr=subprocess.DEVNULL).returncode != 0:
        folder, = environment.glob("lib/python*/site-packages")
        (folder / "parent.pth").write_text("\n".join(site.getsitepackages()))
    clean["KITH_BUILD"] = build
    done = run("-m", "pip", "install", "--no-build-isolation", "--no-index",
               "--disable-pip-version-check",
               str(pathlib.Path(source) / "python"))
    if done.returncode == 0:
        done = run("-c", "import kith, torch; print(kith.LIBRARY, 'with torch',"
                   " torch.__version__)", cwd=environment)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
