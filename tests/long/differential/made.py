"""Scripts from a seed, each a list of statements whose answers are told apart by their number.

`begin` scripts have the same answer whatever the machine does; `uprobe` and `tracepoint` scripts are fired by `load.c`, whose calls are
the same each time.
"""
import random

NUMBERS = ["0", "1", "2", "3", "7", "10", "63", "100", "255", "4096", "65535", "65536", "2147483647", "4294967295",
           "4294967296", "1000000007", "9223372036854775807", "0x7f", "0xff00", "1e3", "1_000", "(int8)200", "(uint8)300",
           "(int16)40000", "(uint16)70000", "(int32)3000000000", "(uint32)5000000000", "-1", "-7", "-128", "(int64)-5"]
POSITIVE = ["1", "2", "3", "5", "7", "16", "1000"]
TEXTS = ['"a"', '"abc"', '"hello world"', '""', '"a,b"', '"x\\ty"', '"quote\\"d"', '"tail "', '"0"', '"äö"']
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FORMATS = ["d", "ld", "lld", "lu", "x", "lx", "o", "5d", "-8d|", "08x", "i", "u", "hhd", "hd", "c"]
AGGREGATIONS = ["sum", "max", "min", "avg", "stats", "hist"]

ITEM = """struct inner { int a; short b; };
struct item { int number; unsigned char small; signed char negative; long long wide; char name[16]; int list[4]; struct inner in; struct inner *next; };
"""


