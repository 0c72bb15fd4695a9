//! The limit to one process (`-p`): each probe gets the condition that its event is about the process.
//!
//! Whom an event is about is told by [`subject`]. Where it is the thread that runs, the compiler compares its process.
//! Else the condition stands here, before the probe's own: the process of a thread that `args` name is looked up among
//! the process's threads, that of a request or a socket among what was remembered. What is needed for that are clauses
//! of our own at the front of the script, so that they run before those of the script.

mod sides;

use super::ast::{Expr, ExprKind, Item, Name, Probe, Script};
use super::latency;
use super::parser::parse;
use super::semantic::expression;
use crate::lang::codes::check::NOT_OF_PROCESS;
use crate::lang::diagnostic::Diagnostic;
use crate::lang::facts::Facts;
use crate::lang::source::{SourceText, Span};
use crate::probe::glob::Glob;
use crate::probe::point::{self, PointPattern};
use crate::probe::subject::{self, Named, Subject};

/// What the clauses of our own are needed for.
#[derive(Default)]
struct Needed {
    threads: bool,
    requests: bool,
    /// Sockets of probes that are tracepoints.
    sockets: bool,
    /// Sockets of probes that are raw tracepoints.
    raw_sockets: bool,
}

/// The threads of the process: those that there are, and those that come. A number that another process takes is no
/// longer one.
const THREADS: &str = "
let @__threads = hash(65536);
rawtracepoint:sched_process_fork
{
    if (args.child->tgid == PID) {
        @__threads[(uint32)args.child->pid] = 1;
    } else if (has_key(@__threads, (uint32)args.child->pid)) {
        delete(@__threads, (uint32)args.child->pid);
    }
}
iter:task
/ctx.task->tgid == PID/
{
    @__threads[(uint32)ctx.task->pid] = 1;
}";

/// Requests that the process asked for, in its own context or where it hands one to the driver.
const REQUESTS: &str = "
let @__requests = lruhash(65536);
io:start
{
    if (pid == PID) {
        @__requests[(uint64)args.dev, (uint64)args.sector] = 1;
    } else if (has_key(@__requests, ((uint64)args.dev, (uint64)args.sector))) {
        delete(@__requests, ((uint64)args.dev, (uint64)args.sector));
    }
}
tracepoint:block:block_rq_issue
/pid == PID/
{
    @__requests[(uint64)args.dev, (uint64)args.sector] = 1;
}";

/// Sockets that the process has: open files, what it connects, listens with or closes (states 2, 10, 4 and 9), and what
/// comes to a port that it listens at (3).
const SOCKETS: &str = "
let @__sockets = lruhash(65536);
let @__ports = hash(4096);
iter:task_file
/ctx.task->tgid == PID && (ctx.file->f_inode->i_mode & 0170000) == 0140000/
{
    $sk = ((struct socket *)ctx.file->private_data)->sk;
    @__sockets[(uint64)$sk] = 1;
    if ($sk->__sk_common.skc_state == 10) {
        @__ports[(uint16)$sk->__sk_common.skc_num] = 1;
    }
}";
const SOCKET_STATES: &str = "
POINT
{
    $now = (int32)args.newstate;
    if (pid == PID && ($now == 2 || $now == 4 || $now == 9 || $now == 10)) {
        @__sockets[(uint64)SOCKET] = 1;
        if ($now == 10) {
            @__ports[(uint16)PORT] = 1;
        }
    } else if ($now == 3 && has_key(@__ports, (uint16)PORT)) {
        @__sockets[(uint64)SOCKET] = 1;
    } else if (($now == 2 || $now == 3 || $now == 10) && has_key(@__sockets, (uint64)SOCKET)) {
        delete(@__sockets, (uint64)SOCKET);
    }
}";

