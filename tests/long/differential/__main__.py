#!/usr/bin/env python3
"""The same scripts for probescope and for bpftrace: differential PROBESCOPE BPFTRACE COUNT [SEED].

COUNT scripts of ten statements each are made from the seed (`made.py`); then what others wrote is run (`public.py`): the cases of this
repository, and bpftrace's own where DIFFERENTIAL_PUBLIC names its folder `tests`. Scripts are asked in text and in JSON by turns. Where
a script is refused by one of both, its halves are tried, down to the statement.

`known.txt` has what differs, who is right, and why; its scripts are run, too, and must say what stands there.

What was found is kept in a log, DIFFERENTIAL_LOG: started again with the same seed, a run goes on where it was.
"""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import known as known_differences  # noqa: E402
import public  # noqa: E402
from made import Made  # noqa: E402
from sides import Side, by_number, whole  # noqa: E402

# Under the peer's name both are asked with the same words, and the program's own name is the same in both answers.
home = tempfile.TemporaryDirectory()
os.symlink(os.path.abspath(sys.argv[1]), os.path.join(home.name, "bpftrace"))
ours, peer = Side([os.path.join(home.name, "bpftrace")]), Side(shlex.split(sys.argv[2]))
count, seed = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
log_path = os.environ.get("DIFFERENTIAL_LOG", f"target/differential-{seed}.log")
known = known_differences.load()
lock = threading.Lock()


class Log:
    """A line of JSON a script: its name and what was found."""

    def __init__(self, path):
        self.done = {}
        if os.path.exists(path):
            for line in open(path):
                row = json.loads(line)
                self.done[row["name"]] = row
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.file = open(path, "a")

    def add(self, row):
        with lock:
            self.done[row["name"]] = row
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()


def refusal(done):
    """The first line that says why."""
    lines = [line.strip() for line in (done[2] or done[1]).splitlines() if "WARNING" not in line and line.strip()]
    return f"exit {done[0]}: {' / '.join(lines[:2])[:300]}"


def shown(said):
    return said if said is None or len(said) < 600 else said[:600] + " ..."


def difference(row, form, what, mine, theirs):
    found = known_differences.find(known, what, mine or "", theirs or "")
    if found:
        row["known"].append(found.public)
        return
    row["differ"].append([form, what, mine, theirs])
    with lock:
        print(f"DIFFERS {row['name']} ({form}): {what}\n  probescope: {shown(mine)}\n  bpftrace:   {shown(theirs)}", flush=True)


def compare(row, made, at, form, load):
    """Compares the statements with these numbers."""
    script = made.script([made.statements[n] for n in at], load)
    command = "" if made.kind == "begin" else load
    mine, theirs = ours.run(script, form, command), peer.run(script, form, command)
    if (mine[0] or theirs[0]) and len(at) > 1:
        half = len(at) // 2
        compare(row, made, at[:half], form, load)
        compare(row, made, at[half:], form, load)
        return
    if mine[0] and theirs[0]:
        row["refused"].append([made.statements[at[0]], refusal(mine), refusal(theirs)])
    elif mine[0] or theirs[0]:
        sides = [refusal(side) if side[0] else "an answer" for side in (mine, theirs)]
        difference(row, form, made.statements[at[0]], *sides)
    else:
        a, b = by_number(form, mine[1]), by_number(form, theirs[1])
        for n in at:
            if a.get(str(n)) == b.get(str(n)):
                row["same"] += 1
            else:
                difference(row, form, made.statements[n], a.get(str(n)), b.get(str(n)))


def new_row(name):
    return {"name": name, "same": 0, "refused": [], "skipped": 0, "known": [], "differ": []}


def ask_made(n, log, load):
    row = new_row(f"made/{n}")
    compare(row, Made(seed, n), list(range(10)), ("text", "json")[n % 2], load)
    log.add(row)


def ask_public(n, one, log):
    name, script, command, folder = one
    row, form, said = new_row(name), ("text", "json")[n % 2], ([], [])
    # Asked up to three times: others' work on this machine may be in one answer.
    for _ in range(3):
        done = [side.run(script, form, command, folder) for side in (ours, peer)]
        for answers, one_done in zip(said, done):
            answers.append(refusal(one_done) if one_done[0] else whole(form, one_done[1]))
        if said[0][-1] == said[1][-1] or done[0][0] or done[1][0]:
            break
    if done[0][0] and done[1][0]:
        row["refused"].append([name, said[0][-1], said[1][-1]])
    elif done[0][0] or done[1][0]:
        difference(row, form, name, *[answers[-1] if side[0] else "an answer" for answers, side in zip(said, done)])
    elif said[0][-1] == said[1][-1]:
        row["same"] = 1
    elif len(set(said[0])) > 1 or len(set(said[1])) > 1:
        row["skipped"] = 1
    else:
        difference(row, form, name, said[0][-1], said[1][-1])
    log.add(row)


def ask_known(n, one, log):
    """A difference that is known: both sides must still say what stands there."""
    row, said = new_row(f"known/{n}"), []
    for side in (ours, peer):
        done = side.run(one.script, "text")
        said.append(refusal(done) if done[0] else "\n".join(line for line in done[1].splitlines() if line.strip()))
    if known_differences.is_as_said(said[0], one.ours) and known_differences.is_as_said(said[1], one.theirs):
        row["known"].append(one.script)
    else:
        difference(row, "text", f"as known.txt says no more: {one.script}", *said)
    log.add(row)


def main():
    began = time.monotonic()
    log = Log(log_path)
    with tempfile.TemporaryDirectory() as work:
        load = os.path.join(work, "load")
        subprocess.run(["cc", "-g", "-O0", "-fno-omit-frame-pointer", "-o", load, os.path.join(os.path.dirname(__file__), "load.c")], check=True)
        others = public.cases() + public.upstream(os.environ.get("DIFFERENTIAL_PUBLIC"), work)
        jobs = [(ask_made, (n, log, load)) for n in range(count) if f"made/{n}" not in log.done]
        jobs += [(ask_public, (n, one, log)) for n, one in enumerate(others) if one[0] not in log.done]
        jobs += [(ask_known, (n, one, log)) for n, one in enumerate(known) if one.script and f"known/{n}" not in log.done]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("DIFFERENTIAL_JOBS", "2"))) as pool:
            for done in concurrent.futures.as_completed([pool.submit(job, *arguments) for job, arguments in jobs]):
                done.result()
    names = [f"made/{n}" for n in range(count)] + [one[0] for one in others]
    names += [f"known/{n}" for n, one in enumerate(known) if one.script]
    rows = [log.done[name] for name in names]
    total = {what: sum(row[what] if isinstance(row[what], int) else len(row[what]) for row in rows)
             for what in ("same", "known", "differ", "refused", "skipped")}
    used = {name for row in rows for name in row["known"]}
    if os.environ.get("DIFFERENTIAL_PUBLIC"):
        for one in known:
            if one.public and one.public not in used:
                print(f"nothing here differs as known.txt says of `{one.public}`")
    print(f"{len(rows)} scripts ({count} made, {len(others)} of others) in {time.monotonic() - began:.0f} s: {total['same']} answers alike, "
          f"{total['known']} differ as known.txt says, {total['refused']} refused by both, {total['skipped']} without a steady answer, "
          f"{total['differ']} differ otherwise")
    sys.exit(1 if total["differ"] else 0)


main()
