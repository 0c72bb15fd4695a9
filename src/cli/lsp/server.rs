//! The server's loop: one message after the other, each answered from the text as it is now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, LogMessage, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, Formatting, GotoDefinition,
    HoverRequest, PrepareRenameRequest, References, Rename, Request as _, Shutdown, SignatureHelpRequest,
};
use lsp_types::{
    CompletionList, CompletionResponse, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DocumentHighlight, DocumentSymbol, DocumentSymbolResponse, GotoDefinitionResponse,
    Hover, HoverContents, Location, LogMessageParams, MarkupContent, MarkupKind, MessageType, ParameterInformation,
    ParameterLabel, PrepareRenameResponse, PublishDiagnosticsParams, SignatureHelp, SignatureInformation,
    TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::convert;
use super::documents::Document;
use crate::kernel::Kernel;
use crate::lang::front::FrontOptions;
use crate::lang::service::kernel::KernelKnowledge;
use crate::lang::service::{RenameError, ServiceEnv};
use crate::lang::source::SourceText;
use crate::lang::{self, front_end};
use crate::regular;
use crate::session::front::LARGEST_IMPORT;

/// How long an editor is silent before changed scripts are checked.
const REST: Duration = Duration::from_millis(15);

/// Why the conversation ended early.
type Broken = Box<dyn std::error::Error + Send + Sync>;

pub(super) struct Server<'a> {
    connection: &'a Connection,
    kernel: &'a Kernel,
    knowledge: &'a KernelKnowledge,
    /// Open scripts by their address.
    open: HashMap<Uri, Document>,
}

impl<'a> Server<'a> {
    pub fn new(connection: &'a Connection, kernel: &'a Kernel, knowledge: &'a KernelKnowledge) -> Self {
        Self { connection, kernel, knowledge, open: HashMap::new() }
    }

    pub fn run(mut self) -> Result<(), Broken> {
        while let Some(message) = self.next()? {
            match message {
                Message::Request(request) => {
                    if request.method == CodeActionRequest::METHOD {
                        self.check_stale()?;
                    }
                    if request.method == Shutdown::METHOD {
                        self.connection.sender.send(Message::Response(Response::new_ok(request.id, ())))?;
                        return self.wait_for_exit();
                    }
                    let response = self.answer(request);
                    self.connection.sender.send(Message::Response(response))?;
                }
                Message::Notification(note) => self.note(note)?,
                Message::Response(_) => {}
            }
        }
        Ok(())
    }

