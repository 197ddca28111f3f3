#!/usr/bin/env python3
"""Commands of kith, each with a fault at every call about their files.

The n-th call about a file fails, for n = 1, 2, ... until the command ends
before that. Then the error must name the file and the cause, nothing may be
lost or half-written, and the command must do the same afterwards as if nothing
had been. A call that is interrupted, or does only half of what it was asked to,
must not be noticed at all.
"""

import argparse
import pathlib
import shutil
import sys

import cases
import folders

# What a signal may interrupt, on file systems that wait for others.
SLOW = "open,read,write,truncate,fsync,close"
# What strikes which calls, and whether it is to be survived; of memory which
# sizes. Smaller ones than that are not tried: oneDNN, which generates code for
# layers, crashes where a small one fails.
PASSES = {"enospc": ("changes", False), "eio": ("all", False),
          "eintr": (SLOW, True), "short": ("all", True),
          "memory": ("65536", False)}
CAUSES = {"enospc": "No space left on device", "eio": "Input/output error",
          "memory": "not enough memory"}

NOT_ALLOWED = 77  # the exit code of kith_faults


class NotAllowed(Exception):
    """Nobody may trace a program here."""


class Trial:
    """One command with its files, and what it leaves if nothing fails."""

    def __init__(self, name, program, tools, root, tell):
        self.name, self.case = name, cases.CASES[name]
        self.program, self.tools, self.tell = program, tools, tell
        self.base, self.work = root / "base", root / "work"
        self.report = root / "report"
        # Where it is used: paths may be in its files.
        cases.make_base(program, self.work, [name])
        self.work.rename(self.base)
        self.before, first = self.undisturbed()
        self.after = self.undisturbed()[1]
        if first != self.after:
            raise SystemExit(f"{name}: two runs differ in "
                             f"{folders.differences(first, self.after)}")

    def undisturbed(self):
        cases.fresh(self.base, self.work, self.case.needs)
        before = folders.snapshot(self.work)
        self.program.must(self.case.command, self.work)
        return before, folders.snapshot(self.work)

    def strike(self, fault, calls, number):
        """Runs it with a fault. The call that was struck, and the result."""
        cases.fresh(self.base, self.work, self.case.needs)
        self.report.unlink(missing_ok=True)
        if fault == "memory":
            done = self.program.run(
                self.case.command, self.work,
                LD_PRELOAD=str(self.tools / "libkith_no_memory.so"),
                KITH_NO_MEMORY=f"{number} {calls} {self.report}")
            if not self.report.exists():
                return None, None, done
            return self.report.read_text().split()[1], "", done
        done = self.program.run(
            self.case.command, self.work,
            [self.tools / "kith_faults", str(self.work), fault, calls,
             str(number), str(self.report)])
        if done.returncode == NOT_ALLOWED and not self.report.stat().st_size:
            raise NotAllowed(last_line(done))
        for line in self.report.read_text().splitlines():
            if line.startswith("struck "):
                call, path = line.split(" ", 2)[1:]
                name = pathlib.Path(path).relative_to(self.work)
                return call, str(name), done
        return None, None, done

    def one_fault(self, fault, number):
        """What was struck, how it ended and what is wrong with that."""
        calls, survives = PASSES[fault]
        call, path, done = self.strike(fault, calls, number)
        if call is None:
            return None, "", []
        wrong = []
        if done.returncode == 0 and self.case.warns and fault in CAUSES and (
                CAUSES[fault] in done.stderr):
            pass
        elif done.returncode == 0 or survives:
            wrong += self.undone(done, "the result differs in")
        else:
            wrong += self.error_faults(fault, path, done)
            wrong += self.files_faults()
            wrong += self.repeat()
        end = "failed" if done.returncode else "survived"
        return f"{fault} at {call} {path}", end, wrong

    def undone(self, done, what):
        if done.returncode != 0:
            return [f"exit code {done.returncode}: {last_line(done)}"]
        left = folders.differences(self.after, folders.snapshot(self.work))
        return [f"{what} {left}"] if left else []

    def error_faults(self, fault, path, done):
        error = last_line(done)
        wrong = []
        if done.returncode != 1:
            wrong.append(f"exit code {done.returncode}: {error}")
        if CAUSES[fault] not in done.stderr:
            wrong.append(f"the error does not say why: {error}")
        if fault == "memory":
            return wrong
        # A temporary is nothing to its user: its folder must be named.
        where = pathlib.Path(path)
        name = where.parent.name if hidden(where.name) else where.name
        if name not in done.stderr:
            wrong.append(f"the error does not name {name}: {error}")
        return wrong

    def files_faults(self):
        wrong = []
        now = folders.snapshot(self.work)
        for name in self.before:
            if name not in now and name not in self.case.gives_up:
                wrong.append(f"{name} is gone")
        for name, found in now.items():
            known = (self.before.get(name), self.after.get(name))
            path = self.work / name
            grows = name.endswith((".jsonl", ".log", "events"))
            if found in known or grows or hidden(path.name):
                continue
            if not folders.is_whole(path):
                wrong.append(f"{name} is half-written")
        wrong += self.mixed()
        for path in self.work.rglob("*"):
            if folders.TEMPORARY.fullmatch(path.name):
                wrong.append(f"{path.name} is left")
        if self.case.check:
            done = self.program.run(self.case.check, self.work)
            if done.returncode != 0:
                wrong.append(f"what was there is not usable: {last_line(done)}")
        return wrong

    def mixed(self):
        """Whether a folder is neither the old one nor the new one."""
        if not self.case.whole:
            return []
        old, new, now = (
            {name: found for name, found in each.items()
             if name.startswith(self.case.whole + "/")}
            for each in (self.before, self.after,
                         folders.snapshot(self.work)))
        return [] if now in (old, new) else [
            f"{self.case.whole} is neither the old nor the new one: "
            f"{folders.differences(old, now)}"]

    def repeat(self):
        """Again without a fault, unless it had all been done."""
        if not folders.differences(self.after, folders.snapshot(self.work)):
            return []
        if self.case.emptied:
            shutil.rmtree(self.work / self.case.emptied, ignore_errors=True)
        again = self.case.again or self.case.command
        if "--resume" in again and not (self.work / "run/config.yaml").exists():
            again = self.case.command
        done = self.program.run(again, self.work)
        return self.undone(done, "repeated, it differs in")

    def all_faults(self, passes, every):
        """Prints what is wrong. Points, those that were survived, faults."""
        points = survived = bad = 0
        for fault in passes:
            number = 1
            while True:
                what, end, wrong = self.one_fault(fault, number)
                if what is None:
                    break
                points += 1
                survived += end == "survived"
                bad += bool(wrong)
                for each in wrong:
                    self.tell(f"{self.name}: {what} ({number}): {each}")
                number += every
        return points, survived, bad


