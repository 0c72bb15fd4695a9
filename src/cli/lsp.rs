//! `probescope lsp`: the language service for any editor, by the language server protocol on
//! standard input and output.

mod convert;
mod documents;
mod server;
mod transport;

use std::process::ExitCode;
use std::sync::Arc;

use lsp_server::{Connection, ErrorCode, Response};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, HoverProviderCapability,
    InitializeParams, OneOf, RenameOptions, ServerCapabilities, SignatureHelpOptions, TextDocumentSyncCapability,
    TextDocumentSyncKind, WorkDoneProgressOptions,
};

use super::{CliError, World};
use crate::kernel::Kernel;
use crate::lang::service::kernel::KernelKnowledge;
use crate::probe::catalogue::Background;
use crate::stdio;

/// Serve editors by the language server protocol on standard input and output.
///
/// Gives diagnostics as you type with their repairs, completion, hover, signature help, go to definition,
/// references, renaming, symbols and formatting for bpftrace scripts.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the subcommand until the editor ends it.
pub fn run(_: &Args, world: &World) -> Result<ExitCode, CliError> {
    let (connection, transport) =
        transport::Transport::start(std::io::stdin(), stdio::out()).map_err(CliError::stdout)?;
    let kernel = super::kernel::running(world);
    let catalogue = Background::spawn(Arc::clone(&kernel)).ok();
    let knowledge = KernelKnowledge::new(Arc::clone(&kernel), catalogue);
    let served = serve(&connection, &kernel, &knowledge);
    drop(connection);
    // What broke the stream says more than that it ended.
    match transport.end() {
        Err(error) => return Err(CliError::Refused(format!("the editor broke the protocol: {error}"))),
        Ok(written) => written.map_err(CliError::stdout)?,
    }
    served.map(|()| ExitCode::SUCCESS)
}

/// Speaks the protocol on a connection until it ends.
pub(crate) fn serve(connection: &Connection, kernel: &Kernel, knowledge: &KernelKnowledge) -> Result<(), CliError> {
    let broken = |error: &dyn std::fmt::Display| CliError::Refused(format!("the editor broke the protocol: {error}"));
    let capabilities = serde_json::to_value(capabilities()).map_err(|e| broken(&e))?;
    loop {
        let (id, parameters) = connection.initialize_start().map_err(|e| broken(&e))?;
        match serde_json::from_value::<InitializeParams>(parameters) {
            Ok(_) => {
                let result = serde_json::json!({ "capabilities": capabilities });
                connection.initialize_finish(id, result).map_err(|e| broken(&e))?;
                break;
            }
            // The editor may try again.
            Err(error) => {
                let refused = Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string());
                connection.sender.send(refused.into()).map_err(|e| broken(&e))?;
            }
        }
    }
    server::Server::new(connection, kernel, knowledge).run().map_err(|e| broken(&e))
}

fn capabilities() -> ServerCapabilities {
    let characters = |list: &[&str]| Some(list.iter().map(|c| (*c).to_owned()).collect());
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: characters(&[".", ">", "$", "@", ":"]),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: characters(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

#[cfg(test)]
mod tests;
