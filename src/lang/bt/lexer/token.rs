//! What tokens are.

use crate::lang::source::Span;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands in the script: messages point here.
    pub span: Span,
    /// Where its text is: the same place, or inside the `#define` that gave it.
    pub text: Span,
}

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "punctuation is named after its symbol")]
pub enum TokenKind {
    /// `#!...` on the first line.
    Shebang,
    /// `// ...` or `/* ... */`.
    Comment,
    /// A preprocessor line.
    Directive,
    /// Text left out by the preprocessor.
    Inactive,
    /// An attach point, or the name before `=` of a named probe.
    Point,
    /// A name or a keyword.
    Word,
    /// An integer or duration.
    Int,
    /// `"..."`, quotes included.
    Str,
    /// `$x`.
    Variable,
    /// `$1`.
    Positional,
    /// `$#`.
    PositionalCount,
    /// `@` or `@x`.
    Map,
    LBrace,
    RBrace,
    LParen,
    RParen,
    LBracket,
    RBracket,
    Comma,
    Semicolon,
    Colon,
    Question,
    Dot,
    DotDot,
    Arrow,
    Assign,
    Plus,
    PlusPlus,
    PlusAssign,
    Minus,
    MinusMinus,
    MinusAssign,
    Star,
    StarAssign,
    Slash,
    SlashAssign,
    Percent,
    PercentAssign,
    Amp,
    AmpAmp,
    AmpAssign,
    Pipe,
    PipePipe,
    PipeAssign,
    Caret,
    CaretAssign,
    Tilde,
    Bang,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    ShlAssign,
    Shr,
    ShrAssign,
    /// A probe begins at the start of a line although braces are still open: they end here.
    Unclosed,
    /// Nothing of the language.
    Unknown,
    /// End of the text.
    Eof,
}

impl TokenKind {
    /// True for what the parser does not see.
    #[must_use]
    pub const fn is_trivia(self) -> bool {
        matches!(self, Self::Shebang | Self::Comment | Self::Directive | Self::Inactive)
    }
}

/// Punctuation, longest first.
pub(super) const PUNCTUATION: &[(&str, TokenKind)] = &[
    ("<<=", TokenKind::ShlAssign),
    (">>=", TokenKind::ShrAssign),
    ("..", TokenKind::DotDot),
    ("->", TokenKind::Arrow),
    ("++", TokenKind::PlusPlus),
    ("+=", TokenKind::PlusAssign),
    ("--", TokenKind::MinusMinus),
    ("-=", TokenKind::MinusAssign),
    ("*=", TokenKind::StarAssign),
    ("/=", TokenKind::SlashAssign),
    ("%=", TokenKind::PercentAssign),
    ("&&", TokenKind::AmpAmp),
    ("&=", TokenKind::AmpAssign),
    ("||", TokenKind::PipePipe),
    ("|=", TokenKind::PipeAssign),
    ("^=", TokenKind::CaretAssign),
    ("==", TokenKind::Eq),
    ("!=", TokenKind::Ne),
    ("<=", TokenKind::Le),
    (">=", TokenKind::Ge),
    ("<<", TokenKind::Shl),
    (">>", TokenKind::Shr),
    ("{", TokenKind::LBrace),
    ("}", TokenKind::RBrace),
    ("(", TokenKind::LParen),
    (")", TokenKind::RParen),
    ("[", TokenKind::LBracket),
    ("]", TokenKind::RBracket),
    (",", TokenKind::Comma),
    (";", TokenKind::Semicolon),
    (":", TokenKind::Colon),
    ("?", TokenKind::Question),
    (".", TokenKind::Dot),
    ("=", TokenKind::Assign),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    ("%", TokenKind::Percent),
    ("&", TokenKind::Amp),
    ("|", TokenKind::Pipe),
    ("^", TokenKind::Caret),
    ("~", TokenKind::Tilde),
    ("!", TokenKind::Bang),
    ("<", TokenKind::Lt),
    (">", TokenKind::Gt),
];
