//! The workbench as a terminal sees it: from exec to the first frame, from a key to the frame that
//! answers it, and what it costs while nothing happens.

use std::time::{Duration, Instant};

use super::terminal::Workbench;
use super::tool::median;

const ROUNDS: usize = 21;

/// The figures, with what they are held against.
pub fn workbench() {
    println!("\nthe workbench on a terminal of 120x40");
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let Ok(workbench) = Workbench::open() else {
            println!("  left out: no pseudo-terminal can be opened");
            return;
        };
        match workbench.frame_with(b"probescope") {
            Some(at) => times.push((at - workbench.started).as_secs_f64() * 1e3),
            None => println!("  no frame came"),
        }
        workbench.close();
    }
    let worst = times.iter().copied().fold(0.0, f64::max);
    println!(
        "  exec to first frame: {:.1} ms (median of {ROUNDS}, slowest {worst:.1} ms; at most 50 wanted)",
        median(times)
    );
    let Ok(mut workbench) = Workbench::open() else { return };
    // All probes are read once the browser says how many there are.
    workbench.press("/");
    let _ = workbench.frame_with(b"Fires once");
    std::thread::sleep(Duration::from_secs(4));
    while workbench.output.try_recv().is_ok() {}
    let mut keys = Vec::new();
    for _ in 0..12 {
        for key in "openat".chars().map(String::from).chain(std::iter::repeat_n("\x7f".to_owned(), 6)) {
            let at = workbench.press(&key);
            if let Some(shown) = workbench.last_frame(Duration::from_millis(60)) {
                keys.push((shown - at).as_secs_f64() * 1e3);
            }
        }
    }
    keys.sort_by(f64::total_cmp);
    let p99 = keys.get(keys.len() * 99 / 100).copied().unwrap_or(f64::NAN);
    println!(
        "  key to list of probes: {:.1} ms, p99 {p99:.1} ms ({} keys; at most 16 wanted)",
        median(keys.clone()),
        keys.len()
    );
    workbench.press("\x1b");
    std::thread::sleep(Duration::from_secs(1));
    if let (Some(before), start) = (workbench.use_of(), Instant::now()) {
        std::thread::sleep(Duration::from_secs(5));
        if let Some(after) = workbench.use_of() {
            let share = (after.0 - before.0) / start.elapsed().as_secs_f64() / 10.0;
            println!("  idle: {share:.2} % of a core, {:.0} MB (at most 1 % and 60 MB wanted)", after.1);
        }
    }
    workbench.close();
}