/// Limits the probes of a script.
pub fn rewrite(script: &mut Script, facts: &dyn Facts, pid: u32, namespace: bool) -> Vec<Diagnostic> {
    let (mut diagnostics, mut needed) = (Vec::new(), Needed::default());
    let mut items = Vec::with_capacity(script.items.len());
    for item in std::mem::take(&mut script.items) {
        let Item::Probe(probe) = item else {
            items.push(item);
            continue;
        };
        for (subject, points) in by_subject(&probe, facts, &mut diagnostics) {
            let mut own = Probe { points, ..probe.clone() };
            let at = own.points.first().map_or(own.span, |point| point.span);
            let absent = refusal(subject, facts, namespace);
            if let Some((why, instead)) = absent {
                diagnostics.push(Diagnostic::error(NOT_OF_PROCESS, at, why).help(instead));
            } else {
                needed.note(subject, &own);
                limit(&mut own, subject, pid, at);
            }
            items.push(Item::Probe(own));
        }
    }
    let mut own = needed.items(pid);
    // Declarations and settings stay where they are: what C has comes before all probes.
    let first = items.iter().position(|item| matches!(item, Item::Probe(_))).unwrap_or(items.len());
    let behind = items.split_off(first);
    items.append(&mut own);
    items.extend(behind);
    items.extend(latency::clearing(&needed.maps()).map(Item::Probe));
    script.items = items;
    diagnostics
}

/// The points of a probe by whom they are about, in the order of the text. Of a pattern, what is about nobody is left out.
fn by_subject(probe: &Probe, facts: &dyn Facts, diagnostics: &mut Vec<Diagnostic>) -> Vec<(Subject, Vec<Name>)> {
    let mut groups: Vec<(Subject, Vec<Name>)> = Vec::new();
    let mut add = |subject: Subject, point: Name| match groups.iter_mut().find(|(of, _)| *of == subject) {
        Some((_, points)) => points.push(point),
        None => groups.push((subject, vec![point])),
    };
    for point in &probe.points {
        let names = names(&point.text, facts);
        let subjects: Vec<Subject> = names.iter().map(|name| subject::of(name)).collect();
        if subjects.windows(2).all(|pair| pair[0] == pair[1]) {
            add(subjects.first().copied().unwrap_or(Subject::Running), point.clone());
            continue;
        }
        let nobodys = subjects.iter().filter(|s| matches!(s, Subject::Nobody { .. })).count();
        if nobodys > 0 {
            let message = format!("{nobodys} of these {} probes tell of no process and are left out", names.len());
            diagnostics.push(Diagnostic::warning(NOT_OF_PROCESS, point.span, message));
        }
        for (name, subject) in names.into_iter().zip(subjects) {
            if !matches!(subject, Subject::Nobody { .. }) {
                add(subject, Name { text: name.into(), span: point.span });
            }
        }
    }
    groups
}

/// The names by which the table knows what a point stands for.
fn names(point: &str, facts: &dyn Facts) -> Vec<String> {
    if let Some(found) = facts.semantic(point) {
        let mut names: Vec<String> = found.into_iter().flatten().map(|found| found.row.point()).collect();
        names.dedup();
        return names;
    }
    let literal = |glob: &Glob| (!glob.is_wild()).then(|| glob.as_str().to_owned());
    let one = match point::parse(point) {
        Ok(PointPattern::Tracepoint { category, event }) => {
            literal(&category).zip(literal(&event)).map(|(category, event)| format!("tracepoint:{category}:{event}"))
        }
        Ok(PointPattern::RawTracepoint { event, .. }) => literal(&event).map(|event| format!("rawtracepoint:{event}")),
        Ok(PointPattern::Iter { .. }) => None,
        _ => return Vec::new(),
    };
    if let Some(name) = one {
        vec![name]
    } else {
        let targets = facts.expand(point).unwrap_or_default();
        targets.iter().filter_map(|(target, _)| subject::name(target)).collect()
    }
}

