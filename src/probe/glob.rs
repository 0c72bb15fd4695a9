//! Patterns with `*`, as attach points use them.

/// A pattern in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob {
    text: String,
}

impl Glob {
    /// A pattern.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True when it stands for more than its own text.
    #[must_use]
    pub fn is_wild(&self) -> bool {
        self.text.contains('*')
    }

    /// Whether the whole of `name` matches. Time is at most proportional to both lengths' product.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        if !self.is_wild() {
            return self.text == name;
        }
        let mut parts = self.text.split('*');
        let first = parts.next().unwrap_or("");
        let last = parts.next_back().unwrap_or("");
        let Some(rest) = name.strip_prefix(first) else { return false };
        let Some(mut rest) = rest.strip_suffix(last) else { return false };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = rest.get(at + part.len()..).unwrap_or(""),
                None => return false,
            }
        }
        true
    }
}

impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_text() {
        let yes = [("*", ""), ("vfs_*", "vfs_read"), ("*_read", "vfs_read"), ("v*r*d", "vfs_read"), ("a**b", "ab")];
        let no = [("vfs_", "vfs_read"), ("ab*ba", "aba"), ("*x*", "vfs"), ("", "a"), ("v*x*d", "vfs_read")];
        assert!(yes.iter().all(|(p, n)| Glob::new(p).matches(n)));
        assert!(!no.iter().any(|(p, n)| Glob::new(p).matches(n)));
    }
}
