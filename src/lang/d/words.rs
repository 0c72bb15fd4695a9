//! The language's reserved words and the types that it knows by name.

/// Words that begin a declaration.
const DECLARATION_WORDS: &[&str] = &[
    "auto", "char", "const", "double", "enum", "extern", "float", "int", "long", "register", "restrict", "self",
    "short", "signed", "static", "string", "struct", "this", "typedef", "union", "unsigned", "void", "volatile",
];

/// Words without a meaning that are kept for one.
const RESERVED: &[&str] = &[
    "break", "case", "continue", "counter", "default", "do", "else", "for", "goto", "if", "import", "probe", "return",
    "switch", "while",
];

/// The type of an entry of what a process has open, in another system.
pub const OPEN_FILE: &str = "uf_entry_t";

/// The type of an address of version 6, which the language's library has for the kernel's own.
pub const ADDRESS_6: &str = "in6_addr_t";

/// Names of the kernel's integers that do not end as names of types do.
pub fn is_word_of_kernel(name: &str) -> bool {
    let plain = name.trim_start_matches('_');
    let sizes = ["8", "16", "32", "64"];
    name == "bool" || ["u", "s", "be", "le"].iter().any(|p| plain.strip_prefix(p).is_some_and(|n| sizes.contains(&n)))
}

/// Storage classes.
pub const CLASSES: &[&str] = &["auto", "extern", "register", "self", "static", "this", "typedef"];

/// Words that headers of C have in declarations and that say nothing here.
pub const OF_COMPILERS: &[&str] =
    &["__const", "__extension__", "__inline", "__inline__", "__restrict", "__restrict__", "__signed__", "__volatile__"];

/// Integer types by name: bytes and whether signed.
pub const INTEGERS: &[(&str, u8, bool)] = &[
    ("int8_t", 1, true),
    ("int16_t", 2, true),
    ("int32_t", 4, true),
    ("int64_t", 8, true),
    ("intptr_t", 8, true),
    ("ssize_t", 8, true),
    ("uint8_t", 1, false),
    ("uint16_t", 2, false),
    ("uint32_t", 4, false),
    ("uint64_t", 8, false),
    ("uchar_t", 1, false),
    ("ushort_t", 2, false),
    ("uint_t", 4, false),
    ("ulong_t", 8, false),
    ("u_longlong_t", 8, false),
    ("longlong_t", 8, true),
    ("ptrdiff_t", 8, true),
    ("uintptr_t", 8, false),
    ("size_t", 8, false),
    ("id_t", 4, false),
    ("uid_t", 4, false),
    ("gid_t", 4, false),
    ("pid_t", 4, true),
    ("zoneid_t", 4, true),
    ("taskid_t", 4, true),
    ("projid_t", 4, true),
    ("poolid_t", 4, true),
    ("processorid_t", 4, true),
    ("psetid_t", 4, true),
    ("chipid_t", 4, true),
    ("lgrp_id_t", 4, true),
    ("dev_t", 4, false),
    ("mode_t", 4, false),
    ("off_t", 8, true),
    ("time_t", 8, true),
    ("hrtime_t", 8, true),
    ("caddr_t", 8, false),
    ("uintmax_t", 8, false),
    ("intmax_t", 8, true),
    ("offset_t", 8, true),
    ("ipaddr_t", 4, false),
    ("in_addr_t", 4, false),
    ("boolean_t", 4, true),
    ("daddr_t", 8, true),
    ("uint", 4, false),
    ("ushort", 2, false),
    ("ulong", 8, false),
    ("u_char", 1, false),
    ("u_short", 2, false),
    ("u_int", 4, false),
    ("u_long", 8, false),
    ("__uint8_t", 1, false),
    ("__uint16_t", 2, false),
    ("__uint32_t", 4, false),
    ("__uint64_t", 8, false),
    ("__int8_t", 1, true),
    ("__int16_t", 2, true),
    ("__int32_t", 4, true),
    ("__int64_t", 8, true),
    ("__u8", 1, false),
    ("__u16", 2, false),
    ("__u32", 4, false),
    ("__u64", 8, false),
    ("__s8", 1, true),
    ("__s16", 2, true),
    ("__s32", 4, true),
    ("__s64", 8, true),
    ("bool", 1, false),
    ("_Bool", 1, false),
];

/// `const` and its kin.
pub fn is_qualifier(word: &str) -> bool {
    matches!(word, "const" | "volatile" | "restrict")
}

/// Whether a word begins a declaration.
pub fn begins_declaration(word: &str) -> bool {
    DECLARATION_WORDS.contains(&word)
}

/// Whether a word may not be a name.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word) || (begins_declaration(word) && !matches!(word, "self" | "this"))
}

/// Whether a word begins a type's name: of C's words or of the types that are always there.
pub fn is_type_word(word: &str) -> bool {
    let of_class = CLASSES.contains(&word);
    (begins_declaration(word) && !of_class) || INTEGERS.iter().any(|(name, ..)| *name == word)
}