/// Why a probe can't be limited here, and what to do instead.
fn refusal(subject: Subject, facts: &dyn Facts, namespace: bool) -> Option<(String, String)> {
    match subject {
        Subject::Running => None,
        Subject::Nobody { why, instead } => Some((format!("`-p` can't limit this probe: {why}"), instead.to_owned())),
        Subject::Other(_) | Subject::Both { .. } if namespace => Some((
            "`-p` can't limit this probe here: it names threads by the numbers of the first PID namespace".to_owned(),
            "run probescope there (for a container: with `--pid=host`), and give the number that the process has there"
                .to_owned(),
        )),
        _ => facts.types_absent().map(|why| {
            let what = "`-p` can't limit this probe here: whom it is about is told by the kernel's types";
            (format!("{what}. {why}"), "write the condition as the probe's predicate".to_owned())
        }),
    }
}

/// Puts the condition that the event is about the process before the probe's own.
fn limit(probe: &mut Probe, subject: Subject, pid: u32, at: Span) {
    let Some(text) = condition(subject, pid) else { return };
    probe.limited = true;
    if let Subject::Both { other, own, others } = subject {
        let names = sides::Names { own, others };
        sides::narrow(probe, &names, [&format!("pid == {pid}"), &is_of(other, pid)], at);
    }
    let Some(condition) = expression(&text, at) else { return };
    probe.predicate = Some(match probe.predicate.take() {
        Some(own) => {
            let span = own.span;
            let kind = ExprKind::Binary(super::ast::BinaryOp::And, Box::new(condition), Box::new(own));
            Expr { kind, span }
        }
        None => condition,
    });
}

fn condition(subject: Subject, pid: u32) -> Option<String> {
    Some(match subject {
        Subject::Running | Subject::Nobody { .. } => return None,
        Subject::Other(named) => is_of(named, pid),
        Subject::Both { other, .. } => format!("pid == {pid} || {}", is_of(other, pid)),
        Subject::Requester => "has_key(@__requests, ((uint64)args.dev, (uint64)args.sector))".to_owned(),
        Subject::Owner(socket) => format!("has_key(@__sockets, (uint64){socket})"),
    })
}

fn is_of(named: Named, pid: u32) -> String {
    match named {
        Named::Thread(text) => format!("has_key(@__threads, (uint32){text})"),
        Named::Process(text) => format!("{text} == {pid}"),
    }
}

impl Needed {
    fn note(&mut self, subject: Subject, probe: &Probe) {
        let is_event = |point: &Name| matches!(point::parse(&point.text), Ok(PointPattern::Tracepoint { .. }));
        match subject {
            Subject::Other(Named::Thread(_)) | Subject::Both { other: Named::Thread(_), .. } => self.threads = true,
            Subject::Requester => self.requests = true,
            Subject::Owner(_) if probe.points.iter().any(is_event) => self.sockets = true,
            Subject::Owner(_) => self.raw_sockets = true,
            _ => {}
        }
    }

    fn items(&self, pid: u32) -> Vec<Item> {
        let mut text = String::new();
        if self.threads {
            text += THREADS;
        }
        if self.requests {
            text += REQUESTS;
        }
        if self.sockets || self.raw_sockets {
            text += SOCKETS;
        }
        let states = |point: &str, socket: &str, port: &str| {
            SOCKET_STATES.replace("POINT", point).replace("SOCKET", socket).replace("PORT", port)
        };
        if self.sockets {
            text += &states("tracepoint:sock:inet_sock_set_state", "args.skaddr", "args.sport");
        }
        if self.raw_sockets {
            text += &states("rawtracepoint:inet_sock_set_state", "args.sk", "args.sk->__sk_common.skc_num");
        }
        let text = text.replace("PID", &pid.to_string());
        let mut items = parse(&SourceText::new("", &text)).script.items;
        for item in &mut items {
            match item {
                Item::Probe(probe) => {
                    latency::place_probe(probe, Span::default());
                    probe.limited = true;
                }
                Item::MapDecl(decl) => decl.span = Span::default(),
                _ => {}
            }
        }
        items
    }

    fn maps(&self) -> Vec<String> {
        let sockets = self.sockets || self.raw_sockets;
        let all = [
            (self.threads, "@__threads"),
            (self.requests, "@__requests"),
            (sockets, "@__sockets"),
            (sockets, "@__ports"),
        ];
        all.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, map)| map.to_owned()).collect()
    }
}
