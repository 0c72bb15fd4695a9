//! Tracepoints, through perf events and raw.

use std::sync::Arc;

use super::{ExpandError, Expander, no_match};
use crate::kernel::btf::Btf;
use crate::kernel::tracefs::EventName;
use crate::kernel::{Feature, KernelError};
use crate::model::target::Target;
use crate::probe::defined::Defined;
use crate::probe::glob::Glob;
use crate::probe::{renamed, suggest};

impl Expander<'_> {
    pub(super) fn tracepoints(&self, category: &Glob, event: &Glob) -> Result<Vec<Target>, ExpandError> {
        let defined = Defined::now(self.kernel);
        let target = |(category, event): &EventName| Target::Tracepoint {
            category: Arc::clone(category),
            event: Arc::clone(event),
        };
        if category.is_wild() || event.is_wild() {
            let all = self.kernel.tracepoints()?.iter();
            let matching = all.filter(|(c, e)| category.matches(c) && event.matches(e));
            let (mut targets, mut absent) = (Vec::new(), None);
            for name in matching {
                match defined.absence(name) {
                    Some(absence) => absent = absent.or(Some(absence)),
                    None => targets.push(target(name)),
                }
            }
            return match absent {
                _ if !targets.is_empty() => Ok(targets),
                Some(absence) => Err(absence.into()),
                None => Err(self.no_tracepoint(category, event)),
            };
        }
        if let Some(absence) = defined.absence(&(category.as_str().into(), event.as_str().into()))
            && self.kernel.tracepoint(category.as_str(), event.as_str()).is_ok()
        {
            return Err(absence.into());
        }
        match self.kernel.tracepoint(category.as_str(), event.as_str()) {
            Ok(format) => Ok(vec![target(&(Arc::clone(&format.category), Arc::clone(&format.event)))]),
            Err(KernelError::NoTracepoint { .. }) => Err(self.no_tracepoint(category, event)),
            Err(other) => Err(other.into()),
        }
    }

    fn no_tracepoint(&self, category: &Glob, event: &Glob) -> ExpandError {
        let wanted = format!("{category}:{event}");
        let all = self.kernel.tracepoints().unwrap_or(&[]);
        let plain = event.as_str().replace('*', "");
        let full = |(c, e): &(Arc<str>, Arc<str>)| format!("tracepoint:{c}:{e}");
        let elsewhere = all.iter().filter(|(c, e)| !event.is_wild() && **e == *plain && **c != *category.as_str());
        let exists = |name: &&str| name.split_once(':').is_some_and(|n| all.iter().any(|(c, e)| (&**c, &**e) == n));
        let since = renamed::tracepoints(&wanted).filter(exists).map(|name| format!("tracepoint:{name}"));
        let mut suggestions: Vec<String> = since.chain(elsewhere.map(full)).take(3).collect();
        if suggestions.is_empty() {
            let own = all.iter().filter(|(c, _)| category.matches(c)).map(|(_, e)| &**e);
            let near = suggest::nearest(&plain, own, 3);
            suggestions = near.into_iter().map(|e| format!("tracepoint:{category}:{e}")).collect();
        }
        if suggestions.is_empty() {
            let names: Vec<String> = all.iter().map(|(c, e)| format!("{c}:{e}")).collect();
            let near = suggest::nearest(&wanted, names.iter().map(String::as_str), 3);
            suggestions = near.into_iter().map(|n| format!("tracepoint:{n}")).collect();
        }
        let missing = match category.as_str() {
            "osnoise" => Some(Feature::Osnoise),
            "syscalls" => Some(Feature::SyscallTracepoints),
            _ => None,
        };
        let absence = missing.and_then(|feature| self.kernel.features().require(feature).err());
        ExpandError::NoMatch {
            kind: "tracepoint".to_owned(),
            name: wanted,
            // What the kernel was built without explains more than names that look like it.
            suggestions: if absence.is_some() { Vec::new() } else { suggestions },
            reason: absence.map(|a| format!("{}: {}", a.reason, a.remedy)),
        }
    }

    pub(super) fn raw_tracepoints(&self, module: Option<&Glob>, event: &Glob) -> Result<Vec<Target>, ExpandError> {
        self.kernel.features().require(Feature::RawTracepoint)?;
        let kernel = self.kernel.btf()?;
        let mut targets = Vec::new();
        if module.is_none_or(|m| m.matches("vmlinux")) {
            add_raw(&mut targets, kernel, "", event);
        }
        if module.is_some_and(Glob::is_wild) || event.is_wild() || targets.is_empty() {
            for name in self.kernel.modules_with_btf().into_iter().filter(|n| module.is_none_or(|m| m.matches(n))) {
                if let Ok(btf) = self.kernel.module_btf(&name) {
                    add_raw(&mut targets, &btf, &name, event);
                }
            }
        }
        if targets.is_empty() {
            let near = suggest::nearest(event.as_str(), kernel.raw_tracepoint_names(), 3);
            let suggestions = near.into_iter().map(|n| format!("rawtracepoint:{n}")).collect();
            let wanted = module.map_or_else(|| event.to_string(), |m| format!("{m}:{event}"));
            return Err(no_match("rawtracepoint", &wanted, suggestions));
        }
        Ok(targets)
    }
}

/// Raw tracepoints that `btf` itself declares.
fn add_raw(targets: &mut Vec<Target>, btf: &Btf, module: &str, event: &Glob) {
    let first = targets.len();
    let target = |name: &str| Target::RawTracepoint { event: name.into(), module: module.into() };
    if event.is_wild() {
        targets.extend(btf.raw_tracepoint_names().filter(|n| event.matches(n)).map(target));
        if let Some(new) = targets.get_mut(first..) {
            new.sort_by(|a, b| raw_name(a).cmp(raw_name(b)));
        }
    } else if btf.find_typedef(&format!("btf_trace_{event}")).is_some() {
        targets.push(target(event.as_str()));
    }
}

fn raw_name(target: &Target) -> &str {
    match target {
        Target::RawTracepoint { event, .. } => event,
        _ => "",
    }
}
