//! Functions of the kernel by what they take and return: `kprobe:vfs_*(inode|dentry@1)->errno`.
//!
//! In parentheses stand tags of structs: a function fits when one of its first six parameters is a pointer to one of
//! them, at a place counted from 0 where one is given. `->errno` fits those whose result can be an error number: `int`,
//! `long` with or without a sign, or a pointer that may be an `ERR_PTR`. Types are those of the kernel's BTF.

use super::glob::Glob;
use crate::kernel::function_types::{FunctionTypes, READ_PARAMETERS, Tag};

/// Conditions on a function's types.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Signature {
    takes: Vec<Taken>,
    errno: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Taken {
    tag: String,
    at: Option<usize>,
}

/// Conditions whose tags were looked up.
#[derive(Debug)]
pub struct Filter<'a> {
    types: &'a FunctionTypes,
    /// Whether any parameter is asked for.
    takes: bool,
    tags: Vec<(Tag, Option<usize>)>,
    errno: bool,
}

impl Signature {
    /// The pattern of names, and the conditions if there are any.
    ///
    /// # Errors
    /// Says what is wrong with the conditions.
    pub fn split(text: &str) -> Result<(Glob, Option<Self>), String> {
        let (rest, errno) = match text.split_once("->") {
            Some((rest, "errno")) => (rest, true),
            Some((_, other)) => return Err(format!("`->{other}` is no condition on a result; `->errno` is one")),
            None => (text, false),
        };
        let Some((name, list)) = rest.split_once('(') else {
            let signature = errno.then(|| Self { takes: Vec::new(), errno });
            return Ok((pattern(rest, signature.is_some())?, signature));
        };
        let list = list.strip_suffix(')').ok_or("a `)` is missing behind the types")?;
        let takes = list.split('|').map(taken).collect::<Result<_, _>>()?;
        Ok((pattern(name, true)?, Some(Self { takes, errno })))
    }

    /// What these conditions mean of these functions.
    #[must_use]
    pub fn filter<'a>(&self, types: &'a FunctionTypes) -> Filter<'a> {
        let tags = self.takes.iter().filter_map(|taken| Some((types.tag(&taken.tag)?, taken.at))).collect();
        Filter { types, takes: !self.takes.is_empty(), tags, errno: self.errno }
    }
}

impl Filter<'_> {
    /// Whether a function fits; one that BTF does not know fits nothing.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        let Some(function) = self.types.get(name) else { return false };
        let is_taken = |(tag, at): &(Tag, Option<usize>)| match at {
            Some(at) => function.taken.get(*at) == Some(&Some(*tag)),
            None => function.taken.contains(&Some(*tag)),
        };
        (!self.errno || function.errno.is_some()) && (!self.takes || self.tags.iter().any(is_taken))
    }
}

fn pattern(name: &str, conditional: bool) -> Result<Glob, String> {
    let glob = Glob::new(name);
    if conditional && !glob.is_wild() {
        return Err(format!("conditions on types belong to a pattern: `{name}*(...)`"));
    }
    Ok(glob)
}

fn taken(word: &str) -> Result<Taken, String> {
    let (tag, at) = match word.split_once('@') {
        Some((tag, at)) => {
            let number = at.parse().ok().filter(|at| *at < READ_PARAMETERS);
            (tag, Some(number.ok_or_else(|| format!("`{at}` is no place of a parameter; places are 0 to 5"))?))
        }
        None => (word, None),
    };
    if tag.is_empty() || !tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{tag}` is no struct's tag; write `(inode|dentry)`"));
    }
    Ok(Taken { tag: tag.to_owned(), at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_wrong_ones_told() {
        let (glob, signature) = Signature::split("vfs_*(inode|dentry@1)->errno").unwrap();
        assert_eq!(glob, Glob::new("vfs_*"));
        let takes = vec![Taken { tag: "inode".into(), at: None }, Taken { tag: "dentry".into(), at: Some(1) }];
        assert_eq!(signature, Some(Signature { takes, errno: true }));
        assert_eq!(Signature::split("vfs_*").unwrap(), (Glob::new("vfs_*"), None));
        assert!(Signature::split("do_*->errno").unwrap().1.is_some());
        for wrong in ["vfs_read(file)", "*(file", "*(file@9)", "*()", "*(struct file)", "*->int", "f->errno"] {
            assert!(Signature::split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn functions_of_this_kernel_fit_by_their_types() {
        let kernel = crate::kernel::Kernel::new(crate::kernel::Roots::running());
        let Ok(types) = kernel.function_types() else { return };
        let fits = |text: &str, name: &str| Signature::split(text).unwrap().1.unwrap().filter(types).fits(name);
        assert!(fits("*(file)->errno", "vfs_read") && fits("*(file@0)", "vfs_read"));
        assert!(!fits("*(file@1)", "vfs_read") && !fits("*(inode)", "vfs_read") && !fits("*(nothing)", "vfs_read"));
        // They return nothing, and a boolean.
        assert!(!fits("*->errno", "d_delete") && !fits("*->errno", "capable"));
        assert!(fits("*(dentry)->errno", "d_splice_alias") && fits("*->errno", "do_mmap"));
    }
}
