//! Segments of a connection that come a second time, or before others: made of one that was seen, sent by a raw socket.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_quickack};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto, recv, sendto, socket};

/// Sends 7 bytes of a connection again, and 7 that are 100 bytes ahead. No segment of its own is as long, so that what a
/// slow machine sends again is told from them.
pub fn disorder() -> Option<()> {
    let seen = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::TCP)).ok()?;
    let sender = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).ok()?;
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let mut client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
    let (mut server, _) = listener.accept().ok()?;
    pass(&mut server, &mut client, b"hello")?;
    // What is answered is acknowledged with it, and not later.
    pass(&mut client, &mut server, b"x")?;
    pass(&mut server, &mut client, b"world")?;
    pass(&mut client, &mut server, b"y")?;
    pass(&mut server, &mut client, b"z")?;
    let ports = (listener.local_addr().ok()?.port(), client.local_addr().ok()?.port());
    let mut last = None;
    let mut buffer = [0_u8; 512];
    loop {
        match recv(&seen, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((_, length)) => {
                let packet = buffer.get(..length)?;
                let header = usize::from(packet.first()? & 15) * 4;
                if ports_of(packet)? == ports && packet.last() == Some(&b'z') {
                    last = Some((packet.to_vec(), header));
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let (last, header) = last?;
    // The answer to each of both names its first byte (RFC 2018, 2883): the connection stays until it has come.
    set_socket_timeout(&seen, Timeout::Recv, Some(Duration::from_secs(20))).ok()?;
    for (from_last, bytes) in [(-10_i32, b"hellowo"), (101, b"laterly")] {
        let packet = segment(&last, header, from_last, bytes)?;
        let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        sendto(&sender, &packet, SendFlags::empty(), &to).ok()?;
        await_answer(&seen, (ports.1, ports.0), packet.get(header + 4..header + 8)?)?;
    }
    Some(())
}

/// Waits for a segment between these ports whose options name the sequence number.
fn await_answer(seen: &OwnedFd, ports: (u16, u16), number: &[u8]) -> Option<()> {
    let mut buffer = [0_u8; 512];
    loop {
        let (_, length) = retry_on_intr(|| recv(seen, &mut buffer[..], RecvFlags::empty())).ok()?;
        let packet = buffer.get(..length)?;
        let header = usize::from(packet.first()? & 15) * 4;
        let options = packet.get(header + 20..).unwrap_or_default();
        if ports_of(packet)? == ports && options.windows(4).any(|word| word == number) {
            return Some(());
        }
    }
}

fn ports_of(packet: &[u8]) -> Option<(u16, u16)> {
    let header = usize::from(packet.first()? & 15) * 4;
    Some((word(packet, header)?, word(packet, header + 2)?))
}

fn pass(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) -> Option<()> {
    from.write_all(bytes).ok()?;
    to.read_exact(&mut vec![0; bytes.len()]).ok()?;
    // A slow machine would send again what is acknowledged late.
    set_tcp_quickack(&*to, true).ok()
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?))
}

/// A segment like another one: so far from it in the connection, with these bytes.
fn segment(like: &[u8], header: usize, from_it: i32, bytes: &[u8]) -> Option<Vec<u8>> {
    let length = usize::from(like.get(header + 12)? >> 4) * 4;
    let mut packet = like.get(..header + length)?.to_vec();
    let number = u32::from_be_bytes(packet.get(header + 4..header + 8)?.try_into().ok()?);
    packet.get_mut(header + 4..header + 8)?.copy_from_slice(&number.wrapping_add_signed(from_it).to_be_bytes());
    packet.extend(bytes);
    let total = (packet.len() as u16).to_be_bytes();
    packet.get_mut(2..4)?.copy_from_slice(&total);
    packet.get_mut(header + 16..header + 18)?.fill(0);
    let part = packet.get(header..)?;
    // Both addresses, the protocol and the length belong to what is summed.
    let mut summed = packet.get(12..20)?.to_vec();
    summed.extend([0, 6]);
    summed.extend((part.len() as u16).to_be_bytes());
    summed.extend(part);
    let sum = checksum(&summed).to_be_bytes();
    packet.get_mut(header + 16..header + 18)?.copy_from_slice(&sum);
    Some(packet)
}

fn checksum(bytes: &[u8]) -> u16 {
    let pair = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u64 = bytes.chunks(2).map(pair).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
