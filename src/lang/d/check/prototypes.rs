//! Functions of the language by their prototypes, and arguments of their calls.

use super::checker::Checker;
use super::value::{Value, is_int, is_scalar, is_text};
use crate::lang::codes::d as tags;
use crate::lang::d::ast::Expr as Ast;
use crate::lang::source::Span;
use crate::lang::types::Type;

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

/// Refuses a call with too many or too few arguments.
pub fn count_arguments(c: &mut Checker<'_>, f: &Function, given: usize, span: Span) -> bool {
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
    c.error(tags::D_PROTO_LEN, span, message);
    false
}

/// Tells of an argument of a type that the function (`name` as messages have it) does not take.
pub fn mismatch(c: &mut Checker<'_>, name: &str, number: usize, wanted: &str, value: &Value, at: Span) {
    let text = c.type_text(value.ty());
    let message = format!(
        "{name} argument #{number} is incompatible with prototype:\n\tprototype: {wanted}\n\t argument: {text}"
    );
    c.error(tags::D_PROTO_ARG, at, message);
}

/// A pointer that points nowhere: a text that is none.
fn is_null(value: &Value) -> bool {
    is_scalar(value.ty()) && value.e.as_int() == Some(0)
}

/// Checked arguments; `None` when one does not fit.
pub fn arguments(c: &mut Checker<'_>, f: &Function, items: &[Ast]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut fine = true;
    for (number, item) in items.iter().enumerate() {
        let value = c.expr(item);
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
            let wanted = match f.parameters[number] {
                Text => "const char *",
                Pointer => "void *",
                Address => "uintptr_t",
                _ => "int",
            };
            mismatch(c, &format!("{}( )", f.name), number + 1, wanted, &value, item.span);
        }
        values.push(value);
    }
    fine.then_some(values)
}
