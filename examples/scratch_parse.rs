fn main() {
    for f in std::env::args().skip(1) {
        let t = std::fs::read_to_string(&f).unwrap();
        let s = probescope::lang::source::SourceText::new(&f, &t);
        let p = probescope::lang::bt::parse(&s);
        for d in &p.diagnostics {
            let pos = s.position(d.span.start);
            println!("{f}:{}:{}: {} {} [{}]", pos.line, pos.column, d.code, d.message, s.slice(d.span));
        }
        if std::env::var("DUMP").is_ok() {
            println!("{:#?}", p.script);
        }
    }
}
