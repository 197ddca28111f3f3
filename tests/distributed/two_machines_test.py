#!/usr/bin/env python3
"""Trains on two machines that a cable joins: network namespaces of this one.

usage: two_machines_test.py PATH/kith CASE

Each has a loopback and an address of its own, and names are not found. Exit
status 0: as it should be; 1: not; 77: this build or machine cannot do it.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from ranks_test import CLEAN, SLOW, expect, skip  # noqa: E402

PROGRAM = ""
PORT = "29511"
ADDRESS = ["10.77.0.1", "10.77.0.2"]
CARD = ["kith0", "kith1"]
CONFIG = """
data: {name: glyphs, classes: 12, per_class: 8}
sampler: {batch: 16, per_class: 4}
augment: [{name: affine, degrees: 10, translate: 0.1}]
model:
  input: {size: 16}
  backbone: {name: convnet, width: 8}
  head: {dim: 16}
train: {epochs: 4, lanes: 2, sub_batch: 4}
"""


def need_namespaces():
    for program in ("unshare", "nsenter", "ip"):
        if not shutil.which(program):
            skip(f"there is no {program} (Debian: util-linux, iproute2)")
    if os.geteuid() != 0 and "KITH_TEST_IS_ROOT" not in os.environ:
        probe = subprocess.run(["unshare", "--map-root-user", "true"],
                               capture_output=True, check=False)
        if probe.returncode != 0:
            skip("this user may not make namespaces")
        os.environ["KITH_TEST_IS_ROOT"] = "1"
        os.execvp("unshare", ["unshare", "--map-root-user", sys.executable,
                              *sys.argv])
    probe = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "name", CARD[0], "type",
         "veth", "peer", "name", CARD[1]],
        capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        skip(f"no network namespaces here: {probe.stderr.strip()}")


class Machines:
    """Two namespaces without names. They go with the processes that hold them,
    which end when this one does, however it ends."""

    def __enter__(self):
        self.holders = [subprocess.Popen(["unshare", "--net", "cat"],
                                         stdin=subprocess.PIPE)
                        for _ in range(2)]
        self.ranks = []
        own = os.readlink("/proc/self/ns/net")
        for holder in self.holders:
            path = f"/proc/{holder.pid}/ns/net"
            end = time.monotonic() + SLOW
            while os.readlink(path) == own:
                if time.monotonic() > end:
                    sys.exit("FAILED: no namespace")
                time.sleep(0.01)
        self.call(0, "ip", "link", "add", "name", CARD[0], "type", "veth",
                  "peer", "name", CARD[1], "netns", str(self.holders[1].pid))
        for at in (0, 1):
            self.call(at, "ip", "link", "set", "lo", "up")
            self.call(at, "ip", "addr", "add", ADDRESS[at] + "/24", "dev",
                      CARD[at])
            self.call(at, "ip", "link", "set", CARD[at], "up")
        return self

    def __exit__(self, *_):
        for process in self.ranks:
            process.kill()
            process.wait()
        for holder in self.holders:
            holder.stdin.close()
            holder.wait()

    def enter(self, at):
        return ["nsenter", f"--net=/proc/{self.holders[at].pid}/ns/net"]

    def call(self, at, *command):
        subprocess.run([*self.enter(at), *command], check=True)

    def start(self, at, run, folder, *more, address=ADDRESS[0], **variables):
        place = {"RANK": str(at), "WORLD_SIZE": "2", "LOCAL_RANK": "0",
                 "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": address,
                 "MASTER_PORT": PORT}
        rank = subprocess.Popen(
            [*self.enter(at), *training(run, folder), *more],
            env={**CLEAN, **place, **variables}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.ranks.append(rank)
        return rank

    def connections(self, at):
        """To the store, from another machine."""
        rows = [line.split() for kind in ("tcp", "tcp6") for line in contents(
            f"/proc/{self.holders[at].pid}/net/{kind}").decode().splitlines()]
        return sum(row[2].endswith(f":{int(PORT):04X}") and row[3] == "01"
                   for row in rows)

    def cut(self, at):
        """The cable is pulled out: the system of `at` knows, the other sees
        no more than that there is no carrier."""
        self.call(at, "ip", "link", "set", CARD[at], "down")

    def lose(self):
        """What is sent arrives nowhere, and neither knows."""
        for at in (0, 1):
            self.call(at, "ip", "neigh", "replace", ADDRESS[1 - at], "lladdr",
                      "02:00:00:00:00:99", "dev", CARD[at], "nud", "permanent")


def training(run, folder):
    config = os.path.join(folder, "tiny.yaml")
    with open(config, "w", encoding="ascii") as file:
        file.write(CONFIG)
    return [PROGRAM, "train", config, "--out", os.path.join(folder, run),
            "--device", "cpu", "--threads", "1"]


def contents(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def log_of(run):
    """Without times."""
    records = [json.loads(line) for line in contents(run, "log.jsonl").split(
        b"\n") if line]
    return [{key: value for key, value in record.items()
             if key not in ("seconds", "peak_mb")} for record in records]


def tensors_of(run, name):
    data = contents(run, "checkpoints", name + ".safetensors")
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {key: (entry["dtype"], entry["shape"],
                  data[8 + length:][slice(*entry["data_offsets"])])
            for key, entry in header.items()}


def expect_same(one, two):
    if contents(one, "metrics.json") != contents(two, "metrics.json"):
        sys.exit("FAILED: other metrics")
    if not log_of(one) or log_of(one) != log_of(two):
        sys.exit("FAILED: another log")
    for name in ("last", "best"):
        if tensors_of(one, name) != tensors_of(two, name):
            sys.exit(f"FAILED: other tensors in {name}")


def ends_of(ranks, wait=SLOW):
    outputs = []
    for at, rank in enumerate(ranks):
        try:
            outputs.append(rank.communicate(timeout=wait)[0])
        except subprocess.TimeoutExpired:
            sys.exit(f"FAILED: rank {at} has not ended after {wait} s")
    return outputs


def train(machines, folder):
    """Two machines leave the bytes of one."""
    ranks = [machines.start(at, "two", folder) for at in (1, 0)]
    outputs = ends_of(ranks)
    for rank, output in zip(ranks, outputs):
        expect(output, status=rank.returncode, wanted=0)
    subprocess.run(training("one", folder), env=CLEAN, check=True,
                   stdout=subprocess.DEVNULL, timeout=SLOW)
    expect_same(os.path.join(folder, "one"), os.path.join(folder, "two"))


def no_way(machines, folder):
    """A rank that has no way to the store says where it wanted to go."""
    def expect_words(address, *reasons):
        rank = machines.start(1, "run", folder, address=address,
                              KITH_CONNECT_TIMEOUT="1.5")
        expect(ends_of([rank])[0],
               r"kith: rank 1: rank 1 of 2 cannot reach MASTER_ADDR:MASTER_PORT "
               rf"\({address}:{PORT}\) within 1\.5 s: ({'|'.join(reasons)}); "
               "check MASTER_ADDR, MASTER_PORT and the firewall; rank 0 must "
               "run on that machine\n$", status=rank.returncode, wanted=1)
    expect_words("10.88.0.1", "Network is unreachable")
    expect_words("machine-one", "Temporary failure in name resolution",
                 "Name or service not known")
    machines.cut(0)
    expect_words(ADDRESS[0], "no answer", "No route to host")
    machines.cut(1)
    expect_words(ADDRESS[0], "Network is unreachable")


def wait_until(done, ranks):
    end = time.monotonic() + SLOW
    while not done():
        if time.monotonic() > end or ranks[0].poll() is not None:
            ranks[0].kill()
            sys.exit("FAILED: it did not begin: " + ranks[0].communicate()[0])
        time.sleep(0.02)


def cut_at_start(machines, folder):
    """The cable is pulled out while two wait for a third."""
    ranks = [machines.start(at, "run", folder, "--set", "train.lanes=3",
                            WORLD_SIZE="3", KITH_CONNECT_TIMEOUT="6")
             for at in (0, 1)]
    wait_until(lambda: machines.connections(1) > 0, ranks)
    time.sleep(0.5)
    machines.lose()
    outputs = ends_of(ranks, wait=25)
    expect(outputs[0], r"kith: rank 0: rank 2 of 3 did not come within 6 s\n",
           status=ranks[0].returncode, wanted=1)
    expect(outputs[1], "kith: rank 1: rank 1 of 3: rank 0, which keeps the "
           "store, does not answer\n", status=ranks[1].returncode, wanted=1)


def cut(machines, folder, pull):
    """The cable is pulled out within a training."""
    log = os.path.join(folder, "run", "log.jsonl")
    ranks = [machines.start(at, "run", folder, "--set", "train.epochs=100000",
                            KITH_TIMEOUT="4") for at in (0, 1)]
    wait_until(lambda: os.path.exists(log) and
               contents(log).count(b"\n") >= 5, ranks)
    begin = time.monotonic()
    pull()
    outputs = ends_of(ranks, wait=25)
    print(f"{time.monotonic() - begin:.1f} s")
    expect(outputs[0], r"kith: rank 0: lost contact in \w+ "
           r"\(call [1-9]\d*\): waited 4 s\. rank 1 does not answer\n",
           status=ranks[0].returncode, wanted=1)
    expect(outputs[1], r"kith: rank 1: lost contact in \w+ "
           r"\(call [1-9]\d*\): waited 4 s\. rank 0, which keeps the store, does "
           r"not answer\n", status=ranks[1].returncode, wanted=1)


CASES = {"train": train, "no_way": no_way, "cut_at_start": cut_at_start,
         "cut_at_first": lambda machines, folder:
             cut(machines, folder, lambda: machines.cut(0)),
         "cut_at_second": lambda machines, folder:
             cut(machines, folder, lambda: machines.cut(1)),
         "lost": lambda machines, folder:
             cut(machines, folder, machines.lose)}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in CASES:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv[1])
    version = subprocess.run([PROGRAM, "--version"], env=CLEAN, check=True,
                             capture_output=True, text=True).stdout
    if "gloo" not in version.partition("\nranks: ")[2]:
        skip("this build has no engine gloo")
    need_namespaces()
    with tempfile.TemporaryDirectory() as place, Machines() as both:
        CASES[sys.argv[2]](both, place)
