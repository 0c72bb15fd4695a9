//! C headers that a script names. They are not read, since types come from BTF, but one that is
//! nowhere is a mistake: the script would not run under bpftrace.

use std::path::Path;

use crate::lang::bt::parse;
use crate::lang::codes::parse::INCLUDE_IGNORED;
use crate::lang::source::SourceText;

/// Where C compilers look for headers, and where those of the kernel are.
const FOLDERS: &[&str] =
    &["/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"];

/// Headers of the kernel are known by BTF, whether their files are installed or not.
const KERNEL: &[&str] = &[
    "linux/",
    "net/",
    "uapi/",
    "asm/",
    "asm-generic/",
    "trace/",
    "scsi/",
    "rdma/",
    "sound/",
    "drm/",
    "crypto/",
    "kvm/",
];

/// What a C compiler says of the first header that is nowhere; `None` when all are somewhere.
pub fn missing(source: &SourceText, named: &[String], folders: &[String]) -> Option<String> {
    let parsed = parse(source);
    let directives = parsed.diagnostics.iter().filter(|d| d.code == INCLUDE_IGNORED);
    let written = directives.filter_map(|d| header(source.slice(d.span)));
    let all = named.iter().map(String::as_str).chain(written);
    let lost = all.enumerate().find(|(_, name)| !exists(name, folders));
    // As in bpftrace, the first line is a `#include` of its own.
    lost.map(|(at, name)| {
        format!("definitions.h:{}:10: fatal error: '{name}' file not found\nClang parse error\n", at + 2)
    })
}

/// The name in `#include <name>` or `#include "name"`.
fn header(directive: &str) -> Option<&str> {
    let name = directive.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim();
    name.strip_prefix('<').and_then(|n| n.split('>').next()).or_else(|| name.strip_prefix('"')?.split('"').next())
}

/// A kernel's header by its full path (`/usr/src/linux-headers-6.1/include/linux/fs.h`) is that of the
/// running kernel: such paths are of the machine where the script was written.
fn kernel_name(name: &str) -> &str {
    name.rsplit_once("/include/").map_or(name, |(_, rest)| rest)
}

fn exists(name: &str, folders: &[String]) -> bool {
    KERNEL.iter().any(|prefix| kernel_name(name).starts_with(prefix))
        || Path::new(name).is_file()
        || FOLDERS.iter().copied().chain(folders.iter().map(String::as_str)).any(|f| Path::new(f).join(name).is_file())
        || !Path::new("/usr/include").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers() {
        assert_eq!(header("#include <linux/fs.h>"), Some("linux/fs.h"));
        assert_eq!(header("#  include \"my.h\" // own"), Some("my.h"));
        assert_eq!(header("#define X"), None);
    }

    #[test]
    fn headers_of_another_kernel_are_those_of_this_one() {
        let source = SourceText::new("stdin", "#include </usr/src/linux-headers-1.2.3/include/net/sock.h>\nbegin { }");
        assert_eq!(missing(&source, &[], &[]), None);
    }

    #[test]
    fn a_header_that_is_nowhere_is_named() {
        let source = SourceText::new("stdin", "#include <linux/sched.h>\n#include <no/such/header.h>\nbegin { }");
        let text = missing(&source, &[], &[]);
        if Path::new("/usr/include").is_dir() {
            assert!(text.is_some_and(|t| t.starts_with("definitions.h:3:10: fatal error: 'no/such/header.h'")));
        }
    }
}
