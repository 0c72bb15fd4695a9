//! "Follow it": every function that is given one of the chosen objects, in any of its first six arguments.
//!
//! An ordinary script does it, with patterns of functions by what they take. Objects are told apart by their address;
//! clones of a packet are followed as what they were cloned from, until they are freed.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use crate::kernel::function_types::READ_PARAMETERS;
use crate::kernel::{Absence, Feature, Kernel};
use crate::probe::signature::Signature;

/// Functions that are traced where each takes a program of its own.
const FEW: usize = 100;
/// Objects that are followed at once.
const MOST: usize = 65_536;

/// What is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A packet (`struct sk_buff`).
    Skb,
    /// An open file.
    File,
    /// An inode.
    Inode,
    /// A thread.
    Task,
    /// A request to a block device.
    Bio,
}

/// What is known of a kind of object.
struct Known {
    tag: &'static str,
    /// What is printed of `$o`: a format and values.
    shown: (&'static str, &'static str),
    /// Functions after whose return an object is no more, and those that return a new one.
    freed: &'static [&'static str],
    made: &'static [&'static str],
    /// Functions that return a clone of their first argument.
    cloned: &'static [&'static str],
    /// What names of the functions begin with that are chosen where only few can be.
    first: &'static [&'static str],
}

impl Object {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Skb, Self::File, Self::Inode, Self::Task, Self::Bio];

    /// The kind of object whose struct has this tag.
    #[must_use]
    pub fn of_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|object| object.known().tag == tag)
    }

    const fn known(self) -> Known {
        match self {
            Self::Skb => Known {
                tag: "sk_buff",
                shown: ("len %d %s", "$o->len, str($o->dev->name)"),
                freed: &["kfree_skbmem"],
                made: &["__alloc_skb", "build_skb", "__build_skb", "napi_build_skb"],
                cloned: &["skb_clone", "skb_copy", "__pskb_copy_fclone", "skb_copy_expand", "skb_realloc_headroom"],
                first: &[
                    "ip_", "__ip_", "tcp_v4_", "tcp_", "udp_", "__udp", "icmp_", "__netif_", "netif_", "dev_", "skb_",
                ],
            },
            Self::File => Known {
                tag: "file",
                shown: ("%s", "str($o->f_path.dentry->d_name.name)"),
                freed: &["__fput"],
                made: &["alloc_empty_file"],
                cloned: &[],
                first: &["vfs_", "do_", "security_file", "rw_verify", "generic_file", "ext4_file", "shmem_file"],
            },
            Self::Inode => Known {
                tag: "inode",
                shown: ("ino %d", "$o->i_ino"),
                freed: &["evict"],
                made: &["alloc_inode"],
                cloned: &[],
                first: &["vfs_", "inode_", "generic_", "security_inode", "iget", "touch_", "file_", "shmem_", "ext4_"],
            },
            Self::Task => Known {
                tag: "task_struct",
                shown: ("%d %s", "$o->pid, $o->comm"),
                freed: &["free_task"],
                made: &["dup_task_struct"],
                cloned: &[],
                first: &["wake_up_", "try_to_wake", "send_signal", "security_task", "do_", "set_", "sched_"],
            },
            Self::Bio => Known {
                tag: "bio",
                shown: ("sector %d size %d", "$o->bi_iter.bi_sector, $o->bi_iter.bi_size"),
                freed: &["bio_free"],
                made: &["bio_alloc_bioset"],
                cloned: &["bio_alloc_clone", "bio_clone_fast"],
                first: &["submit_bio", "bio_", "blk_", "__blk", "dm_"],
            },
        }
    }
}

/// Which objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// A condition over `$o`, in the script's language.
    pub filter: Option<String>,
    /// Packets from or to this address.
    pub host: Option<Ipv4Addr>,
    /// Packets from or to this port.
    pub port: Option<u16>,
    /// Packets of this IP protocol.
    pub protocol: Option<u8>,
}

impl Chosen {
    /// Whether packets are chosen by their headers.
    #[must_use]
    pub const fn of_headers(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.protocol.is_some()
    }