    /// After `shutdown`: notifications that were under way are nothing to tell of, requests are refused.
    fn wait_for_exit(&self) -> Result<(), Broken> {
        for message in &self.connection.receiver {
            match message {
                Message::Notification(note) if note.method == Exit::METHOD => break,
                Message::Request(request) => {
                    let code = ErrorCode::InvalidRequest as i32;
                    let refused = Response::new_err(request.id, code, "the server is shutting down".to_owned());
                    self.connection.sender.send(Message::Response(refused))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The next message; `None` at the end. Who types faster than scripts are checked has the last text
    /// checked, not each: that waits for a rest. The channel holds no messages, so that its being empty
    /// would say nothing.
    fn next(&mut self) -> Result<Option<Message>, Broken> {
        let receiver = &self.connection.receiver;
        if self.open.values().any(|document| document.stale) {
            match receiver.recv_timeout(REST) {
                Ok(message) => return Ok(Some(message)),
                Err(none) if none.is_disconnected() => return Ok(None),
                Err(_) => self.check_stale()?,
            }
        }
        Ok(receiver.recv().ok())
    }

    fn answer(&self, request: Request) -> Response {
        match request.method.as_str() {
            Completion::METHOD => {
                with(request, |p: lsp_types::CompletionParams| self.completion(&p.text_document_position))
            }
            HoverRequest::METHOD => {
                with(request, |p: lsp_types::HoverParams| self.hover(&p.text_document_position_params))
            }
            SignatureHelpRequest::METHOD => {
                with(request, |p: lsp_types::SignatureHelpParams| self.signature(&p.text_document_position_params))
            }
            GotoDefinition::METHOD => {
                with(request, |p: lsp_types::GotoDefinitionParams| self.definition(&p.text_document_position_params))
            }
            References::METHOD => {
                with(request, |p: lsp_types::ReferenceParams| self.references(&p.text_document_position))
            }
            DocumentHighlightRequest::METHOD => with(request, |p: lsp_types::DocumentHighlightParams| {
                let found = self.references(&p.text_document_position_params).unwrap_or_default();
                let highlight = |l: Location| DocumentHighlight { range: l.range, kind: None };
                found.into_iter().map(highlight).collect::<Vec<_>>()
            }),
            PrepareRenameRequest::METHOD => with(request, |p: TextDocumentPositionParams| self.renamable(&p)),
            Rename::METHOD => with_result(request, |p: lsp_types::RenameParams| self.rename(&p)),
            DocumentSymbolRequest::METHOD => {
                with(request, |p: lsp_types::DocumentSymbolParams| self.symbols(&p.text_document.uri))
            }
            CodeActionRequest::METHOD => with(request, |p: lsp_types::CodeActionParams| {
                let uri = p.text_document.uri;
                self.open.get(&uri).map(|document| document.actions(&uri, p.range))
            }),
            Formatting::METHOD => {
                with(request, |p: lsp_types::DocumentFormattingParams| self.formatting(&p.text_document.uri))
            }
            other => {
                let message = format!("`{other}` is not supported");
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message)
            }
        }
    }

    fn note(&mut self, note: Notification) -> Result<(), Broken> {
        let method = note.method.clone();
        let malformed = |error: serde_json::Error| format!("`{method}` was left aside: {error}");
        let done = match note.method.as_str() {
            DidOpenTextDocument::METHOD => serde_json::from_value(note.params).map(|p| self.opened(p)),
            DidChangeTextDocument::METHOD => serde_json::from_value(note.params).map(|p| self.changed(p)),
            DidCloseTextDocument::METHOD => match serde_json::from_value(note.params) {
                Ok(p) => return self.closed(p),
                Err(error) => Err(error),
            },
            _ => Ok(()),
        };
        // Nobody waits for an answer, and the conversation goes on.
        done.map_err(malformed).or_else(|message| self.log(message))
    }

    fn opened(&mut self, p: DidOpenTextDocumentParams) {
        let document = p.text_document;
        self.open.insert(document.uri.clone(), Document::new(&document.uri, &document.text, document.version));
    }

    fn changed(&mut self, p: DidChangeTextDocumentParams) {
        if let Some(document) = self.open.get_mut(&p.text_document.uri) {
            document.change(p.content_changes, p.text_document.version);
        }
    }

    fn closed(&mut self, p: DidCloseTextDocumentParams) -> Result<(), Broken> {
        self.open.remove(&p.text_document.uri);
        self.publish(p.text_document.uri, Vec::new(), None)
    }

    /// Checks the scripts whose text changed, and tells what is wrong with them.
    fn check_stale(&mut self) -> Result<(), Broken> {
        let mut told = Vec::new();
        for (uri, document) in self.open.iter_mut().filter(|(_, document)| document.stale) {
            let folder = folder_of(uri);
            let load = |path: &str| regular::text(&folder.join(path), LARGEST_IMPORT).map_err(|e| e.to_string());
            let options = FrontOptions { load: &load, unsafe_allowed: true, ..FrontOptions::new(self.kernel) };
            let found = lang::compile(&document.source, &options).diagnostics;
            told.push((uri.clone(), document.checked(uri, found), document.version));
        }
        told.into_iter().try_for_each(|(uri, found, version)| self.publish(uri, found, version))
    }

    /// Tells the editor's log.
    fn log(&self, message: String) -> Result<(), Broken> {
        let parameters = LogMessageParams { typ: MessageType::WARNING, message };
        let note = Notification::new(LogMessage::METHOD.to_owned(), parameters);
        self.connection.sender.send(Message::Notification(note))?;
        Ok(())
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<lsp_types::Diagnostic>, version: Option<i32>) -> Result<(), Broken> {
        let parameters = PublishDiagnosticsParams { uri, diagnostics, version };
        let note = Notification::new(PublishDiagnostics::METHOD.to_owned(), parameters);
        self.connection.sender.send(Message::Notification(note))?;
        Ok(())
    }

    fn env(&self) -> ServiceEnv<'_> {
        ServiceEnv { knowledge: self.knowledge }
    }

    fn at(&self, place: &TextDocumentPositionParams) -> Option<(&SourceText, u32)> {
        let source = &self.open.get(&place.text_document.uri)?.source;
        Some((source, convert::offset(source, place.position)))
    }

    fn completion(&self, place: &TextDocumentPositionParams) -> Option<CompletionResponse> {
        let (source, offset) = self.at(place)?;
        let found = front_end(source).completions(source, offset, &self.env()).into_iter().enumerate();
        let items = found.map(|(order, c)| convert::completion(source, order, c)).collect();
        // Incomplete: probes are searched anew at every key.
        Some(CompletionResponse::List(CompletionList { is_incomplete: true, items }))
    }

    fn hover(&self, place: &TextDocumentPositionParams) -> Option<Hover> {
        let (source, offset) = self.at(place)?;
        let hover = front_end(source).hover(source, offset, &self.env())?;
        let value = format!("```bpftrace\n{}\n```\n{}", hover.code, hover.doc);
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
        Some(Hover { contents, range: Some(convert::range(source, hover.span)) })
    }

    fn signature(&self, place: &TextDocumentPositionParams) -> Option<SignatureHelp> {
        let (source, offset) = self.at(place)?;
        let help = front_end(source).signature_help(source, offset)?;
        let parameter = |(start, end): &(usize, usize)| ParameterInformation {
            label: ParameterLabel::Simple(help.label.get(*start..*end).unwrap_or("").to_owned()),
            documentation: None,
        };
        let active = u32::try_from(help.active).ok();
        let signature = SignatureInformation {
            parameters: Some(help.parameters.iter().map(parameter).collect()),
            documentation: Some(lsp_types::Documentation::String(help.doc)),
            active_parameter: active,
            label: help.label,
        };
        Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter: active })
    }

