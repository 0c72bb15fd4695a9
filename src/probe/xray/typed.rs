//! The words of a call as its function's types read them.

use crate::kernel::btf::{Btf, BtfType, TypeId};
use crate::model::xray::{XrayRow, word_text};

/// A call's arguments and its result as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// The first arguments, with their names where they are known.
    pub arguments: Vec<String>,
    /// What it returned; nothing of one that returns nothing.
    pub result: Option<String>,
}

/// The words of a row by the types of its function, where the kernel's BTF has it; as they are elsewhere.
#[must_use]
pub fn typed(btf: Option<&Btf>, row: &XrayRow) -> Typed {
    let prototype = btf.and_then(|btf| Some((btf, btf.func(&row.function)?)));
    let Some((btf, prototype)) = prototype else {
        let arguments = row.arguments.iter().map(|word| word_text(*word)).collect();
        return Typed { arguments, result: row.result.map(word_text) };
    };
    let mut arguments = Vec::new();
    for (parameter, word) in prototype.params.iter().zip(&row.arguments) {
        // One that is no single word shifts those behind it.
        let Some(text) = value(btf, parameter.ty, *word) else { break };
        arguments.push(if parameter.name.is_empty() { text } else { format!("{}={text}", parameter.name) });
    }
    let result = row.result.filter(|_| prototype.ret != TypeId::VOID);
    let result = result.map(|word| value(btf, prototype.ret, word).unwrap_or_else(|| word_text(word)));
    Typed { arguments, result }
}

/// A word as a value of a type; nothing of types that lie in no single word.
fn value(btf: &Btf, ty: TypeId, word: u64) -> Option<String> {
    let ty = btf.resolve(ty);
    let size = btf.size_of(ty).filter(|size| *size <= 8)? as usize;
    let bytes = &word.to_le_bytes()[..size];
    match btf.ty(ty) {
        // Errors are returned as pointers, too.
        BtfType::Ptr(_) if word > u64::MAX - 4096 => Some(word_text(word)),
        // Small numbers and errors as people read them, whatever their sign.
        BtfType::Int(_) | BtfType::Ptr(_) | BtfType::Enum(_) => Some(btf.value_text(ty, bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Roots};

    #[test]
    fn words_are_read_by_the_functions_types() {
        let kernel = Kernel::new(Roots::fixture(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/kernel")));
        let btf = kernel.btf().unwrap();
        let row = |function: &str, arguments: &[u64], result| XrayRow {
            function: function.to_owned(),
            arguments: arguments.to_vec(),
            result: Some(result),
            ..XrayRow::default()
        };
        // ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)
        let read = typed(Some(btf), &row("vfs_read", &[0xffff_8880_0000_1000, 0, 1 << 30], u64::MAX - 10));
        assert_eq!(read.arguments, ["file=0xffff888000001000", "buf=NULL", "count=1073741824"]);
        assert_eq!(read.result.as_deref(), Some("-11"));
        let unknown = typed(Some(btf), &row("no_such_function", &[1 << 30], 3));
        assert_eq!((unknown.arguments, unknown.result.as_deref()), (vec!["0x40000000".to_owned()], Some("3")));
    }
}
