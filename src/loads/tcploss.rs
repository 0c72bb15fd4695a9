//! TCP segments without an answer.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::{Load, LoadError, Plan, Truth, proc};

pub const LOAD: Load = Load {
    name: "tcploss",
    about: "Connects to a server whose queue is full: its SYN goes unanswered and is sent again.",
    truth: &[
        ("port", "the server's port on 127.0.0.1"),
        ("accepted", "connections that fitted the server's queue"),
        ("unanswered", "connections that got no answer"),
        ("retransmits", "segments that they sent again, at least, as the kernel counts them (/proc/net/tcp)"),
    ],
    run,
};

/// Long enough for the second retransmission of a SYN, which follows three seconds after it.
const PATIENCE: Duration = Duration::from_millis(3400);

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let failed = LoadError::at("listen on", "127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(&failed)?;
    let address = listener.local_addr().map_err(&failed)?;
    // Calling it again sets the length of the queue: one waits beside the one that is being taken.
    rustix::net::listen(&listener, 0).map_err(|e| failed(e.into()))?;
    let mut accepted = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        accepted.push(stream);
    }
    let patience = plan.bounded(PATIENCE);
    let waiting = std::thread::spawn(move || TcpStream::connect_timeout(&address, patience).is_err());
    let mut retransmits = 0;
    while !waiting.is_finished() {
        retransmits = retransmits.max(retransmitted(&proc::read("/proc/net/tcp")?, address.port()));
        std::thread::sleep(Duration::from_millis(20));
    }
    let unanswered = waiting.join().unwrap_or(false);
    Ok(Truth::new()
        .with("port", address.port())
        .with("accepted", accepted.len())
        .with("unanswered", u64::from(unanswered))
        .with("retransmits", retransmits))
}

/// The largest count of retransmissions of sockets in SYN_SENT (2) to this port.
fn retransmitted(table: &str, port: u16) -> u64 {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let remote = fields.get(2)?.rsplit(':').next()?;
        let is_it = u16::from_str_radix(remote, 16).ok()? == port && *fields.get(3)? == "02";
        is_it.then(|| u64::from_str_radix(fields.get(6)?, 16).ok())?
    };
    table.lines().filter_map(of_line).max().unwrap_or(0)
}
