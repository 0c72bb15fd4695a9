//! `probescope lsp` as an editor meets it: the real program, over standard input and output.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for one message: far over what is ever needed, so that only a hang ends here.
const PATIENCE: Duration = Duration::from_secs(30);

/// Made so that every service has something to say on every kernel: no kernel probe, no root.
const SCRIPT: &str = "macro twice($x) { $x * 2 }\n\
                      begin\n\
                      {\n\
                      \x20   @counts[comm] = count();\n\
                      \x20   $n = strlen(comm);\n\
                      \x20   printf(\"%d\\n\", pid);\n\
                      \x20   $m = twice($n);\n\
                      \x20   @coun\n\
                      }\n";

struct Editor {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
}

impl Editor {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_probescope"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, from) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            loop {
                let mut length = None;
                loop {
                    let mut line = String::new();
                    if output.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    if let Some(n) = line.strip_prefix("Content-Length: ") {
                        length = n.trim().parse().ok();
                    }
                    if line == "\r\n" {
                        break;
                    }
                }
                let mut body = vec![0; length.unwrap()];
                output.read_exact(&mut body).unwrap();
                if sender.send(serde_json::from_slice(&body).unwrap()).is_err() {
                    return;
                }
            }
        });
        let to = child.stdin.take().unwrap();
        Self { child, to, from, next: 0 }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.to.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Waits for a message that is what is wanted; others are of no interest.
    fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.from.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("never heard {what}"));
            if wanted(&message) {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.wait(method, |m| m["id"] == json!(id));
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn diagnostics(&self) -> Value {
        let note = self.wait("diagnostics", |m| m["method"] == "textDocument/publishDiagnostics");
        note["params"]["diagnostics"].clone()
    }

    /// The result of a question about the place just after some text of [`SCRIPT`].
    fn about(&mut self, method: &str, text: &str) -> Value {
        let end = SCRIPT.find(text).unwrap() + text.len();
        let line = SCRIPT[..end].matches('\n').count();
        let character = end - SCRIPT[..end].rfind('\n').map_or(0, |at| at + 1);
        let position = json!({ "line": line, "character": character });
        self.ask(method, &json!({ "textDocument": { "uri": "file:///a.bt" }, "position": position }))
    }
}

fn labels(completion: &Value) -> Vec<String> {
    let items = completion.as_array().or_else(|| completion["items"].as_array()).unwrap();
    items.iter().map(|i| i["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_editor_is_served_from_its_first_word_to_its_last() {
    let mut editor = Editor::start();
    let server = editor.ask("initialize", &json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    for ability in
        ["completionProvider", "hoverProvider", "signatureHelpProvider", "definitionProvider", "renameProvider"]
    {
        assert!(!server["capabilities"][ability].is_null(), "{ability}: {server}");
    }
    editor.tell("initialized", &json!({}));

    let document = json!({ "uri": "file:///a.bt", "languageId": "bpftrace", "version": 1, "text": SCRIPT });
    editor.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    let wrong = editor.diagnostics();
    let unwritten = wrong.as_array().unwrap().iter().find(|d| d["code"] == "P0408").unwrap();
    assert_eq!(unwritten["range"]["start"], json!({ "line": 7, "character": 4 }), "{unwritten}");

    let maps = labels(&editor.about("textDocument/completion", "twice($n);\n    @coun"));
    assert!(maps.contains(&"@counts".to_owned()), "{maps:?}");
    let builtins = labels(&editor.about("textDocument/completion", "strlen(co"));
    assert!(builtins.iter().any(|l| l == "comm"), "{builtins:?}");

    let hover = editor.about("textDocument/hover", "= strl").to_string();
    assert!(hover.contains("strlen"), "{hover}");
    let help = editor.about("textDocument/signatureHelp", "printf(\"%d\\n\",").to_string();
    assert!(help.contains("printf(fmt") && help.contains("\"activeParameter\":1"), "{help}");
    let place = editor.about("textDocument/definition", "$m = twi").to_string();
    assert!(place.contains("\"line\":0"), "the macro: {place}");

    let mended = SCRIPT.replace("    @coun\n", "  @counts[comm]=count()\n");
    let change = json!({
        "textDocument": { "uri": "file:///a.bt", "version": 2 },
        "contentChanges": [{ "text": mended }],
    });
    editor.tell("textDocument/didChange", &change);
    let left = editor.diagnostics();
    assert!(left.as_array().unwrap().iter().all(|d| d["severity"] != 1), "{left}");
    let options = json!({ "tabSize": 4, "insertSpaces": true });
    let edits = editor
        .ask("textDocument/formatting", &json!({ "textDocument": { "uri": "file:///a.bt" }, "options": options }));
    assert!(edits[0]["newText"].as_str().unwrap().contains("    @counts[comm] = count();\n"), "{edits}");

    assert!(editor.ask("shutdown", &Value::Null).is_null());
    editor.tell("exit", &Value::Null);
    assert!(editor.child.wait().unwrap().success());
}
