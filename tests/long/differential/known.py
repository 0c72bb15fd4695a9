"""What is known to differ: blocks of `known.txt`, with an empty line between them.

`script:` is a script that is run each time, and `ours:` and `theirs:` are all that it prints then; or `public:` names a script of
others (`*` stands for any), and the two patterns are what each says of it. `right:` tells who is right, `why:` the reason.
A refusal is `refused`, or `refused: ` and words of it.
"""
import fnmatch
import os
import re
from typing import NamedTuple


class Known(NamedTuple):
    script: str
    public: str
    ours: str
    theirs: str
    right: str
    why: str


def load():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.txt")
    found = []
    for block in re.split(r"\n\s*\n", open(path).read()):
        rows = {}
        for line in block.splitlines():
            if line and not line.startswith("#"):
                word, text = line.split(": ", 1)
                rows[word] = f"{rows[word]}\n{text}" if word in rows else text
        if rows:
            found.append(Known(*[rows.get(word, "") for word in Known._fields]))
    return found


def is_as_said(said, pattern):
    pattern = pattern.replace("\\n", "\n")
    if pattern.startswith("refused"):
        return said.startswith("exit ") and pattern.removeprefix("refused").removeprefix(": ") in said
    return fnmatch.fnmatchcase(said, pattern.replace("[", "[[]")) or said == pattern


def find(known, public, mine, theirs):
    """Why the answers to a public script differ, if that is known."""
    for one in known:
        if one.public and fnmatch.fnmatchcase(public, one.public) and is_as_said(mine, one.ours) and is_as_said(theirs, one.theirs):
            return one
    return None
