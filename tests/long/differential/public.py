"""Scripts that others wrote: bpftrace's own runtime tests (a folder with its `tests`), and the cases of this repository.

A script of theirs runs with the program that its test starts; programs of theirs are built from `testprogs/*.c`.
"""
import os
import re
import shlex
import shutil
import subprocess

CASES = os.path.join(os.path.dirname(__file__), "..", "..", "scripts")
# What a case needs beyond what both have here anyway.
PLAIN_NEEDS = {"root", "tracepoint:syscalls", "tracepoint:raw_syscalls", "btf", "for_each", "bpf_loop", "ringbuf"}


def upstream(folder, work):
    """Rows (name, script, command, folder to run in) of the suite whose `tests` folder this is."""
    if not folder:
        return []
    tests = os.path.join(work, "tests")
    shutil.copytree(folder, tests)
    programs = os.path.join(tests, "testprogs")
    for name in sorted(os.listdir(programs)):
        if name.endswith(".c"):
            subprocess.run(["cc", "-g", "-O0", "-fno-omit-frame-pointer", "-o", name[:-2], name, "-lpthread"], cwd=programs, capture_output=True)
    rows = []
    runtime = os.path.join(tests, "runtime")
    for suite in sorted(os.listdir(runtime)):
        path = os.path.join(runtime, suite)
        if not os.path.isfile(path):
            continue
        for test in re.split(r"\n(?=NAME )", open(path, errors="replace").read()):
            row = {}
            for line in test.splitlines():
                word, _, rest = line.partition(" ")
                row.setdefault(word, rest)
            program, after = row.get("PROG", ""), row.get("AFTER", "")
            # A test whose answer is what its own environment is, or that waits for a signal, has no answer here.
            if not program or {"ENV", "SETUP", "BEFORE", "NEW_PIDNS", "ARCH", "WILL_FAIL"} & row.keys():
                continue
            if after and not after.startswith("./testprogs/"):
                continue
            if not after and not re.search(r"^\s*begin\b", program, re.I):
                continue
            rows.append((f"upstream/{suite}/{row['NAME']}", program, after, tests))
    return rows


def cases():
    """Cases of this repository that begin and end by themselves, as scripts."""
    rows = []
    for folder, _, names in sorted(os.walk(CASES)):
        for name in sorted(names):
            if not name.endswith(".bt"):
                continue
            text = open(os.path.join(folder, name), errors="replace").read()
            head = dict(re.findall(r"^// (\w[\w-]*): (.*)$", text, re.M))
            needs = set(head.get("needs", "").split())
            if needs - PLAIN_NEEDS or {"command", "arguments", "options", "exit", "stderr", "error", "compile", "args"} & head.keys():
                continue
            if not re.search(r"^\s*begin\b", text, re.I | re.M):
                continue
            rows.append((f"cases/{os.path.basename(folder)}/{name}", text, "", folder))
    return rows
