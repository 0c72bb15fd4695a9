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
    let number = "99999999999999999999999";
    assert_eq!(first(&format!("Content-Length: {number}\r\n\r\n")), Err(BrokenStream::BadLength(number.into())));
    assert_eq!(first("Content-Length: -1\r\n\r\n"), Err(BrokenStream::BadLength("-1".into())));
    assert_eq!(first("Content-Type: x\r\n\r\n"), Err(BrokenStream::NoLength));
    assert_eq!(first("hello\n"), Err(BrokenStream::NoHeader("hello".into())));
    assert_eq!(first("{\"id\":1}\n"), Err(BrokenStream::NoHeader("{\"id\":1}".into())));
    assert_eq!(first("my id: 1\n"), Err(BrokenStream::NoHeader("my id: 1".into())));
    assert_eq!(first("\r\n"), Err(BrokenStream::NoLength));
    assert_eq!(first("Content-Length: 3\r\n\r\n{}"), Err(BrokenStream::Ended));
    assert_eq!(first("Content-Length: 3"), Err(BrokenStream::Ended));
    assert_eq!(first(&"x".repeat(1 << 20)), Err(BrokenStream::Header));
    assert_eq!(first(&"x: y\n".repeat(1 << 10)), Err(BrokenStream::Header));
}

/// Never ends, as an editor's stream does not while the editor waits.
struct Waiting<'a>(&'a [u8]);

impl Read for Waiting<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        assert!(!self.0.is_empty(), "waits for more than there is");
        self.0.read(into)
    }
}

#[test]
fn nothing_more_is_waited_for_where_no_header_begins() {
    let mut input = BufReader::new(Waiting(b"{\"jsonrpc\":\"2.0\",\"id\":1}"));
    assert!(matches!(read_body(&mut input), Err(BrokenStream::NoHeader(_))));
    // A length that is too short: what follows is no header.
    let mut input = BufReader::new(Waiting(b"Content-Length: 2\r\n\r\n{}}"));
    assert_eq!(read_body(&mut input), Ok(Some(b"{}".to_vec())));
    assert_eq!(read_body(&mut input), Err(BrokenStream::NoHeader("}".into())));
}

#[test]
fn what_is_no_message_is_answered() {
    let code =
        |body: &str| parse(body.as_bytes()).map(|_| ()).map_err(|e| (e["id"].clone(), e["error"]["code"].clone()));
    assert_eq!(code("{"), Err((Value::Null, json!(-32700))));
    assert_eq!(code("\u{7f}"), Err((Value::Null, json!(-32700))));
    assert_eq!(code("[]"), Err((Value::Null, json!(-32600))));
    assert_eq!(code("{\"id\":7,\"method\":[]}"), Err((json!(7), json!(-32600))));
    assert_eq!(code("{\"id\":[1],\"method\":\"x\"}"), Err((Value::Null, json!(-32600))));
    assert_eq!(code("{\"id\":1,\"method\":\"x\"}"), Ok(()));
}

#[test]
fn an_unreadable_message_leaves_the_next_one_readable() {
    let input = "Content-Length: 3\r\n\r\n{{{Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}";
    let (connection, transport) = Transport::start(input.as_bytes(), std::io::sink()).unwrap();
    assert!(matches!(connection.receiver.recv().unwrap(), Message::Notification(note) if note.method == "exit"));
    drop(connection);
    assert!(transport.end().unwrap().is_ok());
}
