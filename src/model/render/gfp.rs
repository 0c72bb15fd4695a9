//! Page allocation flags by name (`%gr`).
//!
//! Names and values are those of the kernel's `include/linux/gfp_types.h`; the set and the order in
//! which combinations are recognised were read off bpftrace 0.27.1.

/// Combinations first, widest first, so that `GFP_KERNEL` is not shown as its three bits.
const FLAGS: &[(u64, &str)] = &[
    (0x020d_20ca | 0xc00, "GFP_TRANSHUGE"),
    (0x0210_0cca, "GFP_HIGHUSER_MOVABLE"),
    (0x0010_0cc2, "GFP_HIGHUSER"),
    (0x0010_0cc0, "GFP_USER"),
    (0x0040_0cc0, "GFP_KERNEL_ACCOUNT"),
    (0x0cc0, "GFP_KERNEL"),
    (0x0c40, "GFP_NOFS"),
    (0x0820, "GFP_ATOMIC"),
    (0x0c00, "GFP_NOIO"),
    (0x2800, "GFP_NOWAIT"),
    (1, "GFP_DMA"),
    (1 << 1, "__GFP_HIGHMEM"),
    (1 << 2, "GFP_DMA32"),
    (1 << 5, "__GFP_HIGH"),
    (1 << 6, "__GFP_IO"),
    (1 << 7, "__GFP_FS"),
    (1 << 8, "__GFP_ZERO"),
    (1 << 10, "__GFP_DIRECT_RECLAIM"),
    (1 << 11, "__GFP_KSWAPD_RECLAIM"),
    (1 << 12, "__GFP_WRITE"),
    (1 << 13, "__GFP_NOWARN"),
    (1 << 14, "__GFP_RETRY_MAYFAIL"),
    (1 << 15, "__GFP_NOFAIL"),
    (1 << 16, "__GFP_NORETRY"),
    (1 << 17, "__GFP_MEMALLOC"),
    (1 << 18, "__GFP_COMP"),
    (1 << 19, "__GFP_NOMEMALLOC"),
    (1 << 20, "__GFP_HARDWALL"),
    (1 << 21, "__GFP_THISNODE"),
    (1 << 22, "__GFP_ACCOUNT"),
    (1 << 23, "__GFP_ZEROTAGS"),
    (1 << 24, "__GFP_SKIP_ZERO"),
    (1 << 25, "__GFP_SKIP_KASAN"),
    (1 << 26, "__GFP_NO_OBJ_EXT"),
];

/// The flags joined by `|`; bits without a name as one hexadecimal number at the end.
pub(super) fn names(flags: u64) -> String {
    if flags == 0 {
        return "0".into();
    }
    let mut rest = flags;
    let mut text = String::new();
    for (bits, name) in FLAGS {
        if rest & bits == *bits {
            push(&mut text, name);
            rest &= !bits;
        }
    }
    if rest != 0 {
        push(&mut text, &format!("{rest:#x}"));
    }
    text
}

fn push(text: &mut String, name: &str) {
    if !text.is_empty() {
        text.push('|');
    }
    text.push_str(name);
}
