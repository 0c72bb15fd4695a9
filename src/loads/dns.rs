//! Names that are looked up, and a name server of its own that answers.

use std::net::{ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use super::{Load, LoadError, Plan, Truth, name_thread};

pub const LOAD: Load = Load {
    name: "dns",
    about: "Looks names up through the C library, and asks a name server of its own over UDP.",
    truth: &[
        ("lookups", "calls of getaddrinfo for `localhost`, which succeed"),
        ("failed_lookups", "calls of getaddrinfo for `nosuch..invalid`, which is no name and fails at once"),
        ("queries", "queries to the server of its own, named dns-server"),
        ("query_bytes", "bytes of them, without headers"),
        ("answers", "answers from there"),
        ("answer_bytes", "bytes of them, without headers"),
        ("port", "the server's port on 127.0.0.1"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let mut look_up = |name: &str, found: bool| {
        let times = random.between(3, 9);
        (0..times).filter(|_| (name, 80).to_socket_addrs().is_ok() == found).count() as u64
    };
    let (lookups, failed_lookups) = (look_up("localhost", true), look_up("nosuch..invalid", false));
    let failed = LoadError::at("use", "a socket on 127.0.0.1");
    let server = UdpSocket::bind("127.0.0.1:0").map_err(&failed)?;
    let address = server.local_addr().map_err(&failed)?;
    let client = UdpSocket::bind("127.0.0.1:0").map_err(&failed)?;
    client.set_read_timeout(Some(Duration::from_secs(5))).map_err(&failed)?;
    client.connect(address).map_err(&failed)?;
    let wanted = random.between(5, 15);
    let serving = std::thread::spawn(move || serve(&server));
    let (mut queries, mut answers, mut sent, mut received) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut buffer = [0; 512];
    while queries < wanted && plan.has_time() {
        let query = query(queries as u16);
        sent += client.send(&query).map_err(&failed)? as u64;
        queries += 1;
        received += client.recv(&mut buffer).map_err(&failed)? as u64;
        answers += 1;
    }
    // One byte is no query: the server ends.
    let _ = client.send(&[0]);
    let _ = serving.join();
    Ok(Truth::new()
        .with("lookups", lookups)
        .with("failed_lookups", failed_lookups)
        .with("queries", queries)
        .with("query_bytes", sent)
        .with("answers", answers)
        .with("answer_bytes", received)
        .with("port", address.port()))
}

/// A question for the address of `hNUMBER.test` (RFC 1035).
fn query(number: u16) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    // Recursion desired, one question.
    bytes.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in [format!("h{number}"), "test".to_owned()] {
        bytes.push(label.len() as u8);
        bytes.extend(label.as_bytes());
    }
    // The root, type A, class IN.
    bytes.extend([0, 0, 1, 0, 1]);
    bytes
}

/// Answers each question with 192.0.2.1, after two milliseconds.
fn serve(server: &UdpSocket) {
    name_thread("dns-server");
    let mut buffer = [0; 512];
    while let Ok((length, from)) = server.recv_from(&mut buffer) {
        if length < 12 {
            return;
        }
        let mut answer = buffer[..length].to_vec();
        // A response, one answer.
        (answer[2], answer[7]) = (0x81, 1);
        // The question's name, type A, class IN, a minute, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1]);
        std::thread::sleep(Duration::from_millis(2));
        let _ = server.send_to(&answer, from);
    }
}
