#!/usr/bin/env python3
"""kith serve under good, bad and hostile clients, while its index changes."""

import argparse
import atexit
import collections
import http.client
import json
import os
import pathlib
import random
import re
import signal
import statistics
import sys
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "soak-0123456789abcdef"
MAX_BODY_MB = 1
# What clients that were turned away for a moment are answered.
BUSY = (429, 503)


class World:
    """The server and what all clients know and count."""

    def __init__(self, server, pictures, paths):
        self.server, self.port, self.token = server, server.port, TOKEN
        self.pictures, self.paths, self.count = pictures, paths, len(pictures)
        self.max_body = MAX_BODY_MB << 20
        self.flood = 150
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.seconds = []  # of good requests
        self.answers = collections.Counter()  # of who, with which status
        self.log = []
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()
        self.errors = []

    def read_log(self):
        """All the time: a server whose log is not read waits."""
        self.log.extend(self.server.process.stderr)

    def ask(self, method, target, body, fields):
        """On a connection of its own; status 0 if it was closed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=40)
        try:
            # By hand: http.client would add a second Host.
            connection.putrequest(method, target, skip_host="Host" in fields)
            for name, value in fields.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                try:
                    connection.send(body)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the answer may be there already
            reply = connection.getresponse()
            return reply.status, reply.read()
        except (ConnectionError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def tell(self, who, status):
        with self.lock:
            self.answers[who, status] += 1

    def blame(self, text):
        with self.lock:
            self.errors.append(text)


class Good:
    """Searches and looks at pictures, on a connection that it keeps."""

    def __init__(self, world, seed):
        self.world, self.random = world, random.Random(seed)
        self.connection = None

    def request(self):
        choice = self.random.random()
        i = self.random.randrange(self.world.count)
        if choice < 0.6:
            return ("POST", "/api/search?k=5", self.world.pictures[i],
                    self.check_found)
        if choice < 0.75:
            return "GET", f"/api/items/{i}/similar", None, self.check_found
        if choice < 0.95:
            return "GET", f"/api/items/{i}/image?size=64", None, self.check_jpeg
        return "GET", "/api/info", None, json.loads

    @staticmethod
    def check_found(body):
        found = [each["similarity"] for each in json.loads(body)["results"]]
        if not found or found != sorted(found, reverse=True):
            raise ValueError(f"found {found}")

    @staticmethod
    def check_jpeg(body):
        if not body.startswith(b"\xff\xd8\xff"):
            raise ValueError("no JPEG")

    def turn(self):
        method, target, body, check = self.request()
        fields = {"Authorization": f"Bearer {TOKEN}"}
        if body is not None:
            fields["Content-Type"] = "image/png"
        begin = time.monotonic()
        status, answer = self.exchange(method, target, body, fields)
        passed = time.monotonic() - begin
        self.world.tell("good", status)
        if status == 200:
            check(answer)
            with self.world.lock:
                self.world.seconds.append(passed)
        elif status not in BUSY and not (status == 404 and "items" in target):
            # 404: somebody has removed the item.
            self.world.blame(f"{method} {target}: {status} {answer[:200]!r}")

    def exchange(self, method, target, body, fields):
        """Once more on a new connection where an idle one was closed."""
        for _ in range(3):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    "127.0.0.1", self.world.port, timeout=60)
            try:
                self.connection.request(method, target, body, fields)
                reply = self.connection.getresponse()
                answer = reply.read()
                if reply.will_close:
                    self.connection.close()
                return reply.status, answer
            except (ConnectionError, http.client.HTTPException):
                self.connection.close()
        return 0, b"closed three times"


class Bad:
    """One of the hostile kinds after the other."""

    def __init__(self, world, seed):
        import hostile

        self.world, self.random = world, random.Random(seed)
        self.hostile = hostile

    def turn(self):
        kind = self.random.choice(self.hostile.KINDS)
        try:
            self.world.tell(kind.__name__, kind(self.world, self.random))
        except self.hostile.Unexpected as error:
            self.world.blame(f"{kind.__name__}: {error}")
        except (ConnectionError, TimeoutError):
            self.world.tell(kind.__name__, 0)


class Changer:
    """Adds and removes items as a client, and with kith index."""

    def __init__(self, world, kith, folder):
        self.world, self.kith, self.folder = world, kith, folder
        self.number = 0

    def ask(self, method, target, body=None):
        status, answer = self.world.ask(
            method, target, body, {"Authorization": f"Bearer {TOKEN}",
                                   "Content-Type": "image/png"}
            if body else {"Authorization": f"Bearer {TOKEN}"})
        self.world.tell("changer", status)
        return status, answer

    def must(self, method, target, body=None):
        """Whether it was done; in a flood the connection may be closed."""
        status, answer = self.ask(method, target, body)
        if status not in (200, 201, 0, *BUSY):
            self.world.blame(f"{method} {target}: {status} {answer[:200]!r}")
        return status in (200, 201)

    def turn(self):
        self.number += 1
        name = f"new-{self.number}"
        if self.must("POST", f"/api/items?id={name}",
                     self.world.pictures[self.number % self.world.count]):
            self.must("DELETE", f"/api/items?id={name}")
        if self.number % 5 == 0:
            self.on_disk()
        time.sleep(0.2)

    def on_disk(self):
        """An item goes and comes back, as a user does it."""
        names = self.folder / "one.txt"
        names.write_text(f"{self.world.paths[-1]}\n"
                         f"{self.folder / 'last' / 'last.png'}\n",
                         encoding="utf-8")
        self.run("remove", names, "--from", self.folder / "index")
        self.run("add", self.folder / "run", "--images", self.folder / "last",
                 "--to", self.folder / "index", "--device", "cpu",
                 "--threads", "1")
        self.world.server.process.send_signal(signal.SIGHUP)

    def run(self, *arguments):
        done = self.kith("index", *arguments)
        # While clients change it, it may be locked for a while.
        if done.returncode != 0 and "another process" not in done.stderr:
            self.world.blame(f"kith index {arguments[0]}: {done.stderr}")


def keep_going(world, client):
    while not world.ends.is_set():
        try:
            client.turn()
        except Exception:  # of any kind: it must be seen
            world.blame(traceback.format_exc())
            return


class Watch:
    """Memory, threads and open files of the server, now and then."""

    def __init__(self, process):
        self.folder = pathlib.Path(f"/proc/{process.pid}")
        self.samples = []

    def look(self):
        status = (self.folder / "status").read_text(encoding="ascii")
        number = lambda name: int(re.search(rf"{name}:\s+(\d+)", status)[1])
        self.samples.append((number("VmRSS") / 1024, number("Threads"),
                             len(os.listdir(self.folder / "fd"))))
        return self.samples[-1]

    def middle(self, part):
        """Medians of the first or the last quarter of what was seen."""
        count = max(1, len(self.samples) // 4)
        chosen = self.samples[:count] if part == "first" else (
            self.samples[-count:])
        return [statistics.median(each) for each in zip(*chosen)]


def start(flags, shared, server_of):
    items = pathlib.Path(f"{shared.index}.items.csv").read_text(
        encoding="utf-8").splitlines()[1:]
    paths = [line.split(",")[0] for line in items]
    last = shared.folder / "last"
    last.mkdir()
    (last / "last.png").symlink_to(paths[-1])
    # What comes back has a name of its own; the index is to be as it was.
    server = server_of("--allow-changes", "--max-body-mb", str(MAX_BODY_MB),
                       "--connections", str(flags.connections),
                       "--header-seconds", "2", "--pictures-mb", "64",
                       token=TOKEN)
    return World(server, shared.pictures, paths)


def watch_over(world, flags):
    """Sleeps until the end, with a line now and then. The watch."""
    watch = Watch(world.server.process)
    begin = told = time.monotonic()
    # What is made once (caches, threads, pools) is not growth.
    warm = min(60.0, flags.seconds / 4)
    while (passed := time.monotonic() - begin) < flags.seconds:
        time.sleep(min(1.0, flags.seconds / 20))
        if world.server.process.poll() is not None:
            world.blame("the server has ended")
            return watch
        if passed > warm:
            watch.look()
        if watch.samples and time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"{passed:.0f} s: {len(world.seconds)} good requests, "
                  f"{watch.samples[-1][0]:.0f} MB, "
                  f"{len(world.errors)} errors", flush=True)
    return watch


def check_growth(world, watch, flags):
    """What an hour adds must not be a part of what was there."""
    before, after = watch.middle("first"), watch.middle("last")
    most = [max(each) for each in zip(*watch.samples)]
    for name, *numbers in zip(("memory (MB)", "threads", "open files"), before,
                              after, most):
        print("{}: {:.0f} in the first quarter, {:.0f} in the last, {:.0f} at "
              "most".format(name, *numbers))
    if after[0] > before[0] * 1.1 + 32:
        world.blame(f"memory grew from {before[0]:.0f} to {after[0]:.0f} MB")
    if after[1] > before[1] + 8:
        world.blame(f"threads grew from {before[1]:.0f} to {after[1]:.0f}")
    if after[2] > before[2] + 2 * flags.connections:
        world.blame(f"open files grew from {before[2]:.0f} to {after[2]:.0f}")


def print_times(world):
    times = sorted(world.seconds)
    if not times:
        world.blame("no good request was answered")
        return
    share = lambda part: 1000 * times[min(len(times) - 1,
                                          int(part * len(times)))]
    print(f"good requests: {len(times)}, p50 {share(0.5):.1f} ms, "
          f"p99 {share(0.99):.1f} ms, longest {share(1):.0f} ms")
    turned_away = sum(world.answers["good", status] for status in BUSY)
    print(f"of these turned away for a moment: {turned_away}")
    if turned_away > 0.01 * len(times):
        world.blame(f"{turned_away} good requests were turned away")
    for who in sorted({name for name, _ in world.answers}):
        counts = {status: n for (name, status), n in world.answers.items()
                  if name == who}
        print(f"  {who}: " + ", ".join(
            f"{n} x {status or 'closed'}"
            for status, n in sorted(counts.items())))


def finish(world):
    """The server ends well, and its log tells of nothing bad."""
    process = world.server.process
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    world.reader.join(10)
    if status != 0:
        world.blame(f"the server ended with status {status}: "
                    f"{''.join(world.log[-20:])}")
    for line in world.log:
        if re.search("a connection failed|a request failed|"
                     "of an index failed|Sanitizer", line):
            world.blame(f"the log: {line}")


def soak(flags, client):
    with client.prepared():
        shared = client.shared
        world = start(flags, shared, client.Server)
        atexit.register(world.server.end)  # whatever happens
        clients = [Changer(world, client.kith, shared.folder)]
        for i in range(flags.clients - 1):
            kind = Bad if i % 4 == 3 else Good
            clients.append(kind(world, f"{flags.seed} {i}"))
        threads = [threading.Thread(target=keep_going, args=(world, each),
                                    daemon=True) for each in clients]
        for thread in threads:
            thread.start()
        watch = watch_over(world, flags)
        world.ends.set()
        for thread in threads:
            thread.join(60)
        print(f"{flags.clients} clients, {flags.seconds:.0f} s, "
              f"seed {flags.seed}")
        print_times(world)
        check_growth(world, watch, flags)
        finish(world)
    for error in world.errors[:20]:
        print(f"error: {error}")
    print(f"{len(world.errors)} errors")
    return 1 if world.errors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     usage="scripts/soak PROGRAM [--seconds "
                                     "3600] [--clients 64] [--seed 0]")
    parser.add_argument("program", help="build/release/kith")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--connections", type=int, default=128,
                        help="that the server keeps open; a flood has more")
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    if not os.access(flags.program, os.X_OK):
        parser.error(f"{flags.program} is no program: build kith first")
    os.environ["KITH_PROGRAM"] = os.path.realpath(flags.program)
    sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
    import serve_client

    sys.exit(soak(flags, serve_client))


if __name__ == "__main__":
    main()
