//! Function calls: what each function takes and gives, and the subroutines.

use super::Checker;
use super::value::{Value, cast, int, is_int, is_scalar, is_text};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::{Expr as Ast, ExprKind as Kind};
use crate::lang::source::Span;
use crate::lang::typed::{Expr, ExprKind, Intrinsic, SymbolForm};
use crate::lang::types::{StackMode, Type};

/// Kinds of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Anything; the function looks at it itself.
    Any,
    Int,
    /// Text or a pointer to it.
    Text,
    /// An address, or a number that is one.
    Pointer,
    /// An address as a number.
    Address,
}

/// What kind of function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Action,
    Aggregating,
    Subroutine,
}

/// A function of the language.
pub struct Function {
    pub name: &'static str,
    pub class: Class,
    pub parameters: &'static [Parameter],
    /// How many of them must be given.
    pub least: usize,
    pub variadic: bool,
}

use Class::{Action, Aggregating, Subroutine};
use Parameter::{Address, Any, Int, Pointer, Text};

const fn f(
    name: &'static str,
    class: Class,
    parameters: &'static [Parameter],
    least: usize,
    variadic: bool,
) -> Function {
    Function { name, class, parameters, least, variadic }
}

/// All functions, those that are refused included.
const FUNCTIONS: &[Function] = &[
    f("alloca", Subroutine, &[Int], 1, false),
    f("avg", Aggregating, &[Any], 1, false),
    f("basename", Subroutine, &[Text], 1, false),
    f("bcopy", Subroutine, &[Pointer, Pointer, Int], 3, false),
    f("breakpoint", Action, &[], 0, false),
    f("chill", Action, &[Int], 1, false),
    f("cleanpath", Subroutine, &[Text], 1, false),
    f("clear", Action, &[Any], 1, false),
    f("commit", Action, &[Int], 1, false),
    f("copyin", Subroutine, &[Address, Int], 2, false),
    f("copyinstr", Subroutine, &[Address, Int], 1, false),
    f("copyinto", Subroutine, &[Address, Int, Pointer], 3, false),
    f("copyout", Subroutine, &[Pointer, Address, Int], 3, false),
    f("copyoutstr", Subroutine, &[Text, Address, Int], 3, false),
    f("count", Aggregating, &[], 0, false),
    f("d_path", Subroutine, &[Pointer], 1, false),
    f("ddi_pathname", Subroutine, &[Pointer, Int], 2, false),
    f("denormalize", Action, &[Any], 1, false),
    f("dirname", Subroutine, &[Text], 1, false),
    f("discard", Action, &[Int], 1, false),
    f("exit", Action, &[Int], 1, false),
    f("freopen", Action, &[Any], 1, true),
    f("ftruncate", Action, &[], 0, false),
    f("func", Subroutine, &[Address], 1, false),
    f("getmajor", Subroutine, &[Int], 1, false),
    f("getminor", Subroutine, &[Int], 1, false),
    f("htonl", Subroutine, &[Int], 1, false),
    f("htonll", Subroutine, &[Int], 1, false),
    f("htons", Subroutine, &[Int], 1, false),
    f("index", Subroutine, &[Text, Text, Int], 2, false),
    f("inet_ntoa", Subroutine, &[Pointer], 1, false),
    f("inet_ntoa6", Subroutine, &[Pointer, Int], 1, false),
    f("inet_ntop", Subroutine, &[Int, Pointer], 2, false),
    f("jstack", Action, &[Int, Int], 0, false),
    f("link_ntop", Subroutine, &[Int, Pointer], 2, false),
    f("llquantize", Aggregating, &[Any, Any, Any, Any, Any, Any], 5, false),
    f("lltostr", Subroutine, &[Int], 1, false),
    f("lquantize", Aggregating, &[Any, Any, Any, Any, Any], 3, false),
    f("max", Aggregating, &[Any], 1, false),
    f("min", Aggregating, &[Any], 1, false),
    f("mod", Subroutine, &[Address], 1, false),
    f("msgdsize", Subroutine, &[Pointer], 1, false),
    f("msgsize", Subroutine, &[Pointer], 1, false),
    f("mutex_owned", Subroutine, &[Address], 1, false),
    f("mutex_owner", Subroutine, &[Address], 1, false),
    f("mutex_type_adaptive", Subroutine, &[Address], 1, false),
    f("mutex_type_spin", Subroutine, &[Address], 1, false),
    f("ntohl", Subroutine, &[Int], 1, false),
    f("ntohll", Subroutine, &[Int], 1, false),
    f("ntohs", Subroutine, &[Int], 1, false),
    f("normalize", Action, &[Any, Int], 2, false),
    f("panic", Action, &[], 0, false),
    f("pcap", Action, &[Pointer, Int], 2, false),
    f("printa", Action, &[Any], 1, true),
    f("printf", Action, &[Any], 1, true),
    f("print", Action, &[Any], 1, false),
    f("progenyof", Subroutine, &[Int], 1, false),
    f("quantize", Aggregating, &[Any, Any], 1, false),
    f("raise", Action, &[Int], 1, false),
    f("rand", Subroutine, &[], 0, false),
    f("rindex", Subroutine, &[Text, Text, Int], 2, false),
    f("rw_iswriter", Subroutine, &[Address], 1, false),
    f("rw_read_held", Subroutine, &[Address], 1, false),
    f("rw_write_held", Subroutine, &[Address], 1, false),
    f("setopt", Action, &[Text, Text], 1, false),
    f("speculate", Action, &[Int], 1, false),
    f("speculation", Subroutine, &[], 0, false),
    f("stack", Action, &[Int], 0, false),
    f("stddev", Aggregating, &[Any], 1, false),
    f("stop", Action, &[], 0, false),
    f("strchr", Subroutine, &[Text, Int], 2, false),
    f("strlen", Subroutine, &[Text], 1, false),
    f("strjoin", Subroutine, &[Text, Text], 2, false),
    f("strrchr", Subroutine, &[Text, Int], 2, false),
    f("strstr", Subroutine, &[Text, Text], 2, false),
    f("strtok", Subroutine, &[Text, Text], 2, false),
    f("substr", Subroutine, &[Text, Int, Int], 2, false),
    f("sum", Aggregating, &[Any], 1, false),
    f("sym", Subroutine, &[Address], 1, false),
    f("system", Action, &[Any], 1, true),
    f("trace", Action, &[Any], 1, false),
    f("tracemem", Action, &[Any, Any, Any], 2, false),
    f("trunc", Action, &[Any, Int], 1, false),
    f("uaddr", Subroutine, &[Address], 1, false),
    f("ufunc", Subroutine, &[Address], 1, false),
    f("umod", Subroutine, &[Address], 1, false),
    f("ustack", Action, &[Int, Int], 0, false),
    f("usym", Subroutine, &[Address], 1, false),
];

pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

/// Whether a name is that of a function of the language.
pub fn is_function(name: &str) -> bool {
    function(name).is_some()
}

/// A pointer that points nowhere: a text that is none.
fn is_null(value: &Value) -> bool {
    is_scalar(value.ty()) && value.e.as_int() == Some(0)
}

impl Checker<'_> {
    /// Refuses a call with too many or too few arguments.
    pub fn count_arguments(&mut self, f: &Function, given: usize, span: Span) -> bool {
        let most = f.parameters.len();
        if given >= f.least && (f.variadic || given <= most) {
            return true;
        }
        let expected = match (f.variadic || most > f.least, given < f.least) {
            (false, _) => format!("{most}"),
            (true, true) => format!("at least {}", f.least),
            (true, false) => format!("at most {most}"),
        };
        let message = format!("{}( ) prototype mismatch: {given} args passed, {expected} expected", f.name);
        self.error(tags::D_PROTO_LEN, span, message);
        false
    }

    /// A call within an expression.
    pub fn call(&mut self, callee: &Ast, items: &[Ast], span: Span) -> Value {
        let Kind::Ident(name) = &callee.kind else {
            self.error(tags::D_FUNC_IDENT, span, "function designator is not of function type");
            return Self::error_value(span);
        };
        if let Some(value) = self.call_of_row(name, items, span) {
            return value;
        }
        let Some(f) = function(name) else {
            let known = self.variables.functions.contains(name);
            if known || super::builtins::is_builtin(name) || self.inlines.contains_key(name) {
                self.error(tags::D_FUNC_IDENT, span, format!("{name} can't be called"));
            } else {
                self.error(tags::D_FUNC_UNDEF, span, format!("undefined function name: {name}"));
            }
            return Self::error_value(span);
        };
        if !self.count_arguments(f, items.len(), span) {
            return Self::error_value(span);
        }
        match (f.class, f.name) {
            (Action, "stack" | "ustack" | "jstack") => self.stack(f.name, items, span),
            (Action, _) => {
                // An action gives nothing.
                Value::new(Expr::new(ExprKind::Int(0), Type::Void, span))
            }
            (Aggregating, _) => {
                self.error(tags::D_CG_EXPR, span, format!("{}( ) may only be assigned to an aggregation", f.name));
                Self::error_value(span)
            }
            (Subroutine, _) => {
                let Some(arguments) = self.arguments(f, items) else { return Self::error_value(span) };
                self.subroutine(f.name, arguments, span)
            }
        }
    }

    /// Checked arguments; `None` when one does not fit.
    pub fn arguments(&mut self, f: &Function, items: &[Ast]) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        let mut fine = true;
        for (number, item) in items.iter().enumerate() {
            let value = self.expr(item);
            let ty = value.ty().clone();
            let fits = match f.parameters.get(number) {
                None | Some(Any) => true,
                Some(Int) => is_int(&ty),
                Some(Text) => is_text(&ty) || is_null(&value),
                Some(Pointer) => {
                    matches!(ty, Type::Ptr { .. } | Type::Array { .. } | Type::Str { .. })
                        || (is_int(&ty) && value.e.as_int() == Some(0))
                }
                Some(Address) => is_scalar(&ty),
            };
            if value.is_error() {
                fine = false;
            } else if !fits {
                fine = false;
                let text = self.type_text(&ty);
                let wanted = match f.parameters[number] {
                    Text => "const char *",
                    Pointer => "void *",
                    Address => "uintptr_t",
                    _ => "int",
                };
                let number = number + 1;
                let message = format!(
                    "{}( ) argument #{number} is incompatible with prototype:\n\tprototype: {wanted}\n\t argument: {text}",
                    f.name
                );
                self.error(tags::D_PROTO_ARG, item.span, message);
            }
            values.push(value);
        }
        fine.then_some(values)
    }

    pub fn stack(&mut self, name: &str, items: &[Ast], span: Span) -> Value {
        let user = name != "stack";
        let mut depth = match name {
            "stack" => self.options.stackframes,
            "ustack" => self.options.ustackframes,
            // Functions of a machine are known by the map that it keeps for profilers.
            _ => self.options.jstackframes,
        };
        for (number, item) in items.iter().enumerate() {
            let value = self.expr(item);
            if !value.is_error() && !is_int(value.ty()) {
                let text = self.type_text(value.ty());
                let message = format!(
                    "{name}( ) argument #{} is incompatible with prototype:\n\tprototype: uint32_t\n\t argument: {text}",
                    number + 1
                );
                self.error(tags::D_PROTO_ARG, item.span, message);
                continue;
            }
            let constant = value.e.as_int();
            match (number, constant) {
                (0, Some(n)) if (1..=i32::MAX as u64).contains(&n) => depth = n.min(1024) as u16,
                (0, _) => {
                    let tag = if user { tags::D_USTACK_FRAMES } else { tags::D_STACK_SIZE };
                    self.error(
                        tag,
                        item.span,
                        format!("{name}( ) argument #1 must be a non-zero positive integer constant"),
                    );
                }
                (_, Some(n)) if i64::try_from(n).is_ok() => {}
                _ => {
                    self.error(
                        tags::D_USTACK_STRSIZE,
                        item.span,
                        format!("{name}( ) argument #2 must be a positive integer constant"),
                    );
                }
            }
        }
        depth = self.frames_of(user, depth);
        let mode = StackMode::Bpftrace;
        if user {
            let ty = Type::UStack { mode, depth };
            Value::new(Expr::new(ExprKind::Call(Intrinsic::UStack, Vec::new()), ty, span))
        } else {
            let ty = Type::KStack { mode, depth };
            Value::new(Expr::new(ExprKind::Call(Intrinsic::KStack, Vec::new()), ty, span))
        }
    }

    fn subroutine(&mut self, name: &str, mut arguments: Vec<Value>, span: Span) -> Value {
        let string = self.string();
        let call = |which, items: Vec<Expr>, ty: Type| Value::new(Expr::new(ExprKind::Call(which, items), ty, span));
        match name {
            "strlen" => {
                let text = self.text(arguments.remove(0).e);
                call(Intrinsic::StrLen, vec![text], Type::U64)
            }
            "strjoin" => {
                let second = self.text(arguments.remove(1).e);
                let first = self.text(arguments.remove(0).e);
                call(Intrinsic::StrConcat, vec![first, second], string)
            }
            "index" if arguments.len() == 2 => {
                let needle = self.text(arguments.remove(1).e);
                let text = self.text(arguments.remove(0).e);
                self.index_of(text, needle, span)
            }
            "index" => self.index_from(arguments, span),
            "substr" => self.substr(arguments, span),
            "strstr" => {
                let part = self.text(arguments.remove(1).e);
                self.text_from(arguments.remove(0).e, part, span)
            }
            "strchr" | "strrchr" => {
                let c = arguments.remove(1);
                match self.one_character(&c).filter(|_| name == "strchr") {
                    Some(part) => self.text_from(arguments.remove(0).e, part, span),
                    None => self.rest_at_character(name == "strrchr", arguments.remove(0), c, span),
                }
            }
            "basename" | "dirname" => self.part_of_path(name == "dirname", arguments.remove(0), span),
            "lltostr" => self.number_as_text(arguments.remove(0), span),
            "strtok" => {
                let delimiters = arguments.remove(1);
                self.next_word(arguments.remove(0), delimiters, span)
            }
            "inet_ntop" => self.inet_ntop(arguments, span),
            "link_ntop" => self.link_ntop(arguments, span),
            "rindex" => self.last_index(arguments, span),
            "d_path" => self.path_of_entry(arguments.remove(0), span),
            "cleanpath" => self.clean_path(arguments.remove(0), span),
            "progenyof" => self.progenyof(arguments.remove(0), span),
            "mutex_owned"
            | "mutex_owner"
            | "mutex_type_adaptive"
            | "mutex_type_spin"
            | "rw_iswriter"
            | "rw_read_held"
            | "rw_write_held" => self.lock(name, arguments.remove(0), span),
            "alloca" => self.alloca(arguments.remove(0), span),
            "bcopy" => self.bcopy(arguments, span),
            "copyin" => self.copyin(arguments, span),
            "copyinto" => self.copyinto(arguments, span),
            "speculation" => self.new_speculation(span),
            "inet_ntoa" => self.network_address(2, arguments.remove(0)),
            "inet_ntoa6" => self.inet_ntoa6(arguments, span),
            "copyinstr" => self.copyinstr(arguments),
            "rand" => {
                let e = Expr::new(ExprKind::Builtin(crate::lang::typed::Builtin::Rand), Type::U32, span);
                Value::new(cast(e, &Type::I32))
            }
            "htons" | "ntohs" => self.swapped(arguments.remove(0), 2),
            "htonl" | "ntohl" => self.swapped(arguments.remove(0), 4),
            "htonll" | "ntohll" => self.swapped(arguments.remove(0), 8),
            "getmajor" => self.shifted(arguments.remove(0), 20, u64::from(u32::MAX >> 20)),
            "getminor" => self.shifted(arguments.remove(0), 0, (1 << 20) - 1),
            "sym" | "func" | "mod" | "usym" | "ufunc" | "umod" | "uaddr" => {
                let address = cast(self.word(arguments.remove(0).e), &Type::U64);
                let form = match name {
                    "mod" | "umod" => SymbolForm::Object,
                    "uaddr" => SymbolForm::WithOffset,
                    _ => SymbolForm::InObject,
                };
                let form = int(form as i64, Type::U64, span);
                let (which, ty) =
                    if name.starts_with('u') { (Intrinsic::USym, Type::USym) } else { (Intrinsic::KSym, Type::KSym) };
                call(which, vec![address, form], ty)
            }
            _ => {
                self.unsupported(span, &format!("{name}( )"));
                Self::error_value(span)
            }
        }
    }

    fn swapped(&mut self, value: Value, size: u8) -> Value {
        let span = value.span();
        let ty = Type::Int { size, signed: false };
        let e = cast(value.e, &ty);
        Value::new(Expr::new(ExprKind::Call(Intrinsic::Bswap, vec![e]), ty, span))
    }

    fn shifted(&mut self, value: Value, by: i64, mask: u64) -> Value {
        use crate::lang::d::ast::Binary;
        let span = value.span();
        let number = Value::new(cast(self.word(value.e), &Type::U64));
        let moved = self.operate(Binary::Shr, number, Value::new(int(by, Type::I32, span)), span);
        let masked = self.operate(Binary::BitAnd, moved, Value::new(int(mask as i64, Type::U64, span)), span);
        Value::new(cast(masked.e, &Type::U32))
    }
}
