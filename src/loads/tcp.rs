//! TCP connections over the loopback device, by IPv4 and IPv6.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::{Load, LoadError, Plan, Truth, name_thread};

pub const LOAD: Load = Load {
    name: "tcp",
    about: "Connects to a server of its own by IPv4 and IPv6; some connections are refused or broken off.",
    truth: &[
        ("connections_v4", "connections by IPv4; the last one without a byte"),
        ("connections_v6", "connections by IPv6; the last one without a byte"),
        ("sent_bytes", "bytes from the clients"),
        ("answered_bytes", "bytes from the server, named tcp-server"),
        ("refused", "connections to a port where nobody listens"),
        ("resets", "connections that the client broke off before it read what had come"),
        ("port_v4", "the server's port by IPv4"),
        ("port_v6", "the server's port by IPv6; 0 where this machine has none"),
        ("reset_port", "the port of the connections that were broken off"),
        ("refused_port", "the port where nobody listens"),
    ],
    run,
};

/// What was exchanged with one server.
#[derive(Default)]
struct Exchanged {
    connections: u64,
    sent: u64,
    answered: u64,
    port: u16,
}

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let mut next = |low, high| random.between(low, high);
    let v4 = exchange(plan, "127.0.0.1:0", next(5, 12), next(100, 20_000), next(100, 20_000))?;
    let (count, sent, answered) = (next(5, 12), next(100, 20_000), next(100, 20_000));
    // A machine may be without IPv6.
    let v6 = if TcpListener::bind("[::1]:0").is_ok() {
        exchange(plan, "[::1]:0", count, sent, answered)?
    } else {
        Exchanged::default()
    };
    let (refused, refused_port) = refuse(next(3, 9))?;
    let (resets, reset_port) = reset(next(3, 9))?;
    Ok(Truth::new()
        .with("connections_v4", v4.connections)
        .with("connections_v6", v6.connections)
        .with("sent_bytes", v4.sent + v6.sent)
        .with("answered_bytes", v4.answered + v6.answered)
        .with("refused", refused)
        .with("resets", resets)
        .with("port_v4", v4.port)
        .with("port_v6", v6.port)
        .with("reset_port", reset_port)
        .with("refused_port", refused_port))
}

fn listen(at: &str) -> Result<(TcpListener, SocketAddr), LoadError> {
    let failed = LoadError::at("listen on", at);
    let listener = TcpListener::bind(at).map_err(&failed)?;
    let address = listener.local_addr().map_err(&failed)?;
    Ok((listener, address))
}

/// Connections one after the other: the client sends and says that this is all, the server answers and closes.
fn exchange(plan: &Plan, at: &str, wanted: u64, sent: u64, answered: u64) -> Result<Exchanged, LoadError> {
    let (listener, address) = listen(at)?;
    let failed = LoadError::at("exchange bytes with", address);
    let server = std::thread::spawn(move || {
        name_thread("tcp-server");
        while let Ok((mut stream, _)) = listener.accept() {
            let mut bytes = Vec::new();
            let read = stream.read_to_end(&mut bytes);
            // A connection without a byte ends the server.
            if read.is_err() || bytes.is_empty() || stream.write_all(&vec![b'a'; answered as usize]).is_err() {
                return;
            }
        }
    });
    let mut done = Exchanged { port: address.port(), ..Exchanged::default() };
    while done.connections < wanted && plan.has_time() {
        let mut stream = TcpStream::connect(address).map_err(&failed)?;
        stream.write_all(&vec![b's'; sent as usize]).map_err(&failed)?;
        stream.shutdown(std::net::Shutdown::Write).map_err(&failed)?;
        let got = stream.read_to_end(&mut Vec::new()).map_err(&failed)?;
        done.sent += sent;
        done.answered += got as u64;
        done.connections += 1;
    }
    drop(TcpStream::connect(address).map_err(&failed)?);
    done.connections += 1;
    let _ = server.join();
    Ok(done)
}

fn refuse(wanted: u64) -> Result<(u64, u16), LoadError> {
    // A port that is free, as one listened there until now.
    let (listener, address) = listen("127.0.0.1:0")?;
    drop(listener);
    let refused = |_: &u64| TcpStream::connect(address).is_err_and(|e| e.raw_os_error() == Some(libc::ECONNREFUSED));
    Ok(((0..wanted).filter(refused).count() as u64, address.port()))
}

fn reset(wanted: u64) -> Result<(u64, u16), LoadError> {
    let (listener, address) = listen("127.0.0.1:0")?;
    let failed = LoadError::at("break off a connection to", address);
    for _ in 0..wanted {
        let client = TcpStream::connect(address).map_err(&failed)?;
        let (mut server, _) = listener.accept().map_err(&failed)?;
        server.write_all(b"hello").map_err(&failed)?;
        // Here already, and never read.
        client.peek(&mut [0; 5]).map_err(&failed)?;
        drop(client);
        let _ = server.read_to_end(&mut Vec::new());
    }
    Ok((wanted, address.port()))
}
