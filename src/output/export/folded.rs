//! Folded stacks: a line for each, frames from the root parted by semicolons, then the value; what `flamegraph.pl`,
//! inferno and speedscope read.

use crate::model::flame::FlameTree;
use crate::model::render::is_harmful;

/// A frame's name without what parts frames and lines.
fn frame(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() || is_harmful(c) => ' ',
        c => c,
    }));
}

/// All stacks, in the order of their text. The form has no place for remarks: what the stacks are of is a frame at their root.
#[must_use]
pub fn text(tree: &FlameTree, of: Option<&str>) -> String {
    let mut lines: Vec<String> = tree
        .ends()
        .map(|(node, value)| {
            let mut line = String::new();
            if let Some(of) = of {
                frame(&format!("[{of}];").replace(';', ","), &mut line);
                line.pop();
                line.push(';');
            }
            let root = line.len();
            for (at, name) in tree.path(node).into_iter().enumerate() {
                if at > 0 {
                    line.push(';');
                }
                frame(&name.text, &mut line);
            }
            if line.len() == root {
                line.push_str("[no stack]");
            }
            line.push_str(&format!(" {value}\n"));
            line
        })
        .collect();
    lines.sort_unstable();
    lines.concat()
}