    /// Statements before the condition, and the condition.
    fn condition(&self) -> (String, String) {
        let mut before = String::new();
        let mut all = Vec::new();
        if self.of_headers() {
            before += "    $ip = (struct iphdr *)($o->head + $o->network_header);\n";
            all.push("$o->network_header != 0 && $ip->version == 4".to_owned());
        }
        if let Some(protocol) = self.protocol {
            all.push(format!("$ip->protocol == {protocol}"));
        }
        if let Some(host) = self.host {
            // As it lies in memory.
            let number = u32::from_ne_bytes(host.octets());
            all.push(format!("($ip->saddr == {number} || $ip->daddr == {number})"));
        }
        if let Some(port) = self.port {
            before += "    $ports = (struct udphdr *)($o->head + $o->network_header + $ip->ihl * 4);\n";
            let number = u16::from_ne_bytes(port.to_be_bytes());
            all.push("($ip->protocol == 6 || $ip->protocol == 17)".to_owned());
            all.push(format!("($ports->source == {number} || $ports->dest == {number})"));
        }
        all.extend(self.filter.as_ref().map(|filter| format!("({filter})")));
        (before, if all.is_empty() { "true".to_owned() } else { all.join(" && ") })
    }
}

/// The script that follows objects on this kernel, with its limits in the comment at its head.
///
/// # Errors
/// When the kernel has no probes on functions, or no BTF.
pub fn script(object: Object, chosen: &Chosen, kernel: &Kernel) -> Result<String, Absence> {
    kernel.features().require(Feature::Kprobe)?;
    let known = object.known();
    let many = kernel.features().has(Feature::KprobeMulti);
    let mut text = format!(
        "// follow: Which functions of the kernel are given a {tag}, in which order.\n//\n// Shows: Columns are the \
         object that was first chosen, the object (another one where it is a clone of it),\n//   the function, and \
         which of its arguments it is.\n// Needs: probes on functions, BTF.\n",
        tag = known.tag
    );
    let drops = (object == Object::Skb).then(|| drops(kernel));
    if let Err(absence) = kernel.features().require(Feature::KprobeMulti) {
        let _ = writeln!(text, "// Limit: at most {FEW} functions for each argument are traced: {absence}.");
    }
    if let Some((_, Some(limit))) = &drops {
        let _ = writeln!(text, "// Limit: {limit}.");
    }
    let _ = writeln!(text, "\n// So many objects at once.\nlet @followed = hash({MOST});");
    for place in 0..READ_PARAMETERS {
        let points = points(&known, place, many, kernel)?;
        if !points.is_empty() {
            add_place(&mut text, &points, place, &known, chosen);
        }
    }
    let has = |name: &&&str| kernel.functions().is_ok_and(|table| table.contains(name));
    let list = |provider: &str, names: &[&str]| {
        let there = names.iter().filter(has).map(|name| format!("{provider}:{name}"));
        there.collect::<Vec<_>>().join(",\n")
    };
    let cloned = (list("kprobe", known.cloned), list("kretprobe", known.cloned));
    if !cloned.0.is_empty() {
        let _ = write!(
            text,
            "\n{}\n/@followed[arg0]/\n{{\n    @cloning[tid] = arg0;\n}}\n\n{}\n/@cloning[tid]/\n{{\n    if (retval != 0) {{\n        \
             @followed[retval] = @followed[@cloning[tid]];\n        printf(\"%lx %lx %s: a clone of %lx\\n\", \
             @followed[retval], retval, func, @cloning[tid]);\n    }}\n    delete(@cloning, tid);\n}}\n",
            cloned.0, cloned.1
        );
    }
    let freed = (list("kprobe", known.freed), list("kretprobe", known.freed));
    if !freed.0.is_empty() {
        let _ = write!(
            text,
            "\n// What is freed may come again as another one.\n{}\n/@followed[arg0]/\n{{\n    @freeing[tid] = arg0;\n}}\n\n{}\n\
             /@freeing[tid]/\n{{\n    delete(@followed, @freeing[tid]);\n    delete(@freeing, tid);\n}}\n",
            freed.0, freed.1
        );
    }
    let made = list("kretprobe", known.made);
    if !made.is_empty() {
        let _ = write!(text, "\n{made}\n/@followed[retval]/\n{{\n    delete(@followed, retval);\n}}\n");
    }
    if let Some((clause, _)) = drops {
        text += &clause;
    }
    text += "\nend\n{\n    clear(@followed);\n";
    if !cloned.0.is_empty() {
        text += "    clear(@cloning);\n";
    }
    if !freed.0.is_empty() {
        text += "    clear(@freeing);\n";
    }
    text += "}\n";
    Ok(text)
}

