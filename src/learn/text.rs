//! A lesson's text in one language: Markdown with a title, an explanation, and three sections.

use std::collections::BTreeMap;

use super::LONGEST_TEXT;

/// A lesson's text in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// What it explains, as Markdown.
    pub about: String,
    /// What the student is to do.
    pub task: String,
    /// Hints, each says more than the one before.
    pub hints: Vec<String>,
    /// What a mistake means, by the rule's name.
    pub mistakes: BTreeMap<String, String>,
}

impl Text {
    /// Reads a text. The first line is `# Title`; then the explanation; the first section (`## …`) is the task, the second
    /// the hints (a list), the third the mistakes (a list of `name: text`), whatever their headings say.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(markdown: &str) -> Result<Self, String> {
        if markdown.len() > LONGEST_TEXT {
            return Err(format!("it is longer than {} KiB", LONGEST_TEXT >> 10));
        }
        let (first, rest) = markdown.trim_start().split_once('\n').unwrap_or((markdown, ""));
        let title = first.strip_prefix("# ").ok_or("its first line is no title (`# …`)")?.trim().to_owned();
        let mut sections: Vec<String> = vec![String::new()];
        for line in rest.lines() {
            if line.starts_with("## ") {
                sections.push(String::new());
            } else if let Some(last) = sections.last_mut() {
                last.push_str(line);
                last.push('\n');
            }
        }
        let [about, task, hints, mistakes] = <[String; 4]>::try_from(sections).map_err(|found| {
            format!("it has {} sections (`## …`) and needs three: the task, hints, mistakes", found.len() - 1)
        })?;
        let mut by_name = BTreeMap::new();
        for item in items(&mistakes) {
            let (name, text) = item.split_once(':').ok_or_else(|| format!("`{item}` is no `name: text`"))?;
            by_name.insert(name.trim().to_owned(), text.trim().to_owned());
        }
        let hints = items(&hints);
        let task = task.trim().to_owned();
        if task.is_empty() || hints.is_empty() {
            return Err("its task or its list of hints is empty".to_owned());
        }
        Ok(Self { title, about: about.trim().to_owned(), task, hints, mistakes: by_name })
    }
}

/// The items of a Markdown list; lines that are indented go on with the item before.
fn items(section: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        if let Some(item) = line.strip_prefix("- ") {
            items.push(item.trim().to_owned());
        } else if let Some(last) = items.last_mut().filter(|_| !line.trim().is_empty()) {
            last.push('\n');
            last.push_str(line.strip_prefix("  ").unwrap_or(line));
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sections_are_told_by_their_order() {
        let text =
            Text::parse("# 题目\n\n说明\n\n## 任务\n\n做\n\n## 提示\n\n- 一\n  二\n- 三\n\n## 误解\n\n- a: b: c\n")
                .unwrap();
        assert_eq!((text.title.as_str(), text.about.as_str(), text.task.as_str()), ("题目", "说明", "做"));
        assert_eq!(text.hints, ["一\n二", "三"]);
        assert_eq!(text.mistakes["a"], "b: c");
    }

    #[test]
    fn what_is_missing_is_said() {
        for (text, why) in [
            ("", "title"),
            ("# T\n## a\nx\n", "needs three"),
            ("# T\n## a\n## b\n- x\n## c\n", "empty"),
            ("# T\n## a\nx\n## b\n- x\n## c\n- none\n", "name: text"),
        ] {
            assert!(Text::parse(text).unwrap_err().contains(why), "{text}");
        }
        assert!(Text::parse(&"# x\n".repeat(LONGEST_TEXT)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([# a:é-]{0,8}\n){0,12}") {
            let _ = Text::parse(&text);
        }
    }
}
