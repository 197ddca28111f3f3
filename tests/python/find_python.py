"""Finds a Python that has what a test needs."""

import importlib
import os
import sys

SKIPPED = 77


def need(*modules):
    """Returns if all modules can be imported. Otherwise the test starts again
    with the next of the Pythons in KITH_PYTHONS (paths with colons between).
    If none has them it is skipped (exit status 77); in CI (CI=true) one must.
    """
    try:
        for module in modules:
            importlib.import_module(module)
        return
    except ImportError as reason:
        print(f"{sys.executable}: {reason}", flush=True)
    others = os.environ.get("KITH_PYTHONS", "").split(":")
    others = [path for path in others if os.access(path, os.X_OK)]
    if others:
        os.environ["KITH_PYTHONS"] = ":".join(others[1:])
        os.execv(others[0], [others[0], *sys.argv])
    print("skipped: no Python with " + ", ".join(modules))
    sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
