"""Walks a page of the docs: types its commands and reads what they print.

A journey is the first code block below a heading. A line that begins with "$ " is a
command, typed in a shell as it stands; the lines below it are a sample of what it
prints. Three things are the reader's part, and done here:

- `$ cat FILE` of a file that is not there: the reader writes it, as printed.
- A command that ends in `# Ctrl-C` or `# killed` is stopped so when it has
  trained a few steps.
- `kith serve` goes on beside the others until the journey ends, and then is
  stopped with Ctrl-C. It gets a free port in place of 8080, here and in the
  commands that follow.

Lines of a sample must be printed, in this order; "..." stands for anything, and
any number for any other, since data and machines differ.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

PORT = "8080"
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
SIGNALS = {"Ctrl-C": signal.SIGINT, "killed": signal.SIGKILL}


def block_below(page, heading):
    """The lines of the first code block below a heading of a page."""
    found, inside, fence = None, False, False
    for line in page.read_text(encoding="utf-8").split("\n"):
        if line.startswith("```"):
            if found is not None:
                return found
            fence = not fence
            if fence and inside:
                found = []
        elif found is not None:
            found.append(line)
        elif not fence and line.startswith("#"):
            inside = line.lstrip("#").strip() == heading
    raise AssertionError(f"{page}: no code below the heading '{heading}'")


def steps_of(block):
    """(command, lines printed) of each command of a block."""
    steps = []
    for line in block:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return steps


def pattern_of(line):
    """What a printed line looks like, whatever its numbers are."""
    words = [NUMBER.sub("0", word) for word in line.split()]
    return " ".join(words)


def looks_like(sample, line):
    pieces = [re.escape(piece) for piece in pattern_of(sample).split("...")]
    return re.fullmatch(".*".join(pieces), pattern_of(line)) is not None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Walk:
    """A walk in `folder`, with the program under its name in the path."""

    def __init__(self, folder, program, seconds=300):
        self.folder = pathlib.Path(folder)
        self.seconds = seconds
        self.port = free_port()
        self.server = None
        self.output = {}  # by command, as printed in the docs
        # As `kith`, and as the README calls it, in the folder of the sources.
        tools = self.folder / "build" / "release"
        tools.mkdir(parents=True)
        (tools / "kith").symlink_to(program)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8",
                            "PATH": f"{tools}:{os.environ['PATH']}"}
        self.environment.pop("KITH_TOKEN", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.kill()
            self.server.communicate()

    def go(self, page, heading, after=lambda walk, command: None):
        """Types all commands below a heading; `after` is called after each."""
        for command, sample in steps_of(block_below(page, heading)):
            self.type(command, sample)
            after(self, command)
        self.stop_server()

    def type(self, command, sample):
        file = re.fullmatch(r"cat (\S+)", command)
        if file and not (self.folder / file[1]).exists():
            (self.folder / file[1]).write_text("\n".join(sample) + "\n")
            return
        text, _, remark = command.partition("#")
        text = text.replace(PORT, self.port).strip()
        if re.search(r"\bkith serve\b", text):
            printed = self.start_server(text.rstrip("& "))
        elif remark.strip() in SIGNALS:
            printed = self.stop_early(text, SIGNALS[remark.strip()])
        else:
            done = subprocess.run(["bash", "-c", text], cwd=self.folder,
                                  env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT,
                                  timeout=self.seconds)
            printed = done.stdout
            assert done.returncode == 0, f"$ {text}\n{printed}"
        self.output[command] = printed
        self.compare(text, sample, printed.split("\n"))

    def compare(self, text, sample, printed):
        rest = iter(printed)
        for wanted in filter(str.strip, sample):
            if not any(looks_like(wanted, line) for line in rest):
                raise AssertionError(
                    f"$ {text}\nThe docs say that it prints\n  {wanted}\nbut "
                    "it printed\n  " + "\n  ".join(printed))

    def start_server(self, text):
        if PORT not in text and self.port not in text:
            text += f" --port {self.port}"
        # exec: the signal must reach the program, not a shell.
        self.server = subprocess.Popen(["bash", "-c", "exec " + text],
                                       cwd=self.folder, text=True,
                                       env=self.environment,
                                       stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
        lines = []
        for line in self.server.stdout:
            lines.append(line)
            if f":{self.port}/" in line:
                return "".join(lines)
        raise AssertionError(f"$ {text}\n" + "".join(lines))

    def stop_server(self):
        if self.server is None:
            return
        self.server.send_signal(signal.SIGINT)
        assert self.server.wait(timeout=30) == 0, self.server.stdout.read()
        self.server.stdout.close()
        self.server = None

    def stop_early(self, text, how):
        """Runs a training until its log has a few steps more, then a signal."""
        run = self.folder / re.search(r"--out (\S+)", text)[1]
        steps = self.steps_in(run)
        child = subprocess.Popen(["bash", "-c", "exec " + text],
                                 cwd=self.folder, env=self.environment,
                                 text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        end = time.monotonic() + self.seconds
        while self.steps_in(run) < steps + 5 and child.poll() is None:
            assert time.monotonic() < end, f"$ {text}\ndoes not train"
            time.sleep(0.01)
        child.send_signal(how)
        printed = child.communicate(timeout=self.seconds)[0]
        wanted = 130 if how == signal.SIGINT else -how
        assert child.returncode == wanted, f"$ {text}\n{printed}"
        return printed

    @staticmethod
    def steps_in(run):
        log = run / "log.jsonl"
        return log.read_bytes().count(b"\n") if log.exists() else 0
