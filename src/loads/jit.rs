//! Functions that are made at run time, with the list of their names that profilers read.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::memory::{Code, Pages};
use super::{Load, LoadError, Plan, Truth, proc};

pub const LOAD: Load = Load {
    name: "jit",
    about: "Makes three functions at run time, names them in /tmp/perf-PID.map, and spends known shares of its time in them.",
    truth: &[
        ("map", "the file with their names, removed at the end"),
        ("jit_small_ms", "time in calls of jit_small, about a sixth"),
        ("jit_middle_ms", "time in calls of jit_middle, about a third"),
        ("jit_large_ms", "time in calls of jit_large, about a half"),
        ("run_ns", "time on a CPU, all together, as the kernel counts it (schedstat)"),
    ],
    run,
};

/// Counts its argument down to 0.
#[cfg(target_arch = "x86_64")]
const COUNT_DOWN: &[u8] = &[
    0x48, 0x89, 0xf8, // mov rax, rdi
    0x48, 0x85, 0xc0, // test rax, rax
    0x74, 0x05, // jz to the end
    0x48, 0xff, 0xc8, // dec rax
    0x75, 0xfb, // jnz back to it
    0xc3, // ret
];
#[cfg(target_arch = "aarch64")]
const COUNT_DOWN: &[u8] = &[
    0x60, 0x00, 0x00, 0xb4, // cbz x0, to the end
    0x00, 0x04, 0x00, 0xf1, // subs x0, x0, 1
    0xe1, 0xff, 0xff, 0x54, // b.ne back to it
    0xc0, 0x03, 0x5f, 0xd6, // ret
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const COUNT_DOWN: &[u8] = &[];

/// Names of the functions, and their sixths of the time.
const FUNCTIONS: [(&str, u32); 3] = [("jit_small", 1), ("jit_middle", 2), ("jit_large", 3)];
/// Each function lies this far behind the one before.
const STRIDE: usize = 64;

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    if COUNT_DOWN.is_empty() {
        let reason = "nobody wrote any for this processor".to_owned();
        return Err(LoadError::Absent { what: "code to make at run time", reason });
    }
    let mut text = vec![0; STRIDE * FUNCTIONS.len()];
    for function in text.chunks_mut(STRIDE) {
        function[..COUNT_DOWN.len()].copy_from_slice(COUNT_DOWN);
    }
    let code = Pages::fresh(1)?.into_code(&text)?;
    let names = Names::write(&code)?;
    let sixth = plan.bounded(Duration::from_millis(900)) / 6;
    let before = proc::schedstat(proc::thread_id())?[0];
    let spent: Vec<u64> = FUNCTIONS
        .iter()
        .enumerate()
        .map(|(place, (_, sixths))| {
            let began = Instant::now();
            while began.elapsed() < sixth * *sixths {
                code.call(place * STRIDE, 100_000);
            }
            began.elapsed().as_millis() as u64
        })
        .collect();
    let run = proc::schedstat(proc::thread_id())?[0] - before;
    Ok(Truth::new()
        .with("map", names.0.display().to_string())
        .with("jit_small_ms", spent[0])
        .with("jit_middle_ms", spent[1])
        .with("jit_large_ms", spent[2])
        .with("run_ns", run))
}

/// The file of names, removed when dropped.
struct Names(PathBuf);

impl Names {
    fn write(code: &Code) -> Result<Self, LoadError> {
        let path = PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()));
        let line = |(place, (name, _)): (usize, &(&str, u32))| {
            format!("{:x} {:x} {name}\n", code.address(place * STRIDE), COUNT_DOWN.len())
        };
        let text: String = FUNCTIONS.iter().enumerate().map(line).collect();
        fs::write(&path, text).map_err(LoadError::at("write", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
