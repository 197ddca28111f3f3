"""`kith serve` while its indexes change, and with several.

usage: KITH_PROGRAM=kith python3 serve_live_test.py [OPTION of unittest]...
"""

import unittest

from serve_client import prepared
from serve_live import (  # noqa: F401
    Approximate,
    Changing,
    Reloading,
    Several,
)

if __name__ == "__main__":
    with prepared():
        unittest.main()
