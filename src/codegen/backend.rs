//! IR to a standard BPF ELF object: optimise, give registers a place, emit, link.
//!
//! The same module gives the same bytes. What the kernel refuses by its own static limits (stack,
//! jump distance) is refused here with the place in the script.

use crate::lang::source::{Position, SourceText, Span};

use super::error::CodegenError;
use super::ir::{FuncId, Function, Linkage, Module};
use super::verifier::scrub_dead::DeadPlaces;
use super::verifier::{self, open_loops};

pub mod btf;
pub mod disasm;
pub mod elf;
pub mod emit;
pub mod frame;
pub mod helper;
pub mod insn;
pub mod legal;
mod link;
pub mod opt;
pub mod regs;

use emit::{Code, Target};

/// Most instructions that the kernel takes in one program (`BPF_COMPLEXITY_LIMIT_INSNS`).
pub const INSTRUCTION_LIMIT: usize = 1_000_000;

/// The script's text, for line information.
#[derive(Clone, Copy, Debug)]
pub struct SourceLines<'a> {
    text: Option<&'a SourceText>,
}

impl<'a> SourceLines<'a> {
    /// Lines of a script.
    #[must_use]
    pub const fn new(text: &'a SourceText) -> Self {
        Self { text: Some(text) }
    }

    /// No script: for modules made by hand.
    #[must_use]
    pub const fn none() -> Self {
        Self { text: None }
    }

    /// The script's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.map_or("script", |text| &text.name)
    }

    /// Line and column where a span starts; line 0 when there is no text.
    #[must_use]
    pub fn position(&self, span: Span) -> Position {
        match self.text {
            Some(text) if !span.is_empty() => text.position(span.start),
            _ => Position { line: 0, column: 0 },
        }
    }

    /// A line's text; empty when there is none.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        self.text.map_or("", |text| text.line(line))
    }
}

/// The back end's product.
#[derive(Clone, Debug, Default)]
pub struct BuiltObject {
    /// The ELF object.
    pub object: Vec<u8>,
    /// One for each function of the module, in order.
    pub functions: Vec<BuiltFunction>,
}

/// Facts about one function of the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltFunction {
    /// Instructions that the kernel gets when it loads this program: its own and those of the
    /// subprograms that it reaches, which libbpf appends.
    pub instructions: u32,
    /// Span of each instruction's source by its index in what the kernel gets, ascending; an entry
    /// holds up to the next.
    pub lines: Vec<(u32, Span)>,
    /// Bytes of its own stack frame.
    pub stack: u32,
    /// Its own machine code before linking, eight bytes for each instruction.
    pub code: Vec<u8>,
}

/// Compiles a module.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "callers hold it by reference")]
pub fn build(module: &Module, source: &SourceLines) -> Result<BuiltObject, CodegenError> {
    let codes =
        module.functions.iter().map(|f| compile(f, verifier::Context::of(module))).collect::<Result<Vec<Code>, _>>()?;
    frame::check_chains(module, &codes)?;
    let object = link::link(module, &codes, *source)?;
    let functions = (0..codes.len()).map(|i| built(FuncId(i as u32), module, &codes)).collect();
    Ok(BuiltObject { object, functions })
}

/// Machine code of one function for a kernel.
fn compile(function: &Function, context: verifier::Context) -> Result<Code, CodegenError> {
    check_size(function)?;
    let mut function = optimised(function, context);
    let Some(allocation) = regs::allocate(&mut function) else {
        return Err(CodegenError::internal(Span::default(), &function.name, "no end to spilling registers"));
    };
    let frame = frame::Frame::of(&function);
    frame::check_frame(&function, &frame)?;
    let is_explored_body = open_loops::is_explored_body(&function, context.isa);
    let dead = DeadPlaces::of(&function, &allocation, is_explored_body);
    emit::emit(&function, &allocation, &frame, &dead, context.isa)
}

/// A function as the register allocator gets it: as the verifier needs it, optimised, and with what the machine has no
/// instruction for taken apart.
#[must_use]
pub fn optimised(function: &Function, context: verifier::Context) -> Function {
    let mut function = function.clone();
    verifier::normalise(&mut function, context);
    legal::initialise(&mut function);
    opt::optimise(&mut function);
    legal::legalise(&mut function);
    function
}

fn check_size(function: &Function) -> Result<(), CodegenError> {
    let size: usize = function.blocks.iter().map(|b| b.instructions.len() + 1).sum();
    if size <= INSTRUCTION_LIMIT {
        return Ok(());
    }
    let what = match function.linkage {
        Linkage::Program { .. } => "this probe, in instructions,",
        Linkage::Subprogram => "this function, in instructions,",
    };
    Err(CodegenError::TooLarge {
        span: function.blocks[0].span,
        what: what.to_owned(),
        size: size as u64,
        limit: INSTRUCTION_LIMIT as u64,
        hint: Some("split it into several probes".to_owned()),
    })
}

/// What the kernel gets for a program: libbpf appends each subprogram when the first reference to
/// it is relocated, depth first (`bpf_object__reloc_code`).
fn built(program: FuncId, module: &Module, codes: &[Code]) -> BuiltFunction {
    let mut order = vec![program];
    let mut appended = vec![false; module.functions.len()];
    append(program, codes, &mut appended, &mut order);
    let own = &codes[program.0 as usize];
    let mut out = BuiltFunction {
        stack: own.stack,
        code: own.insns.iter().flat_map(|insn| insn.encode()).collect(),
        ..BuiltFunction::default()
    };
    for function in order {
        let code = &codes[function.0 as usize];
        out.lines.extend(code.lines.iter().map(|(at, span)| (at + out.instructions, *span)));
        out.instructions += code.insns.len() as u32;
    }
    out
}

fn append(function: FuncId, codes: &[Code], appended: &mut [bool], order: &mut Vec<FuncId>) {
    for relocation in &codes[function.0 as usize].relocations {
        if let Target::Call(f) | Target::Address(f) = relocation.target
            && !std::mem::replace(&mut appended[f.0 as usize], true)
        {
            order.push(f);
            append(f, codes, appended, order);
        }
    }
}
