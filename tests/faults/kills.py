#!/usr/bin/env python3
"""Commands of kith, killed at random moments and then repeated.

A command is killed (SIGKILL) up to three times in a row: after a random time,
or before a random call about its files. Then it is repeated, or the run
resumed, and must leave what one leaves that was never killed.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import cases
import faults
import folders

RANKS = ["--ranks", "2"]
CASES = dict(cases.CASES)
for name in ("train", "embed", "index-make"):
    one = cases.CASES[name]
    CASES[name + "-ranks"] = cases.Case(
        one.command + RANKS, one.needs,
        again=one.again + RANKS if one.again else [])


def ranks_of(process):
    """The processes that one has started."""
    try:
        return [int(each) for each in pathlib.Path(
            f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


class Victim(faults.Trial):
    """A command that is killed, with what it leaves if it is not."""

    def __init__(self, name, program, tools, root, tell, seed):
        cases.CASES.setdefault(name, CASES[name])
        self.seconds = 0.0
        super().__init__(name, program, tools, root, tell)
        self.strike("eio", "all", 0)
        self.calls = len(self.report.read_text().splitlines())
        self.random = random.Random(f"{seed} {name}")
        self.kills = self.rounds = self.bad = 0

    def undisturbed(self):
        begin = time.monotonic()
        found = super().undisturbed()
        passed = time.monotonic() - begin
        self.seconds = min(passed, self.seconds or passed)
        return found

    def next_command(self):
        again = self.case.again or self.case.command
        started = (self.work / "run/config.yaml").exists()
        if "--resume" in again and not started:
            return self.case.command
        return again

    def prepare(self):
        """What the error of the last one says that a user must do."""
        if self.case.emptied:
            shutil.rmtree(self.work / self.case.emptied, ignore_errors=True)

    def kill(self, command):
        """Runs it and kills it; whether it came to that."""
        if self.random.random() < 0.6:
            number = self.random.randint(1, self.calls)
            self.program.run(
                command, self.work,
                [self.tools / "kith_faults", str(self.work), "kill", "all",
                 str(number), str(self.report)])
            return "struck" in self.report.read_text()
        process = subprocess.Popen(
            [self.program.path, *command], cwd=self.work,
            env=self.program.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        # The first part passes while libraries are loaded.
        time.sleep(self.random.uniform(0.3, 0.95) * self.seconds)
        came = process.poll() is None
        victims = ranks_of(process.pid) if came else []
        kind = self.random.choice(["all", "first", "one"])
        if kind == "one" and victims:
            kill(os.kill, self.random.choice(victims))
        elif kind == "first":
            kill(os.kill, process.pid)
        else:
            kill(os.killpg, process.pid)
        process.wait(timeout=120)
        return came

    def one_round(self):
        """Kills it some times and repeats it; how often it was killed."""
        cases.fresh(self.base, self.work, self.case.needs)
        command, killed = self.case.command, 0
        for _ in range(self.random.randint(1, 3)):
            if not self.kill(command):
                break
            killed += 1
            self.look()
            command = self.next_command()
            self.prepare()
        done = self.program.run(command, self.work)
        left = folders.differences(self.after, folders.snapshot(self.work))
        if left:
            self.blame(f"it differs in {left}; exit code {done.returncode}: "
                       f"{faults.last_line(done)}")
        self.kills += killed
        self.rounds += 1
        return killed

    def look(self):
        """What was there is still there, and can be used."""
        for each in self.mixed():
            self.blame(each)
        if not self.case.check:
            return
        done = self.program.run(self.case.check, self.work)
        if done.returncode != 0:
            self.blame("what was there is not usable: "
                       f"{faults.last_line(done)}")

    def blame(self, text):
        self.bad += 1
        self.tell(f"{self.name}, round {self.rounds}: {text}")


def kill(how, process):
    try:
        how(process, signal.SIGKILL)
    except ProcessLookupError:  # it ended by itself
        pass


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        usage="scripts/kills PROGRAM COUNT [--seed S] [--jobs N] [COMMAND ...]")
    parser.add_argument("program", help="build/release/kith")
    parser.add_argument("count", type=int, help="kills in all")
    parser.add_argument("--seed", type=int, default=0)
    return cases.parsed(parser, CASES)


def main():
    flags = arguments()
    program = cases.Program(flags.program)
    tools = pathlib.Path(program.path).parent / "tests/faults"
    names = flags.commands or list(CASES)
    share = -(-flags.count // len(names))  # of each command

    def all_of(name, folder, tell):
        victim = Victim(name, program, tools, folder, tell, flags.seed)
        while victim.kills < share and victim.rounds < 3 * share:
            victim.one_round()
        tell(f"{name}: {victim.kills} kills in {victim.rounds} rounds, "
             f"{victim.bad} bad")
        return victim.kills, victim.bad

    sys.exit(cases.side_by_side(flags.jobs, names, "kills", all_of))


if __name__ == "__main__":
    main()
