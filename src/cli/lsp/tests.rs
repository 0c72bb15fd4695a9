use std::sync::Arc;

use lsp_server::{Connection, Message, Notification, Request};
use serde_json::{Value, json};

use super::serve;
use crate::kernel::{Kernel, Roots};
use crate::lang::service::kernel::KernelKnowledge;

/// Serves on a kernel that is an empty folder.
fn serve_nothing(connection: &Connection) {
    let kernel = Arc::new(Kernel::new(Roots::fixture("/nonexistent")));
    let knowledge = KernelKnowledge::new(Arc::clone(&kernel), None);
    serve(connection, &kernel, &knowledge).unwrap();
}

/// An editor that talks to a server on another thread; the kernel is an empty folder.
struct Editor {
    connection: Connection,
    next: i32,
    server: Option<std::thread::JoinHandle<()>>,
}

impl Editor {
    fn start() -> Self {
        let (theirs, ours) = Connection::memory();
        let server = std::thread::spawn(move || serve_nothing(&theirs));
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
fn the_last_of_many_changes_is_checked() {
    let (theirs, ours) = Connection::memory();
    let mut editor = Editor { connection: ours, next: 0, server: None };
    let uri = "file:///a.bt";
    // All of it is there before the server looks.
    let ask = |id: i32, method: &str, params| {
        let request = Request::new(id.into(), method.into(), params);
        editor.connection.sender.send(Message::Request(request)).unwrap();
    };
    ask(0, "initialize", json!({ "capabilities": {} }));
    editor.tell("initialized", json!({}));
    let document = json!({ "uri": uri, "languageId": "bpftrace", "version": 1, "text": "BEGIN" });
    editor.tell("textDocument/didOpen", json!({ "textDocument": document }));
    for version in 2..=30 {
        let change =
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": "BEGIN {" }] });
        editor.tell("textDocument/didChange", change);
    }
    editor.server = Some(std::thread::spawn(move || serve_nothing(&theirs)));
    let told = loop {
        match editor.connection.receiver.recv().unwrap() {
            Message::Notification(note) if note.method == "textDocument/publishDiagnostics" => break note.params,
            _ => {}
        }
    };
    assert_eq!(told["version"], 30);
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

#[test]
fn changes_of_a_part_count_utf16_units() {
    let mut editor = Editor::start();
    assert_eq!(editor.open("// 😀x\nbegin { exit(); }\n"), json!([]));
    let at = |line: u32, from: u32, to: u32| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
    let changes = json!([
        { "range": at(0, 5, 6), "text": " world\n//" },
        { "range": at(2, 8, 12), "text": "pid" },
        // Past every end, and backwards: the text's end.
        { "range": { "start": { "line": 99, "character": 7 }, "end": { "line": 98, "character": 0 } }, "text": "end { @ = 1; }" },
    ]);
    let document = json!({ "uri": "file:///a.bt", "version": 2 });
    editor.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": document }));
    assert_eq!((&symbols[0]["range"]["start"]["line"], &symbols[1]["name"]), (&json!(2), &json!("end")), "{symbols}");
    let hover = editor.at("textDocument/hover", 2, 9);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("pid([namespace])"), "{hover}");
    editor.stop();
}

#[test]
fn a_mistake_that_can_be_repaired_comes_with_the_repair() {
    let mut editor = Editor::start();
    editor.open("begin { prnt(1); }\nend { exit(); }\n");
    let mut ask = |line: u32| {
        let place = json!({ "line": line, "character": 9 });
        let range = json!({ "start": place, "end": place });
        let document = json!({ "uri": "file:///a.bt" });
        let context = json!({ "diagnostics": [] });
        editor.ask("textDocument/codeAction", json!({ "textDocument": document, "range": range, "context": context }))
    };
    let actions = ask(0);
    assert_eq!(actions[0]["title"], "Replace `prnt` with `print`");
    let edit = &actions[0]["edit"]["changes"]["file:///a.bt"][0];
    assert_eq!((&edit["newText"], &edit["range"]["start"]["character"]), (&json!("print"), &json!(8)));
    assert_eq!(ask(1), json!([]));
    editor.stop();
}

#[test]
fn a_malformed_notification_does_not_end_the_conversation() {
    let mut editor = Editor::start();
    editor.open("begin { print(pid); }\n");
    editor.tell("textDocument/didChange", json!({ "rubbish": 1 }));
    editor.tell("textDocument/didOpen", json!(["rubbish"]));
    let hover = editor.at("textDocument/hover", 0, 15);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("pid: uint32"), "{hover}");
    editor.stop();
}

#[test]
fn a_name_is_found_and_changed_everywhere() {
    let mut editor = Editor::start();
    editor.open("BEGIN { @é = 1; @a = 1; }\nEND { print(@a); }\n");
    let lines = |found: &Value| -> Vec<u64> {
        let ranges = found.as_array().unwrap().iter().map(|l| l.get("range").unwrap_or(l).clone());
        ranges.map(|r| r["start"]["line"].as_u64().unwrap()).collect()
    };
    let context = json!({ "includeDeclaration": true });
    let place = |line: u32, character: u32| json!({ "textDocument": { "uri": "file:///a.bt" }, "position": { "line": line, "character": character } });
    let mut asked = place(1, 13);
    asked["context"] = context;
    assert_eq!(lines(&editor.ask("textDocument/references", asked)), [0, 1]);
    assert_eq!(lines(&editor.at("textDocument/documentHighlight", 0, 17)), [0, 1]);
    let range = editor.at("textDocument/prepareRename", 0, 17);
    assert_eq!((&range["start"]["character"], &range["end"]["character"]), (&json!(16), &json!(18)));
    assert_eq!(editor.at("textDocument/prepareRename", 1, 7), Value::Null, "`print` is not the script's");
    let mut asked = place(0, 17);
    asked["newName"] = json!("counts");
    let edit = editor.ask("textDocument/rename", asked.clone());
    let edits = edit["changes"]["file:///a.bt"].clone();
    assert_eq!(lines(&edits), [0, 1]);
    assert_eq!(edits[1]["newText"], json!("@counts"));
    asked["newName"] = json!("not a name");
    assert_eq!(editor.ask("textDocument/rename", asked), Value::Null);
    editor.stop();
}
