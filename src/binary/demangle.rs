//! Names of functions as their language has them, from those in symbol tables.

/// The readable name of a C++ or Rust function; `None` for what is not mangled.
///
/// Rust's older names end with a hash that tells instances of one function apart (`::h` and 16 digits). It stays, as
/// in bpftrace: without it, different functions would print alike.
#[must_use]
pub fn readable(mangled: &str) -> Option<String> {
    if !mangled.starts_with("_Z") && !mangled.starts_with("_R") {
        return None;
    }
    if let Ok(rust) = rustc_demangle::try_demangle(mangled) {
        return Some(if mangled.starts_with("_ZN") { format!("{rust}") } else { format!("{rust:#}") });
    }
    cpp_demangle::Symbol::new(mangled).ok()?.demangle().ok()
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_of_each_language() {
        let name = |mangled| readable(mangled).expect("a name");
        assert_eq!(name("_ZN1r5inner4work17hc64296669057e7a3E"), "r::inner::work::hc64296669057e7a3");
        assert_eq!(name("_RINvMNtCs6GmmlP4bgsG_1r5innerNtB3_1S4workmEB5_"), "<r::inner::S>::work::<u32>");
        assert_eq!(name("_ZN3foo3barEi"), "foo::bar(int)");
        assert_eq!(readable("main"), None);
    }
}