/// Attach points of the functions that are given such an object at a place.
fn points(known: &Known, place: usize, many: bool, kernel: &Kernel) -> Result<Vec<String>, Absence> {
    let pattern = format!("*({}@{place})", known.tag);
    let types = kernel.function_types()?;
    let Ok((_, Some(signature))) = Signature::split(&pattern) else { return Ok(Vec::new()) };
    let filter = signature.filter(types);
    let functions = kernel.functions()?;
    if many {
        let any = functions.iter().any(|function| filter.fits(function.name));
        return Ok(if any { vec![format!("kprobe:{pattern}")] } else { Vec::new() });
    }
    let rank = |name: &str| known.first.iter().position(|prefix| name.starts_with(prefix));
    let mut few: Vec<(usize, &str)> = functions
        .iter()
        .filter(|function| function.module.is_none() && filter.fits(function.name))
        .filter_map(|function| Some((rank(function.name)?, function.name)))
        .collect();
    few.sort_unstable();
    few.dedup();
    few.truncate(FEW);
    Ok(few.into_iter().map(|(_, name)| format!("kprobe:{name}")).collect())
}

fn add_place(text: &mut String, points: &[String], place: usize, known: &Known, chosen: &Chosen) {
    let (before, condition) = chosen.condition();
    let (format, values) = known.shown;
    let _ = write!(
        text,
        "\n{}\n{{\n    $o = (struct {} *)arg{place};\n{before}    if (arg{place} != 0 && @followed[arg{place}] == 0 && {condition}) \
         {{\n        @followed[arg{place}] = arg{place};\n    }}\n    if (@followed[arg{place}] != 0) {{\n        printf(\"%lx %lx %s \
         arg{place} {format}\\n\", @followed[arg{place}], arg{place}, func, {values});\n    }}\n}}\n",
        points.join(",\n"),
        known.tag
    );
}

/// The clause that tells why a packet was dropped, and what it can't tell.
fn drops(kernel: &Kernel) -> (String, Option<String>) {
    let reasons = kernel.tracepoint("skb", "kfree_skb").is_ok_and(|format| format.field("reason").is_some())
        && kernel.btf().is_ok_and(|btf| btf.find_enum("skb_drop_reason").is_some());
    let (word, value, limit) = if reasons {
        ("%s ", "(enum skb_drop_reason)args.reason, ", None)
    } else {
        ("", "", Some("the kernel tells no reasons of drops before Linux 5.17".to_owned()))
    };
    let clause = format!(
        "\ntracepoint:skb:kfree_skb\n/@followed[(uint64)args.skbaddr]/\n{{\n    printf(\"%lx %lx dropped: {word}in %s\\n\", \
         @followed[(uint64)args.skbaddr], (uint64)args.skbaddr, {value}ksym(args.location));\n}}\n"
    );
    (clause, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_chosen_by_their_headers() {
        let host = Some(Ipv4Addr::LOCALHOST);
        let chosen = Chosen { host, port: Some(80), protocol: Some(6), filter: Some("$o->mark == 7".to_owned()) };
        let (before, condition) = chosen.condition();
        assert!(before.contains("$ip->ihl * 4") && condition.ends_with("&& ($o->mark == 7)"), "{before}{condition}");
        assert!(condition.contains("$ip->saddr == 16777343 || $ip->daddr == 16777343"), "{condition}");
        assert!(condition.contains("$ports->source == 20480"), "{condition}");
        assert_eq!(Chosen::default().condition(), (String::new(), "true".to_owned()));
        assert_eq!(Object::of_tag("sk_buff"), Some(Object::Skb));
    }
}
