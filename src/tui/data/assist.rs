//! Help while typing: the popup of completions, and what is known of the word under the cursor.

use crate::lang::service::Completion;

/// Most completions that are kept.
const MOST: usize = 200;

/// The popup and the line of hints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assist {
    /// The open popup.
    pub popup: Option<Popup>,
    /// What is known of the word under the cursor, in one line.
    pub hint: String,
    /// Number of the last question.
    pub asked: u64,
    /// A single completion is taken without a popup.
    pub take_single: bool,
    /// Where the last hint was asked for: byte offset and length of the text.
    pub hinted: (u32, usize),
    /// Lines and characters where jumps to definitions began.
    pub jumps: Vec<(usize, usize)>,
}

/// Completions to choose from; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popup {
    /// Best first.
    pub items: Vec<Completion>,
    /// The chosen one.
    pub selected: usize,
}

impl Popup {
    /// The completions that fit what stands between their start and the cursor, the ones that begin
    /// with it first; attach points are ranked already.
    #[must_use]
    pub fn new(items: &[Completion], text: &str, offset: u32) -> Option<Self> {
        let fit = |item: &Completion| {
            let typed = text.get(item.replace.start as usize..offset as usize).unwrap_or("").to_lowercase();
            let label = item.label.to_lowercase();
            let whole = typed == label && items.len() == 1;
            if whole {
                None
            } else if label.starts_with(&typed) {
                Some(0)
            } else if label.contains(&typed) || item.kind == crate::lang::service::CompletionKind::Probe {
                Some(1)
            } else {
                None
            }
        };
        let mut ranked: Vec<(u8, Completion)> = items.iter().filter_map(|i| Some((fit(i)?, i.clone()))).collect();
        // Fields of the kernel's own (`__syscall_nr`) are rarely meant.
        ranked.sort_by_key(|(rank, item)| (*rank, item.label.starts_with("__")));
        ranked.truncate(MOST);
        let items: Vec<Completion> = ranked.into_iter().map(|(_, i)| i).collect();
        (!items.is_empty()).then_some(Self { items, selected: 0 })
    }

    /// The same completions after a change of the word that moved its end by this many bytes, until
    /// fresh ones arrive.
    #[must_use]
    pub fn shifted(mut self, by: i32, text: &str, offset: u32) -> Option<Self> {
        for item in &mut self.items {
            item.replace.end = item.replace.end.saturating_add_signed(by).max(item.replace.start);
        }
        if self.items.iter().any(|i| i.replace.start > offset) {
            return None;
        }
        Self::new(&self.items, text, offset)
    }

    /// The chosen one.
    #[must_use]
    pub fn current(&self) -> Option<&Completion> {
        self.items.get(self.selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::service::CompletionKind;
    use crate::lang::source::Span;

    fn item(label: &str) -> Completion {
        Completion {
            label: label.into(),
            insert: label.into(),
            replace: Span::new(2, 4),
            kind: CompletionKind::Field,
            detail: String::new(),
            doc: String::new(),
        }
    }

    #[test]
    fn what_begins_with_the_typed_letters_comes_first_and_the_rest_goes() {
        let popup = Popup::new(&[item("dfd"), item("xmode"), item("mode")], "a.mo", 4).unwrap();
        assert_eq!(popup.items.iter().map(|i| &*i.label).collect::<Vec<_>>(), ["mode", "xmode"]);
        let shorter = Popup::new(&[item("dfd"), item("mode")], "a.m", 3).unwrap();
        let shifted = shorter.shifted(-1, "a.m", 3).unwrap();
        assert_eq!((&*shifted.items[0].label, shifted.items[0].replace), ("mode", Span::new(2, 3)));
        assert_eq!(Popup::new(&[item("dfd")], "a.mo", 4), None);
        assert_eq!(Popup::new(&[item("mo")], "a.mo", 4), None, "nothing is left to complete");
    }
}
