use super::*;

fn first(text: &str) -> Result<Option<Vec<u8>>, BrokenStream> {
    read_body(&mut text.as_bytes())
}

#[test]
fn messages_follow_one_another() {
    let mut input = "Content-Type: x\r\ncontent-length: 2\r\n\r\n{}Content-Length:1\n\n1".as_bytes();
    assert_eq!(read_body(&mut input), Ok(Some(b"{}".to_vec())));
    assert_eq!(read_body(&mut input), Ok(Some(b"1".to_vec())));
    assert_eq!(read_body(&mut input), Ok(None));
}

#[test]
fn what_breaks_the_protocol_is_told_and_never_held() {
    assert_eq!(first("Content-Length: 99999999999\r\n\r\n"), Err(BrokenStream::TooLong(99_999_999_999)));
    assert_eq!(first("Content-Length: 99999999999999999999999\r\n\r\n"), Err(BrokenStream::NoLength));
    assert_eq!(first("\r\n"), Err(BrokenStream::NoLength));
    assert_eq!(first("Content-Length: 3\r\n\r\n{}"), Err(BrokenStream::Ended));
    assert_eq!(first("Content-Length: 3"), Err(BrokenStream::Ended));
    assert_eq!(first(&"x".repeat(1 << 20)), Err(BrokenStream::Header));
    assert_eq!(first(&"x: y\n".repeat(1 << 10)), Err(BrokenStream::Header));
}

#[test]
fn an_unreadable_message_leaves_the_next_one_readable() {
    let input = "Content-Length: 3\r\n\r\n{{{Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}";
    let (connection, transport) = Transport::start(input.as_bytes(), std::io::sink()).unwrap();
    assert!(matches!(connection.receiver.recv().unwrap(), Message::Notification(note) if note.method == "exit"));
    drop(connection);
    assert!(transport.end().unwrap().is_ok());
}
