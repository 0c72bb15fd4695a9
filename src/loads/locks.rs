//! A lock convoy: threads wait for one word in memory, and all go on at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::{Load, LoadError, Plan, Truth, name_thread, proc};

pub const LOAD: Load = Load {
    name: "locks",
    about: "Threads named lock-waiter sleep in futex until the holder lets all of them go.",
    truth: &[
        ("threads", "threads that waited"),
        ("rounds", "times that the lock was let go"),
        ("waits", "calls of futex that waited"),
        ("wait_ns", "time in them, all threads together, measured around each call"),
        ("held_ms", "time that the holder kept the lock while all waited, each round"),
    ],
    run,
};

/// What waiters and holder share.
#[derive(Debug, Default)]
struct Shared {
    word: AtomicU32,
    waits: AtomicU64,
    nanoseconds: AtomicU64,
    ids: [AtomicU32; MOST],
}

const MOST: usize = 6;

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let threads = random.between(3, MOST as u64) as usize;
    let wanted = random.between(3, 6) as u32;
    let held = Duration::from_millis(random.between(20, 40));
    let shared = Arc::new(Shared::default());
    let waiters = (0..threads).map(|number| {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || wait_rounds(&shared, number, wanted))
    });
    let waiters: Vec<_> = waiters.collect();
    for round in 0..wanted {
        while !all_sleep(&shared, threads) {
            std::thread::yield_now();
        }
        std::thread::sleep(held);
        shared.word.store(round + 1, Ordering::SeqCst);
        let error = LoadError::at("wake who waits for", "the lock");
        futex::wake(&shared.word, futex::Flags::PRIVATE, u32::MAX >> 1).map_err(|e| error(e.into()))?;
    }
    for waiter in waiters {
        let _ = waiter.join();
    }
    Ok(Truth::new()
        .with("threads", threads)
        .with("rounds", wanted)
        .with("waits", shared.waits.load(Ordering::SeqCst))
        .with("wait_ns", shared.nanoseconds.load(Ordering::SeqCst))
        .with("held_ms", held.as_millis() as u64))
}

fn wait_rounds(shared: &Shared, number: usize, rounds: u32) {
    name_thread("lock-waiter");
    shared.ids[number].store(proc::thread_id(), Ordering::SeqCst);
    for round in 0..rounds {
        while shared.word.load(Ordering::SeqCst) == round {
            let began = Instant::now();
            // That the word has changed is found by the loop.
            let _ = futex::wait(&shared.word, futex::Flags::PRIVATE, round, None);
            shared.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::SeqCst);
            shared.waits.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// All waiters sleep, and have nothing else to sleep in than the lock.
fn all_sleep(shared: &Shared, threads: usize) -> bool {
    let ids = shared.ids[..threads].iter().map(|id| id.load(Ordering::SeqCst));
    ids.into_iter().all(|id| id != 0 && proc::state(id) == Some('S'))
}