    fn definition(&self, place: &TextDocumentPositionParams) -> Option<GotoDefinitionResponse> {
        let (source, offset) = self.at(place)?;
        if let Some(path) = front_end(source).imported(source, offset) {
            return imported(&place.text_document.uri, &path);
        }
        let span = front_end(source).definition(source, offset)?;
        let uri = place.text_document.uri.clone();
        Some(GotoDefinitionResponse::Scalar(Location { uri, range: convert::range(source, span) }))
    }

    fn references(&self, place: &TextDocumentPositionParams) -> Option<Vec<Location>> {
        let (source, offset) = self.at(place)?;
        let location = |span| Location { uri: place.text_document.uri.clone(), range: convert::range(source, span) };
        Some(front_end(source).references(source, offset).into_iter().map(location).collect())
    }

    fn renamable(&self, place: &TextDocumentPositionParams) -> Option<PrepareRenameResponse> {
        let (source, offset) = self.at(place)?;
        Some(PrepareRenameResponse::Range(convert::range(source, front_end(source).renamable(source, offset)?)))
    }

    fn rename(&self, p: &lsp_types::RenameParams) -> Result<Option<WorkspaceEdit>, RenameError> {
        let place = &p.text_document_position;
        let Some((source, offset)) = self.at(place) else { return Ok(None) };
        let edits = front_end(source).rename(source, offset, &p.new_name)?.into_iter();
        let edits = edits.map(|(span, new_text)| TextEdit { range: convert::range(source, span), new_text });
        Ok(Some(convert::edits_of(&place.text_document.uri, edits.collect())))
    }

    fn symbols(&self, uri: &Uri) -> Option<DocumentSymbolResponse> {
        let source = &self.open.get(uri)?.source;
        let symbols = front_end(source).symbols(source).into_iter().map(|s| {
            #[allow(deprecated, reason = "the field is part of the struct")]
            DocumentSymbol {
                name: s.name,
                detail: None,
                kind: convert::symbol_kind(s.kind),
                tags: None,
                deprecated: None,
                range: convert::range(source, s.span),
                selection_range: convert::range(source, s.selection),
                children: None,
            }
        });
        Some(DocumentSymbolResponse::Nested(symbols.collect()))
    }

    fn formatting(&self, uri: &Uri) -> Option<Vec<TextEdit>> {
        let source = &self.open.get(uri)?.source;
        let new_text = front_end(source).format(source)?;
        if *new_text == *source.text {
            return Some(Vec::new());
        }
        Some(vec![TextEdit { range: convert::everything(source), new_text }])
    }
}

/// Reads a request's parameters and answers it.
fn with<P: DeserializeOwned, R: Serialize>(request: Request, work: impl FnOnce(P) -> R) -> Response {
    with_result(request, |parameters| Ok::<R, std::convert::Infallible>(work(parameters)))
}

/// As [`with`], for what may be refused.
fn with_result<P: DeserializeOwned, R: Serialize, E: std::fmt::Display>(
    request: Request,
    work: impl FnOnce(P) -> Result<R, E>,
) -> Response {
    let method = request.method.clone();
    let id: RequestId = request.id.clone();
    match request.extract::<P>(&method) {
        Ok((id, parameters)) => match work(parameters) {
            Ok(answer) => Response::new_ok(id, answer),
            Err(error) => Response::new_err(id, ErrorCode::RequestFailed as i32, error.to_string()),
        },
        Err(ExtractError::JsonError { error, .. }) => {
            Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string())
        }
        Err(ExtractError::MethodMismatch(_)) => Response::new_err(id, ErrorCode::InternalError as i32, method),
    }
}

/// The folder of a script, for its imports.
fn folder_of(uri: &Uri) -> PathBuf {
    let path = decoded(uri.as_str().strip_prefix("file://").unwrap_or(""));
    Path::new(&path).parent().map(Path::to_owned).unwrap_or_default()
}

/// A path with `%20` and the like resolved.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| *first == b'%').and_then(|h| std::str::from_utf8(h).ok());
        if let Some(byte) = hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or(&[]);
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The file that an import names, in the folder of the script that imports it.
fn imported(script: &Uri, path: &str) -> Option<GotoDefinitionResponse> {
    let file = folder_of(script).join(path);
    if path.starts_with('/') || !file.is_file() {
        return None;
    }
    let folder = script.as_str().rsplit_once('/')?.0;
    let uri = format!("{folder}/{path}").parse().ok()?;
    Some(GotoDefinitionResponse::Scalar(Location { uri, range: lsp_types::Range::default() }))
}
