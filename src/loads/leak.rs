//! A leak: blocks of the C library of which some are never freed.

use super::memory::Block;
use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "leak",
    about: "Takes blocks from the C library by malloc, calloc and realloc, and frees only some.",
    truth: &[
        ("mallocs", "calls of malloc"),
        ("callocs", "calls of calloc"),
        ("reallocs", "calls of realloc"),
        ("frees", "calls of free"),
        ("leaked_blocks", "blocks that were never freed"),
        ("leaked_bytes", "bytes in them, as they were asked for"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let none = || LoadError::Absent { what: "memory", reason: "the C library gave none".to_owned() };
    let mut random = plan.random();
    let wanted = random.between(200, 400);
    let (mut mallocs, mut callocs, mut reallocs, mut frees, mut leaked, mut bytes) =
        (0_u64, 0_u64, 0_u64, 0_u64, 0_u64, 0);
    for _ in 0..wanted {
        let mut size = random.between(1, 5000);
        let mut block = if random.between(0, 3) == 0 {
            callocs += 1;
            Block::zeroed(1, size as usize).ok_or_else(none)?
        } else {
            mallocs += 1;
            Block::allocate(size as usize).ok_or_else(none)?
        };
        if random.between(0, 4) == 0 {
            reallocs += 1;
            size = random.between(1, 9000);
            block = block.resized(size as usize).ok_or_else(none)?;
        }
        if random.between(0, 2) == 0 {
            // Forgotten by purpose: `Block` frees nothing when dropped.
            leaked += 1;
            bytes += size;
        } else {
            frees += 1;
            block.free();
        }
    }
    Ok(Truth::new()
        .with("mallocs", mallocs)
        .with("callocs", callocs)
        .with("reallocs", reallocs)
        .with("frees", frees)
        .with("leaked_blocks", leaked)
        .with("leaked_bytes", bytes))
}
