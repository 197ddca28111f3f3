"""What `kith train` shows on a terminal and in a log, and how its threads wait.

usage: KITH_PROGRAM=kith python3 terminal_test.py [OPTION of unittest]...
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
import unittest

PROGRAM = os.environ["KITH_PROGRAM"]
SECONDS = 120  # a training takes a few

CONFIG = """
data: {name: glyphs, classes: 24, per_class: 40}
sampler: {batch: 16, per_class: 4}
train: {epochs: 2}
eval: {every: 1}
"""

BAR = re.compile(r"^epoch \d/2 \[(#*) *\]")


def environment(**more):
    """That of the test without what the program would heed."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("TERM", "NO_COLOR", "OMP_WAIT_POLICY",
                            "GOMP_SPINCOUNT", "LC_CTYPE", "LANG")}
    return {**kept, "LC_ALL": "C", "OMP_NUM_THREADS": "1", **more}


class Training:
    """A training in a folder of its own."""

    def __init__(self, folder):
        config = pathlib.Path(folder, "c.yaml")
        config.write_text(CONFIG)
        self.command = [PROGRAM, "train", str(config), "--out",
                        str(pathlib.Path(folder, "run")), "--device", "cpu",
                        "--threads", "1"]

    def on_terminal(self, columns, resize=None, **variables):
        """What it writes to standard error, a terminal. `resize` is called with
        a function that sets the columns, and all that came so far."""
        master, slave = pty.openpty()

        def set_columns(count):
            fcntl.ioctl(slave, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 24, count, 0, 0))

        set_columns(columns)
        child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=slave,
                                 env=environment(**variables))
        text, end = b"", time.monotonic() + SECONDS
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                text += os.read(master, 65536)
                if resize:
                    resize(set_columns, text.decode())
            elif child.poll() is not None:
                break
        else:
            child.kill()
        assert child.wait() == 0, text.decode()
        os.close(slave)
        os.close(master)
        return text.decode()

    def in_log(self):
        return subprocess.run(self.command, check=True, text=True,
                              timeout=SECONDS, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, env=environment(),
                              stderr=subprocess.PIPE).stderr


def drawings(text):
    """The lines that were drawn in place of each other."""
    return [part.split("\x1b[K")[0] for part in text.split("\r")
            if part.startswith("epoch ") and "\x1b[K" in part]


class Shown(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.training = Training(folder.name)

    def check_bar(self, columns, **variables):
        text = self.training.on_terminal(columns, TERM="xterm", **variables)
        drawn = drawings(text)
        self.assertTrue(drawn, text)
        for line in drawn:
            self.assertLess(len(line), columns)
        lengths = [len(match[1]) for match in map(BAR.match, drawn) if match]
        self.assertGreaterEqual(len(set(lengths)), 3, drawn)
        last = [line for line in drawn if line.startswith("epoch 2/2 [")][-1]
        self.assertIn("loss ", last)
        self.assertRegex(text, r"epoch 2/2  30 in \d+:\d\d")
        self.assertNotIn("\x1b[3", text)  # no colours
        return drawn

    def test_the_bar_moves_at_60_columns(self):
        self.assertRegex("\n".join(self.check_bar(60)), "left")

    def test_the_bar_moves_at_80_columns(self):
        self.assertRegex("\n".join(self.check_bar(80, NO_COLOR="1")),
                         r"loss \d\.\d{4}  \S+ images/s  \d+:\d\d left")

    def test_the_bar_moves_at_120_columns(self):
        self.assertRegex(
            "\n".join(self.check_bar(120)),
            r"lr 1\.0e-03  recall_any@1 \d+\.\d\d% \(epoch 1\)  \S+ images/s")

    def test_the_bar_follows_the_window(self):
        places = []

        def resize(set_columns, text):
            if not places and "\repoch 1/2 [#" in text:
                set_columns(50)
                places.append(len(text))

        text = self.training.on_terminal(120, resize, TERM="xterm")
        after = drawings(text[places[0]:])
        # One may have been drawn between the last reading and the resizing.
        self.assertTrue(after[1:], text)
        for line in after[1:]:
            self.assertLess(len(line), 50)
        self.assertTrue(any(BAR.match(line) for line in after[1:]), after)

    def check_log(self, text):
        self.assertNotIn("\x1b", text)
        self.assertNotIn("[#", text)
        self.assertEqual(text.count("from defaults: "), 1, text)
        lines = re.findall(r"^\d\d:\d\d:\d\d epoch (\d)/2  30/30  mean loss "
                           r"\d\.\d{4}  lr 1\.0e-03  (.*)$", text, re.M)
        self.assertEqual([epoch for epoch, _ in lines], ["1", "2"], text)
        self.assertRegex(
            lines[0][1],
            r"^recall_any@1 \S+% \(epoch 0\)  \S+ images/s  \d+:\d\d left$")
        self.assertRegex(lines[1][1],
                         r"^recall_any@1 \S+% \(epoch 1\)  \S+ images/s$")

    def test_a_log_has_a_line_for_each_epoch(self):
        self.check_log(self.training.in_log())

    def test_a_dumb_terminal_has_the_log(self):
        text = self.training.on_terminal(80, TERM="dumb")
        self.check_log(text.replace("\r\n", "\n"))


class Waiting(unittest.TestCase):
    """GCC's OpenMP prints how it waits; others are not asked."""

    def settings(self, **variables):
        text = subprocess.run(
            [PROGRAM, "--version"], check=True, text=True, timeout=SECONDS,
            env=environment(OMP_DISPLAY_ENV="verbose", **variables),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        found = dict(re.findall(r"(\w+) = '([^']*)'", text))
        if "GOMP_SPINCOUNT" not in found:
            self.skipTest("the OpenMP of LibTorch is not GCC's")
        return found

    def test_threads_spin_for_a_moment_only(self):
        found = self.settings()
        self.assertEqual(found["OMP_WAIT_POLICY"], "PASSIVE")
        self.assertEqual(found["GOMP_SPINCOUNT"], "1000")

    def test_what_the_user_says_counts(self):
        found = self.settings(OMP_WAIT_POLICY="active")
        self.assertEqual(found["OMP_WAIT_POLICY"], "ACTIVE")
        self.assertGreater(int(found["GOMP_SPINCOUNT"]), 1000)
        self.assertEqual(self.settings(GOMP_SPINCOUNT="77")["GOMP_SPINCOUNT"],
                         "77")


if __name__ == "__main__":
    unittest.main()
