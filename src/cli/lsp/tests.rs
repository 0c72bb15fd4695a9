use std::sync::Arc;

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value, json};

use super::serve;
use crate::kernel::{Kernel, Roots};
use crate::lang::service::kernel::KernelKnowledge;

/// An editor that talks to a server on another thread; the kernel is an empty folder.
struct Editor {
    connection: Connection,
    next: i32,
    server: Option<std::thread::JoinHandle<()>>,
}

impl Editor {
    fn start() -> Self {
        let (theirs, ours) = Connection::memory();
        let server = std::thread::spawn(move || {
            let kernel = Arc::new(Kernel::new(Roots::fixture("/nonexistent")));
            let knowledge = KernelKnowledge::new(Arc::clone(&kernel), None);
            serve(&theirs, &kernel, &knowledge).unwrap();
        });
        let mut editor = Self { connection: ours, next: 0, server: Some(server) };
        let answer = editor.ask("initialize", json!({ "capabilities": {} }));
        assert_eq!(answer["capabilities"]["hoverProvider"], json!(true));
        editor.tell("initialized", json!({}));
        editor
    }

    fn tell(&self, method: &str, params: Value) {
        self.connection.sender.send(Message::Notification(Notification::new(method.into(), params))).unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.connection.sender.send(Message::Request(Request::new(self.next.into(), method.into(), params))).unwrap();
        loop {
            if let Message::Response(response) = self.connection.receiver.recv().unwrap() {
                return response.response_result.unwrap_or(Value::Null);
            }
        }
    }

    /// Opens a script and returns its diagnostics.
    fn open(&self, text: &str) -> Value {
        let document = json!({ "uri": "file:///a.bt", "languageId": "bpftrace", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics()
    }

    fn diagnostics(&self) -> Value {
        loop {
            if let Message::Notification(note) = self.connection.receiver.recv().unwrap() {
                return note.params["diagnostics"].clone();
            }
        }
    }

    fn at(&mut self, method: &str, line: u32, character: u32) -> Value {
        let place =
            json!({ "textDocument": { "uri": "file:///a.bt" }, "position": { "line": line, "character": character } });
        self.ask(method, place)
    }

    fn stop(mut self) {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.server.take().unwrap().join().unwrap();
    }
}

#[test]
fn mistakes_are_told_and_go_away_when_mended() {
    let editor = Editor::start();
    let found = editor.open("BEGIN { $é = 1; }\nBEGIN { print(\"😀\", ; }\n");
    let second = found.as_array().unwrap().iter().find(|d| d["code"] == "P0041").unwrap();
    // The column counts UTF-16 units: the emoji is two.
    assert_eq!(second["range"]["start"], json!({ "line": 1, "character": 20 }));
    let change = json!({ "textDocument": { "uri": "file:///a.bt", "version": 2 }, "contentChanges": [{ "text": "BEGIN { exit(); }\n" }] });
    editor.tell("textDocument/didChange", change);
    assert_eq!(editor.diagnostics(), json!([]));
    editor.stop();
}

#[test]
fn the_service_answers_by_the_protocol() {
    let mut editor = Editor::start();
    editor.open("macro m($a) { $a }\nBEGIN{@start[pid]=nsecs;m($x);lhist(1,2);@st}\n");
    let completion = editor.at("textDocument/completion", 1, 44);
    assert_eq!(completion["items"][0]["label"], "@start");
    assert_eq!(completion["items"][0]["textEdit"]["range"]["start"]["character"], 41);
    let hover = editor.at("textDocument/hover", 1, 14);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("pid: uint32"), "{hover}");
    let help = editor.at("textDocument/signatureHelp", 1, 38);
    assert_eq!(help["signatures"][0]["activeParameter"], 1);
    let definition = editor.at("textDocument/definition", 1, 24);
    assert_eq!(definition["range"]["start"], json!({ "line": 0, "character": 6 }));
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": "file:///a.bt" } }));
    assert_eq!(symbols[1]["name"], "BEGIN");
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let edits =
        editor.ask("textDocument/formatting", json!({ "textDocument": { "uri": "file:///a.bt" }, "options": options }));
    assert!(edits[0]["newText"].as_str().unwrap().contains("BEGIN { @start[pid] = nsecs;"), "{edits}");
    assert_eq!(editor.ask("textDocument/nonsense", json!({})), Value::Null);
    editor.stop();
}
