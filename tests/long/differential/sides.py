"""Runs a script on both sides, and makes of what they print what can be compared."""
import json
import os
import re
import signal
import subprocess

SECONDS = 20


class Side:
    def __init__(self, words):
        self.words = words

    def run(self, script, form, command="", folder=None):
        """Exit code, standard output and standard error; 124 where it took too long."""
        options = ["-f", "json"] if form == "json" else ["-q"]
        words = self.words + options + (["-c", command] if command else []) + ["-e", script]
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                                 start_new_session=True)
        late = False
        try:
            out, err = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
        return 124 if late else child.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def value_of(line):
    """A line of JSON in one form whatever the order of its keys; invalid lines as they are."""
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except ValueError:
        return line


def bare(value):
    """With the blanks and quotes of keys taken out, as bpftrace does (README: keys are what they are here)."""
    if isinstance(value, dict):
        return {re.sub(r'[\s"\\]', "", key): bare(inner) for key, inner in value.items()}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def by_number(form, out):
    """Text as blocks by the statements' numbers; JSON as values by them."""
    found = {}
    name = None
    for line in out.splitlines():
        if form == "json":
            try:
                value = json.loads(line)
            except ValueError:
                found.setdefault("invalid", []).append(line)
                continue
            data = value.get("data")
            if isinstance(data, dict):
                for map_name, inner in data.items():
                    if map_name.startswith("@m"):
                        found.setdefault(map_name[2:], []).append(json.dumps([value["type"], bare(inner)], sort_keys=True))
                continue
            lines = data.splitlines() if isinstance(data, str) else []
        else:
            lines = [line]
        for part in lines:
            start = re.match(r"@m(\d+)|(\d+): ", part)
            if start:
                name = start.group(1) or start.group(2)
            if name is not None and part.strip():
                found.setdefault(name, []).append(part)
    # Keys with equal values come in any order.
    return {name: "\n".join(sorted(lines) if lines[0].startswith("@") else lines) for name, lines in found.items()}


def whole(form, out):
    """All that was printed: lines, in any order, as keys with equal values come in any."""
    lines = [line for line in out.splitlines() if line.strip()]
    if form == "json":
        lines = [value_of(line) for line in lines if not re.search(r'"type": *"attached_probes"', line)]
    return "\n".join(sorted(lines))