def hidden(name):
    return name.startswith(".") and name != "."


def last_line(done):
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else "(no message)"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], usage="scripts/faults PROGRAM "
        "[--every K] [--quick] [--faults NAME,...] [--jobs N] [COMMAND ...]")
    parser.add_argument("program", help="build/release/kith")
    parser.add_argument("--every", type=int, default=1, metavar="K",
                        help="only each K-th call")
    parser.add_argument("--quick", action="store_true",
                        help="the short part that CTest runs")
    parser.add_argument("--faults", default=",".join(PASSES),
                        help="of " + ", ".join(PASSES))
    flags = cases.parsed(parser, cases.CASES)
    flags.faults = flags.faults.split(",")
    for name in flags.faults:
        if name not in PASSES:
            parser.error(f"there is no fault {name!r}, only "
                         f"{', '.join(PASSES)}")
    return flags


def main():
    flags = arguments()
    program = cases.Program(flags.program)
    tools = pathlib.Path(program.path).parent / "tests/faults"
    names = flags.commands or [name for name, case in cases.CASES.items()
                               if case.quick or not flags.quick]

    def all_of(name, folder, tell):
        case = cases.CASES[name]
        trial = Trial(name, program, tools, folder, tell)
        points, survived, bad = trial.all_faults(
            flags.faults,
            flags.every * (case.quick if flags.quick else case.every))
        tell(f"{name}: {points} points, {survived} survived, "
             f"{points - survived} ended it, {bad} badly")
        return points, bad

    try:
        sys.exit(cases.side_by_side(flags.jobs, names, "points", all_of))
    except NotAllowed as error:
        print(f"skipped: {error}")
        sys.exit(NOT_ALLOWED)


if __name__ == "__main__":
    main()
