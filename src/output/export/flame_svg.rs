//! A flame graph as a picture that browsers zoom into: a click on a frame fills the width with it, a click on the
//! background shows all again. Without scripts it is a picture whose frames say what they are when pointed at.

use std::fmt::Write as _;

use crate::model::flame::{FlameTree, FrameKind, NodeId, ROOT};
use crate::model::render::neutralise;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
const TOP: f64 = 40.0;
/// Width of a character.
const LETTER: f64 = 7.0;
/// Frames narrower than this are left out.
const LEAST: f64 = 0.3;
/// Levels that are drawn.
const DEEPEST: usize = 1000;

/// Text as it stands in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in neutralise(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no words for these two, not even as references.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

const fn colour(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Key => "#cfd4dd",
        FrameKind::Kernel => "#f0a35e",
        FrameKind::User => "#8ec1ea",
        FrameKind::Inlined => "#8fd6c4",
    }
}

/// A frame that is drawn.
struct Drawn {
    node: NodeId,
    x: f64,
    width: f64,
}

/// The picture.
#[must_use]
pub fn picture(tree: &FlameTree, title: &str) -> String {
    let mut levels: Vec<Vec<Drawn>> = vec![vec![Drawn { node: ROOT, x: 0.0, width: WIDTH }]];
    while levels.len() < DEEPEST {
        let below: Vec<Drawn> =
            levels.last().map_or_else(Vec::new, |level| level.iter().flat_map(|b| called(tree, b)).collect());
        if below.is_empty() {
            break;
        }
        levels.push(below);
    }
    let height = TOP + levels.len() as f64 * ROW + 10.0;
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="12">
<rect id="ground" width="100%" height="100%" fill="#fbfbf9"/>
<text x="{}" y="24" text-anchor="middle" font-size="15">{}</text>
"##,
        WIDTH / 2.0,
        escape(title),
    );
    let all = tree.total(ROOT).max(1) as f64;
    for (level, boxes) in levels.iter().enumerate() {
        let y = TOP + level as f64 * ROW;
        for b in boxes {
            let name = tree.name_of(b.node);
            let value = tree.total(b.node);
            let text = escape(&name.text);
            let room = ((b.width - 6.0) / LETTER) as usize;
            let short: String = if name.text.chars().count() <= room {
                text.clone()
            } else if room > 3 {
                escape(&name.text.chars().take(room - 2).collect::<String>()) + ".."
            } else {
                String::new()
            };
            let _ = writeln!(
                out,
                r#"<g class="f" data-x="{:.2}" data-w="{:.2}" data-l="{level}"><title>{text} ({value}, {:.2} %)</title><rect x="{:.2}" y="{y}" width="{:.2}" height="{}" rx="2" fill="{}"/><text x="{:.2}" y="{}" data-n="{text}">{short}</text></g>"#,
                b.x,
                b.width,
                value as f64 / all * 100.0,
                b.x,
                b.width,
                ROW - 1.0,
                colour(name.kind),
                b.x + 3.0,
                y + 12.0,
            );
        }
    }
    if tree.deepest() >= levels.len() && levels.len() == DEEPEST {
        let left = tree.deepest() + 1 - levels.len();
        let _ = writeln!(
            out,
            r##"<text x="{}" y="{}" text-anchor="middle" fill="#666">{left} more levels are not drawn</text>"##,
            WIDTH / 2.0,
            height - 2.0,
        );
    }
    out.push_str(SCRIPT);
    out.push_str("</svg>\n");
    out
}

fn called(tree: &FlameTree, of: &Drawn) -> Vec<Drawn> {
    let scale = of.width / tree.total(of.node).max(1) as f64;
    let mut seen: Vec<NodeId> = tree.children(of.node).filter(|n| tree.total(*n) as f64 * scale >= LEAST).collect();
    seen.sort_by(|a, b| tree.name_of(*a).text.cmp(&tree.name_of(*b).text));
    let mut x = of.x;
    seen.into_iter()
        .map(|node| {
            let width = tree.total(node) as f64 * scale;
            x += width;
            Drawn { node, x: x - width, width }
        })
        .collect()
}

/// Zooms by what is written at the frames.
const SCRIPT: &str = r#"<script><![CDATA[
(function () {
  var frames = Array.prototype.slice.call(document.querySelectorAll("g.f"));
  function show(x, w, level) {
    frames.forEach(function (g) {
      var gx = +g.dataset.x, gw = +g.dataset.w, above = +g.dataset.l < level;
      var left = above ? 0 : (gx - x) * 1200 / w, wide = above ? 1200 : gw * 1200 / w;
      var inside = above ? gx <= x + 0.01 && gx + gw >= x + w - 0.01 : gx >= x - 0.01 && gx + gw <= x + w + 0.01;
      g.style.display = inside ? "" : "none";
      if (!inside) return;
      var r = g.querySelector("rect"), t = g.querySelector("text"), n = t.getAttribute("data-n");
      var room = Math.floor((wide - 6) / 7);
      r.setAttribute("x", left); r.setAttribute("width", Math.max(wide, 0.1));
      r.setAttribute("opacity", above ? 0.5 : 1);
      t.setAttribute("x", left + 3);
      t.textContent = n.length <= room ? n : room > 3 ? n.slice(0, room - 2) + ".." : "";
    });
  }
  frames.forEach(function (g) {
    g.style.cursor = "pointer";
    g.addEventListener("click", function () { show(+g.dataset.x, +g.dataset.w, +g.dataset.l); });
  });
  document.getElementById("ground").addEventListener("click", function () { show(0, 1200, 0); });
})();
]]></script>
"#;
