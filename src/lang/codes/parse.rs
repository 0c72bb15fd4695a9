//! P0001 to P0199: text, preprocessor, grammar, expansion and formats.

use super::{Entry, codes};
use crate::lang::diagnostic::Code;

codes! {
    UNKNOWN_CHARACTER = 1, "a character that means nothing in a script",
        "The text holds a character that no part of the language uses. Often it is a typographic quote pasted from a web page, or a single quote: strings stand in straight double quotes.";
    UNCLOSED_COMMENT = 2, "a comment is never closed",
        "A `/*` has no `*/` after it, so the rest of the script is a comment.";
    UNCLOSED_STRING = 3, "a string is not closed on its line",
        "A string runs from one double quote to the next on the same line. A line break inside is written `\\n`, a quote `\\\"`.";
    BAD_ESCAPE = 4, "an unknown escape in a string",
        "After a backslash a string may have n, t, r, a quote, a backslash, up to three octal digits or x with one or two hexadecimal digits. Write a backslash itself as `\\\\`.";
    BAD_INTEGER = 6, "a malformed integer",
        "Integers are decimal (1000, 1_000, 1e3), hexadecimal (0x3e8) or octal (01750), may end in C's u and l suffixes, or in a unit of time: ns, us, ms, s, m, h, d give nanoseconds.";
    INTEGER_TOO_LARGE = 7, "an integer does not fit 64 bits",
        "All arithmetic is done with 64 bits; the largest unsigned value is 18446744073709551615.";
    FLOAT = 8, "there are no fractions",
        "BPF programs have integers only. Scale the value: count microseconds instead of fractions of a second, or print `$x / 10` and `$x % 10` side by side.";
    UNKNOWN_DIRECTIVE = 20, "an unknown preprocessor line",
        "A line that begins with `#` belongs to the preprocessor: #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif. Comments begin with `//`.";
    UNMATCHED_CONDITION = 21, "conditions that do not pair up",
        "Every #if, #ifdef and #ifndef needs one #endif; #else and #elif stand between them.";
    BAD_CONDITION = 22, "an #if condition that can't be evaluated",
        "Conditions are made of integers, names given by #define, `defined(NAME)` and C's integer operators. Other names count as 0.";
    BAD_DEFINE = 23, "a #define without a name",
        "Write `#define NAME value`; the value may be any text.";
    FUNCTION_LIKE_DEFINE = 24, "a #define with parameters",
        "Only names without parameters are replaced. Macros of the language do the rest, and do it safely: `macro twice(x) { x * 2 }`.";
    INCLUDE_IGNORED = 25, "a header that is not read",
        "Types come from the running kernel's BTF, so kernel headers are not needed. Constants that headers give by #define are not in BTF: write those your script uses at its top, as in `#define AF_INET 2`.";
    DEFINE_TOO_LARGE = 26, "definitions that grow without bounds",
        "A #define that names another several times, which does the same, grows exponentially. Expansion stops at a limit far beyond what scripts need.";
    ERROR_DIRECTIVE = 27, "the script's own #error or #warning",
        "The script asked for this message, usually because a condition it needs does not hold.";
    EXPECTED = 40, "something else was expected here",
        "The text breaks the grammar at this place. The message says what could have come next.";
    EXPECTED_EXPRESSION = 41, "a value was expected here",
        "An expression is missing: a literal, a variable `$x`, a map `@x`, a builtin such as `pid`, a call, or a parenthesised expression.";
    MISSING_SEMICOLON = 42, "a missing semicolon",
        "Statements are separated by `;`. None is needed after `}` or after the last statement of a block.";
    MISSING_BRACES = 43, "a body without braces",
        "The body of if, else, for, while and unroll always stands in braces, also when it is a single statement.";
    UNCLOSED_BLOCK = 44, "a brace is never closed",
        "A `{` has no `}`; the message shows where it was opened. When a new probe begins at the start of a line, the block before it is taken to end there.";
    UNCLOSED_BRACKET = 45, "a bracket is never closed",
        "A `(` or `[` has no partner.";
    STRAY_CLOSE = 46, "a closing brace too many",
        "This `}` closes nothing. Look for a block that was closed earlier than meant.";
    MISSING_BODY = 47, "attach points without a body",
        "A probe is its attach points, perhaps a predicate between slashes, and a body in braces: `kprobe:vfs_read /pid == 1/ { @ = count(); }`.";
    MISSING_COMMA = 48, "attach points that are not separated",
        "Several attach points share one body when commas stand between them. Text with blanks inside a point needs quotes: `uprobe:\"/opt/my app/bin\":main`.";
    UNCLOSED_PREDICATE = 49, "a predicate that is not closed",
        "A predicate stands between two slashes before the body: `/pid == 1/ {`. A division inside it is fine: the last slash before `{` closes it.";
    OUTSIDE_PROBE = 50, "a statement outside of any probe",
        "Statements run when something happens, so they stand inside a probe's braces. To run once at the start use `BEGIN { ... }`.";
    TOO_DEEP = 51, "nested too deep",
        "Parentheses, blocks or operators are nested deeper than the compiler follows. Kernel programs are small; split the expression with variables.";
    NOT_ASSIGNABLE = 52, "something that can't be assigned to",
        "Assignments go to a scratch variable `$x`, a map `@x` or `@x[key]`, or to `_` to discard a value.";
    BAD_STEP = 53, "++ or -- on something that is no place",
        "`++` and `--` change a scratch variable or a map; other values can't be changed.";
    BAD_TYPE = 54, "a malformed type",
        "Types are integers such as `uint64`, `string`, `struct x`, pointers `struct x *`, arrays `int32[4]` and tuples `(int64, string)`.";
    BAD_MEMBER = 55, "a malformed member of a C type",
        "Members of a struct are written as in C: `type name;`, `type name[4];`, `unsigned flags : 3;`. Function pointers are known as plain pointers.";
    DUPLICATE_CONFIG = 56, "more than one config block",
        "A script has at most one `config = { ... }`; put all settings into it.";
    BAD_CONFIG = 57, "a malformed setting",
        "Settings are written `name = value;` inside `config = { ... }`.";
    BAD_UNROLL = 58, "a malformed unroll",
        "`unroll` is followed by how often its body is repeated: `unroll(5) { ... }`, 1 to 100 times.";
    BAD_PARAMETER = 59, "a malformed parameter",
        "A macro's parameters are `$x` (by variable), `@m` (by map) or `x` (any expression); a function's are `$x: type`.";
    BAD_FOR = 60, "a malformed for loop",
        "Loops run over a map, `for ($kv : @m) { ... }`, or over a range whose end is not included, `for ($i : 0..10) { ... }`.";
    SINGLE_EQUALS = 61, "an assignment where a comparison was meant",
        "`=` assigns and is a statement; `==` compares.";
    WORD_OPERATOR = 62, "a word where an operator is meant",
        "Conditions are joined by signs, as in C: `&&` for and, `||` for or, `!` for not.";
    MORE_ERRORS = 65, "more errors than are told",
        "A hundred errors are told, and as many warnings: the first ones in the text, which the others often follow from. The rest is counted. Mend these, and check again.";
    UNKNOWN_MACRO_FORM = 80, "no macro of this name takes these arguments",
        "Macros are chosen by the number of arguments and by their kinds: `$x` takes only a variable, `@m` only a map, `x` any expression.";
    MACRO_RECURSION = 81, "macros that use each other without end",
        "A macro is replaced by its body. If the body uses the macro again, directly or through others, that never ends.";
    MACRO_MAP = 82, "a macro uses a map that it was not given",
        "Macros see only what they are given, so that they mean the same everywhere. Make the map a parameter: `macro f(@m) { ... }` and call `f(@m)`.";
    MACRO_DUPLICATE = 83, "two macros with the same parameters",
        "Macros may share a name if they differ in the number or kinds of their parameters.";
    EXPANSION_TOO_LARGE = 84, "macros expand to too much",
        "Macros that use others several times grow exponentially. Expansion stops at a limit far beyond what a kernel program can hold.";
    BAD_GETOPT = 85, "a malformed getopt",
        "`getopt(\"name\", default, \"help\")` needs a literal name and a literal default: an integer, a string or a boolean. Arguments are given after `--`: `-- --name=value`.";
    BAD_OPTION = 86, "an argument that does not fit its option",
        "An option with an integer default takes an integer, one with a boolean default takes true, false or nothing.";
    UNKNOWN_OPTION = 87, "an argument that the script does not ask for",
        "The script has no getopt of this name. Options the script knows are listed in the message.";
    IMPORT_FAILED = 89, "an import that can't be read",
        "The imported script could not be read; the message says why. Paths are relative to the importing script.";
    IMPORT_KIND = 90, "an import of a kind that is not supported",
        "Scripts (`.bt`) can be imported. C sources would need a C compiler at run time, which this program does without.";
    IMPORT_CONTENT = 91, "an imported script with settings",
        "Imports bring macros, functions, types, map declarations and probes. Settings belong to the script that is run.";
    NOT_CONSTANT = 92, "not known before the script runs",
        "`comptime` asks for a value that is known when the script is compiled: literals, sizes, options and arithmetic with them.";
    IMPORT_CYCLE = 93, "imports that need each other",
        "A script imports itself, directly or through others. Move what both need to a third file.";
    ASSERT_FAILED = 94, "the script's own assertion does not hold",
        "The script asked for this check with static_assert or fail, and its condition is false.";
    BAD_CONVERSION = 120, "an unknown conversion in a format",
        "Conversions are %d %i %u %x %X %o %c %p %s, %r %rx %rh for buffers, %gr for GFP flags, and %% for a percent sign, with C's flags, width, precision and length between.";
    UNFINISHED_CONVERSION = 121, "a format that ends inside a conversion",
        "A `%` begins a conversion; write `%%` for a percent sign.";
    FORMAT_TOO_WIDE = 122, "a width or precision beyond the limit",
        "Widths and precisions are limited so that a format can't fill memory.";
}
