"""Import this before torch: where the Python that runs has none, the Pythons of
KITH_PYTHONS (paths with colons between) are tried next. Exit status 77
(skipped) if none has it; in CI (CI=true) one must.
"""

import os
import sys

SKIPPED = 77

try:
    import numpy
    import torch
except ImportError as reason:
    print(f"{sys.executable}: {reason}", flush=True)
    others = os.environ.get("KITH_PYTHONS", "").split(":")
    others = [path for path in others if os.access(path, os.X_OK)]
    if others:
        os.environ["KITH_PYTHONS"] = ":".join(others[1:])
        os.execv(others[0], [others[0], *sys.argv])
    print("skipped: no Python with torch and NumPy")
    sys.exit(1 if os.environ.get("CI") == "true" else SKIPPED)
