#!/usr/bin/env python3
"""Starts ranks that are processes as users do, and looks at how they end.

usage: ranks_test.py PATH/kith_rank_check CASE

Exit status 0: as it should be; 1: not; 77: this build or machine cannot do it.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAM = ""
CLEAN = {name: value for name, value in os.environ.items()
         if not re.match(r"(OMPI_(?!MCA_)|PMIX_|SLURM_|KITH_|TORCHELASTIC|MASTER_)",
                         name)
         and name not in {"RANK", "WORLD_SIZE", "LOCAL_RANK",
                          "LOCAL_WORLD_SIZE"}}
SLOW = 40  # seconds; starting LibTorch on a busy machine takes some


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(engine):
    end = run(["--engine", engine])
    if end.returncode == 77:
        skip(f"this build has no engine {engine}")


def run(words, wait=SLOW, **variables):
    return subprocess.run([PROGRAM, *words], env={**CLEAN, **variables},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=wait)


def start(words, **variables):
    return subprocess.Popen([PROGRAM, *words], env={**CLEAN, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def place(rank, size, port):
    return {"RANK": str(rank), "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}


def expect(output, *parts, status=None, wanted=None):
    print(output)
    for part in parts:
        if not re.search(part, output):
            sys.exit(f"FAILED: no {part!r} in the output")
    if status != wanted:
        sys.exit(f"FAILED: exit status {status}, not {wanted}")


def killed():
    need("gloo")
    begin = time.monotonic()
    end = run(["--ranks", "3", "--engine", "gloo", "killed"])
    print(f"{time.monotonic() - begin:.1f} s")
    expect(end.stdout,
           "starter: rank 1 was killed by signal 9: the others were stopped",
           status=end.returncode, wanted=137)


def killed_by_hand():
    """Nobody stops the others: they notice, and name the one that is gone."""
    need("gloo")
    port = free_port()
    ranks = [start(["--engine", "gloo", "killed"], **place(rank, 3, port))
             for rank in range(3)]
    outputs = [rank.communicate(timeout=SLOW)[0] for rank in ranks]
    for rank in (0, 2):
        expect(outputs[rank],
               rf"rank {rank} of 3: lost contact in all_gather \(call [1-9]\d*\): .*"
               r"rank 1 does not answer",
               status=ranks[rank].returncode, wanted=1)


def failed():
    need("gloo")
    end = run(["--ranks", "3", "--engine", "gloo", "failure"])
    expect(end.stdout, "rank 1: no space left on the disk",
           "rank 0: rank 1 failed: no space left on the disk",
           "rank 2: rank 1 failed: no space left on the disk",
           status=end.returncode, wanted=3)


def silent():
    need("gloo")
    end = run(["--ranks", "3", "--engine", "gloo", "silent"],
              KITH_TIMEOUT="1.5")
    # The first to have waited tells the other, which then waits no longer.
    expect(end.stdout,
           r"rank [02] of 3: lost contact in barrier .*: waited 1\.5 s\. "
           r"rank 1 does not answer", status=end.returncode, wanted=1)
    for line in re.findall(r".*lost contact in barrier.*", end.stdout):
        if not line.endswith("rank 1 does not answer"):
            sys.exit(f"FAILED: {line!r} names another rank")


def different_things():
    need("gloo")
    end = run(["--ranks", "2", "--engine", "gloo", "mismatch"])
    expect(end.stdout, "mismatch: good", status=end.returncode, wanted=0)


def by_hand():
    """A store that rank 0 keeps, as between machines."""
    need("gloo")
    port = free_port()
    ranks = [start(["--engine", "gloo", "gather", "exchange", "sums"],
                   **place(rank, 3, port)) for rank in range(3)]
    outputs = [rank.communicate(timeout=SLOW)[0] for rank in ranks]
    expect(outputs[0], "3 ranks on gloo: all good",
           status=[rank.returncode for rank in ranks], wanted=[0, 0, 0])


def host_killed():
    """The rank that keeps the store dies."""
    need("gloo")
    port = free_port()
    ranks = [start(["--engine", "gloo", "first_killed"],
                   **place(rank, 3, port)) for rank in range(3)]
    outputs = [rank.communicate(timeout=SLOW)[0] for rank in ranks]
    expect(outputs[1], "rank 0, which keeps the store, does not answer",
           status=ranks[1].returncode, wanted=1)
    expect(outputs[2], "rank 0, which keeps the store, does not answer",
           status=ranks[2].returncode, wanted=1)


def unreachable():
    need("gloo")
    port = free_port()
    end = run(["--engine", "gloo", "gather"], KITH_CONNECT_TIMEOUT="0.7",
              **place(1, 2, port))
    expect(end.stdout, r"rank 1 of 2 cannot reach MASTER_ADDR:MASTER_PORT "
           rf"\(127\.0\.0\.1:{port}\) within 0\.7 s: Connection refused; check "
           "MASTER_ADDR, MASTER_PORT and the firewall; rank 0 must run on that "
           "machine", status=end.returncode, wanted=3)


def rank_missing():
    need("gloo")
    end = run(["--engine", "gloo", "gather"], KITH_CONNECT_TIMEOUT="0.7",
              **place(0, 3, free_port()))
    expect(end.stdout, r"ranks 1 and 2 of 3 did not come within 0\.7 s",
           status=end.returncode, wanted=3)


def port_taken():
    need("gloo")
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = str(other.getsockname()[1])
        end = run(["--engine", "gloo", "gather"], **place(0, 2, port))
    expect(end.stdout, f"rank 0 of 2 cannot listen on port {port}: another "
           "program has it", status=end.returncode, wanted=3)
    if "c10d" in end.stdout:
        sys.exit("FAILED: LibTorch speaks too")


def other_engine():
    """Ranks that chose different engines do not wait for each other."""
    need("gloo")
    if run(["--engine", "mpi"]).returncode == 77:
        skip("this build has one engine for the CPU")
    # mpi without mpirun is one rank.
    end = run(["--engine", "mpi", "gather"], **place(1, 2, free_port()))
    expect(end.stdout, "MPI has rank 0 of 1, the environment rank 1 of 2",
           status=end.returncode, wanted=3)


def signalled():
    """Ctrl-C reaches each rank once, and what it does then is waited for."""
    need("gloo")
    parent = start(["--ranks", "3", "--engine", "gloo", "signal"])
    if parent.stdout.readline() != "waits\n":
        sys.exit("FAILED: the ranks do not wait")
    parent.send_signal(signal.SIGINT)
    output = parent.communicate(timeout=SLOW)[0]
    expect(output, "^1 signal\n$", status=parent.returncode, wanted=130)


def children_of(parent):
    path = f"/proc/{parent}/task/{parent}/children"
    with open(path, encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def parent_killed():
    """Ranks end with the process that started them."""
    need("gloo")
    parent = start(["--ranks", "2", "--engine", "gloo", "silent"])
    end = time.monotonic() + SLOW
    while len(ranks := children_of(parent.pid)) < 2:
        if time.monotonic() > end:
            sys.exit("FAILED: no ranks")
        time.sleep(0.05)
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    end = time.monotonic() + 10
    while any(is_there(rank) for rank in ranks):
        if time.monotonic() > end:
            sys.exit(f"FAILED: of the ranks {ranks} some still run")
        time.sleep(0.05)


def is_there(process):
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def mpi_killed():
    need("mpi")
    if not shutil.which("mpirun"):
        skip("no mpirun")
    end = run(["--ranks", "3", "--engine", "mpi", "killed"])
    expect(end.stdout, r"rank 1 .*signal 9", status=end.returncode, wanted=137)


def mpi_failed():
    need("mpi")
    if not shutil.which("mpirun"):
        skip("no mpirun")
    end = run(["--ranks", "3", "--engine", "mpi", "failure"])
    expect(end.stdout, "rank 1: no space left on the disk",
           status=end.returncode, wanted=3)
    end = run(["--ranks", "3", "--engine", "mpi", "silent"], KITH_TIMEOUT="1")
    expect(end.stdout, "waited 1 s. rank 1 does not answer",
           status=end.returncode, wanted=1)


def torchrun():
    """Under torchrun, whose agent keeps the store."""
    need("gloo")
    # Debian's: pip's may be of another Python.
    python = "/usr/bin/python3"
    probe = subprocess.run([python, "-c", "import torch.distributed.run"],
                           capture_output=True, check=False)
    if probe.returncode != 0:
        skip("no torchrun")
    # -r and -t name a rank that is not there: the default of torch 1.13 fails
    # in Python 3.11.
    command = [python, "-m", "torch.distributed.run", "--no_python",
               "--standalone", "-r", "9:1", "-t", "9:1", "--nproc_per_node",
               "2", PROGRAM, "gather", "sums"]
    end = subprocess.run(command, env={**CLEAN, "PYTHONDONTWRITEBYTECODE": "1"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=100, check=False)
    expect(end.stdout, "2 ranks on gloo: all good", status=end.returncode,
           wanted=0)


def environment():
    for variables, text in [
            ({"RANK": "1"}, "has RANK but not WORLD_SIZE"),
            ({"RANK": "2", "WORLD_SIZE": "2"}, "RANK=2 and WORLD_SIZE=2"),
            ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK of the environment is 'x'")]:
        end = run(["gather"], **variables)
        expect(end.stdout, text, status=end.returncode, wanted=2)
    end = run(["gather"], RANK="0", WORLD_SIZE="1")
    expect(end.stdout, "1 ranks on none: all good", status=end.returncode,
           wanted=0)


CASES = {"killed": killed, "killed_by_hand": killed_by_hand,
         "failed": failed, "silent": silent,
         "different_things": different_things, "by_hand": by_hand,
         "host_killed": host_killed, "unreachable": unreachable,
         "rank_missing": rank_missing, "port_taken": port_taken,
         "other_engine": other_engine, "signal": signalled,
         "parent_killed": parent_killed, "mpi_killed": mpi_killed,
         "mpi_failed": mpi_failed, "torchrun": torchrun,
         "environment": environment}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in CASES:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv[1])
    CASES[sys.argv[2]]()