class Made:
    """The parts of one script."""

    def __init__(self, seed, n):
        self.rng = random.Random(f"{seed}/{n}")
        self.kind = self.rng.choice(["begin"] * 6 + ["uprobe"] * 2 + ["uretprobe"] + ["tracepoint"])
        # In JSON, which is asked for every second one, only ASCII is the same on both sides.
        self.numbers, self.texts = NUMBERS, [text for text in TEXTS if n % 2 == 0 or text.isascii()]
        self.formats = [form for form in FORMATS if n % 2 == 0 or form != "c"]
        if self.kind == "uprobe":
            self.numbers = NUMBERS[:12] + 3 * ["arg0", "arg1", "arg2", "(int32)arg0", "(uint32)arg1", "(int64)arg2", "$it.number", "$it.small",
                "$it.negative", "$it.wide", "$it.list[0]", "$it.list[3]", "$it.in.a", "$it.in.b", "$it.next.a", "$it.next.b", "args.a",
                "args.b", "args.c", "args.item.number"]
            self.texts = 2 * TEXTS[:3] + 2 * ["str(arg3)", "str(arg3, 3)", "str(args.text)", "comm", "probe"]
        elif self.kind == "uretprobe":
            self.numbers = NUMBERS[:12] + 4 * ["retval", "(int32)retval", "(int8)retval", "(uint64)retval"]
            self.texts = 2 * TEXTS[:3] + ["comm", "probe"]
        elif self.kind == "tracepoint":
            self.numbers = NUMBERS[:12] + 4 * ["args.which", "args.who", "(int32)args.who", "(int64)args.which"]
            self.texts = 2 * TEXTS[:3] + ["comm", "probe"]
        self.statements = [self.statement(at) for at in range(10)]

    def pick(self, things):
        return self.rng.choice(things)

    def below(self, least, end):
        return self.rng.randrange(least, end)

    def number(self, depth=0):
        """Where both do not agree about the sign of a result, the operand has a type that leaves no choice (`known.txt` has the rest)."""
        if depth > 2 or self.rng.random() < 0.35:
            return self.pick(self.numbers)
        kind = self.below(0, 8)
        a, b = self.number(depth + 1), self.number(depth + 1)
        if kind < 3:
            return f"({a} {self.pick('+ - * & | ^'.split())} {b})"
        if kind == 3:
            return f"(({self.pick(['uint32', 'uint64'])}){a} {self.pick(['/', '%'])} {self.pick(POSITIVE)})"
        if kind == 4:
            return f"(({self.pick(['uint16', 'uint32', 'uint64'])}){a} {self.pick(['<<', '>>'])} {self.below(0, 31)})"
        if kind == 5:
            return f"({a} {self.pick(['<', '<=', '>', '>=', '==', '!='])} {b} ? (int64){self.number(depth + 1)} : (int64){self.number(depth + 1)})"
        if kind == 6:
            return self.pick([f"(~(int64){a})", f"(-(int64){a})", f"(~(uint64){a})", f"(uint8)(!{a})"])
        return f"(({self.pick(TYPES)}){a})"

    def text(self):
        return self.pick(self.texts)

    def plain_text(self):
        """A text that is one by its type."""
        return self.pick([text for text in self.texts if text != "probe"])

    def aggregated(self, place, function, values):
        return " ".join(f"{place} = {function}({value});" for value in values)

    def statement(self, n):
        """Its output is lines that begin with its number, or a map with its number."""
        m, number, text, plain = f"@m{n}", self.number, self.text, self.plain_text
        one, several = self.pick([(str(self.below(0, 100)), ""), (text(), ""), (f"({self.below(0, 9)}, {text()})", ""), ("", f"{self.below(0, 9)}, {self.below(0, 9)}"),
                                  *([] if self.kind == "begin" else [(number(1), ""), ("", f"{text()}, {number(2)}")])])
        key, as_one = one or several, one or f"({several})"
        few = [f"(int64){number(2)}" for _ in range(self.below(1, 6))]
        printf = lambda form, *values: f'printf("{n}: {form}\\n", {", ".join(values)});'
        kinds = [
            lambda: printf("%d", number()),
            lambda: printf("%" + self.pick(self.formats), number()),
            lambda: printf("%" + self.pick(["s", "10s|", "-10s|", ".2s"]), text()),
            lambda: f"{m}[{key}] = {number()};",
            lambda: f"{m} = {number()};",
            lambda: f"{m} = {text()};",
            lambda: f"{m} = ({number(1)}, {text()}, {number(1)});",
            lambda: self.aggregated(m, self.pick(AGGREGATIONS[:5]), [number(2)]),
            lambda: self.aggregated(m, self.pick(AGGREGATIONS), few),
            lambda: self.aggregated(f"{m}[{key}]", self.pick(AGGREGATIONS), few),
            lambda: " ".join(f"{m} = lhist({x}, 0, 100, 10);" for x in few),
            lambda: f"$v{n} = {number(1)}; $i{n} = 0; while ($i{n} < {self.below(1, 20)}) {{ $v{n} += $i{n}; $i{n}++; }} " + printf("%ld", f"(int64)$v{n}"),
            lambda: f"for ($k{n} : 0..{self.below(1, 30)}) {{ {m} = sum($k{n}); }}",
            lambda: f"if ({number(1)} {self.pick(['<', '>', '=='])} {number(1)}) {{ " + f'printf("{n}: yes\\n"); }} else {{ printf("{n}: no\\n"); }}',
            lambda: printf("%d %d", f"strlen({plain()})", f"{plain()} == {plain()}"),
            lambda: printf("%d", f"strncmp({plain()}, {plain()}, {self.below(1, 5)})"),
            lambda: printf("%s|%s", f"str({plain()}, {self.below(1, 9)})", f"str_concat({plain()}, {plain()})"),
            lambda: printf("%d %s", f"strcap({self.pick(['comm', chr(34) + 'abc' + chr(34)])})", f"{plain()} == {plain()} ? {plain()} : {plain()}"),
            lambda: printf("%d", f"strcontains({plain()}, {plain()})"),
            lambda: printf("%d", f"sizeof({self.pick(TYPES)})"),
            lambda: f"{m}[{key}] = count(); {m}[{key}] = count(); delete({m}, {as_one}); {m}[{key}] = count();",
            lambda: f"$t{n} = ({number(1)}, {text()}); " + printf("%d %s", f"$t{n}.0", f"$t{n}.1"),
        ]
        if self.kind == "uprobe":
            kinds.append(lambda: f"{m} = buf($it.list, {self.below(1, 17)});")
        return self.pick(kinds)()

    def script(self, statements, load):
        body = "\n".join(statements)
        if self.kind == "begin":
            return "begin {\n" + body + "\nexit();\n}\n"
        if self.kind == "uprobe":
            return f"{ITEM}uprobe:{load}:take /pid == cpid/ {{\n$it = (struct item *)arg4;\n{body}\n}}\n"
        if self.kind == "uretprobe":
            return f"uretprobe:{load}:take /pid == cpid/ {{\n{body}\n}}\n"
        return f"tracepoint:syscalls:sys_enter_getpriority /pid == cpid/ {{\n{body}\n}}\n"
