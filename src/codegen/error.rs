//! Why a typed program can't become a BPF object.

use crate::lang::diagnostic::{Code, Diagnostic};
use crate::lang::source::Span;

/// Code of every diagnostic that comes from the compiler's back end.
pub const CODE: Code = crate::lang::codes::run::LIMIT;

/// Why a typed program can't become a BPF object; each carries the place in the script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// A construct needs something that the target kernel does not have.
    #[error("{what} needs {needs}, which this kernel does not have")]
    Unsupported {
        /// The place in the script.
        span: Span,
        /// The construct, in the script's words.
        what: String,
        /// The kernel feature, with the version that brought it.
        needs: String,
        /// What to do instead.
        hint: Option<String>,
    },
    /// A limit of the compiler or of the instruction set is exceeded.
    #[error("{what} is too large: {size}, and the limit is {limit}")]
    TooLarge {
        /// The place in the script.
        span: Span,
        /// What has the size, in the script's words.
        what: String,
        /// Its size.
        size: u64,
        /// The most that is allowed.
        limit: u64,
        /// What to do instead.
        hint: Option<String>,
    },
    /// What the verifier refuses on every kernel, or what is missing to the script elsewhere than in the kernel.
    #[error("{what}")]
    Refused {
        /// The place in the script.
        span: Span,
        /// What is refused and why, in the script's words.
        what: String,
        /// What to write instead.
        hint: String,
    },
    /// The values of one program do not fit the kernel's stack of 512 bytes.
    #[error("this probe needs {bytes} bytes of stack in `{function}`, and the kernel gives {limit}")]
    Stack {
        /// The place in the script of the largest value.
        span: Span,
        /// Function whose frame is too big.
        function: String,
        /// Bytes needed by the chain of calls.
        bytes: u32,
        /// Bytes that the kernel gives.
        limit: u32,
        /// The largest values: where they are made and their bytes, largest first.
        values: Vec<(Span, u32)>,
    },
    /// A jump spans more instructions than its 16-bit offset can say.
    #[error("this part of the script compiles to {distance} instructions in one jump, and the limit is 32767")]
    JumpTooFar {
        /// The place in the script of the jump.
        span: Span,
        /// Instructions between the jump and its target.
        distance: i64,
    },
    /// The compiler broke one of its own rules; always a bug of ours.
    #[error("the compiler made a mistake in `{function}`: {detail}")]
    Internal {
        /// The place in the script.
        span: Span,
        /// Function being compiled.
        function: String,
        /// Which rule was broken.
        detail: String,
    },
}

impl CodegenError {
    /// A compiler bug in `function` at `span`.
    #[must_use]
    pub fn internal(span: Span, function: &str, detail: impl Into<String>) -> Self {
        Self::Internal { span, function: function.to_owned(), detail: detail.into() }
    }

    /// The construct `what` needs the kernel feature `needs`.
    #[must_use]
    pub fn unsupported(span: Span, what: impl Into<String>, needs: impl Into<String>) -> Self {
        Self::Unsupported { span, what: what.into(), needs: needs.into(), hint: None }
    }

    /// Adds what to do instead, where the error has room for it.
    #[must_use]
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Unsupported { hint, .. } | Self::TooLarge { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// The place in the script.
    #[must_use]
    pub const fn span(&self) -> Span {
        match self {
            Self::Unsupported { span, .. }
            | Self::TooLarge { span, .. }
            | Self::Refused { span, .. }
            | Self::Stack { span, .. }
            | Self::JumpTooFar { span, .. }
            | Self::Internal { span, .. } => *span,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unsupported { hint, .. } | Self::TooLarge { hint, .. } => hint.as_deref(),
            Self::Refused { hint, .. } => Some(hint),
            Self::Stack { .. } => Some("use shorter strings or fewer variables, or keep large values in a map"),
            Self::JumpTooFar { .. } => Some("split the probe, or make the body of this branch or loop smaller"),
            Self::Internal { .. } => Some("this is a bug in probescope: please report it with the script"),
        }
    }

    /// The same as an error that every face can show.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(CODE, self.span(), self.to_string());
        if let Some(hint) = self.hint() {
            diagnostic = diagnostic.help(hint);
        }
        if let Self::Stack { values, .. } = self {
            for (span, bytes) in values.iter().filter(|(span, _)| !span.is_empty()) {
                diagnostic = diagnostic.label(*span, format!("{bytes} bytes"));
            }
        }
        diagnostic
    }
}
