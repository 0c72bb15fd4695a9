//! Events of the kernel beside a measurement, in a tracefs instance of their own: rtla's `-e`, `--filter` and
//! `--trigger`.

use std::path::{Path, PathBuf};

use super::LatencyError;
use crate::disk;
use crate::kernel::Kernel;
use crate::kernel::guard::{Guard, JOURNALS};

/// Events to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `sys:event`, or `sys` for all of it.
    pub name: String,
    /// What the kernel shall leave out.
    pub filter: Option<String>,
    /// What it shall do at each.
    pub trigger: Option<String>,
}

impl Event {
    /// The folder of the event below `events/`.
    fn folder(&self) -> Option<String> {
        let parts: Vec<&str> = self.name.split(':').collect();
        let good =
            |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        (parts.len() <= 2 && parts.iter().all(good)).then(|| parts.join("/"))
    }
}

/// Events that are being recorded. Dropping it removes the instance.
pub struct EventTrace {
    // Removes the instance when it is dropped.
    _guard: Guard,
    instance: PathBuf,
    /// Events whose triggers make histograms, files for them, and where those are.
    histograms: Vec<(String, String, PathBuf)>,
}

impl EventTrace {
    /// Records these events; nothing outside of the instance is changed.
    ///
    /// # Errors
    /// When there is no such event, or the kernel refuses a filter or a trigger: with what it says.
    pub fn start(kernel: &Kernel, events: &[Event], buffer_kb: Option<u64>) -> Result<Self, LatencyError> {
        let tracefs = kernel.tracefs()?;
        let journals = Path::new(JOURNALS);
        let failed = |operation: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source| LatencyError::File { operation, path, source }
        };
        let mut guard = Guard::new(journals).map_err(failed("keep a journal of settings in", journals))?;
        let instance = tracefs.join("instances").join(format!("probescope_events_{}", std::process::id()));
        guard.make_folder(&instance).map_err(failed("make", &instance))?;
        let mut histograms = Vec::new();
        if let Some(kb) = buffer_kb {
            let path = instance.join("buffer_size_kb");
            disk::set(&path, kb.to_string()).map_err(failed("write", &path))?;
        }
        for event in events {
            let missing = || LatencyError::Options(format!("there is no event `{}` on this kernel", event.name));
            let below = event.folder().ok_or_else(missing)?;
            let folder = instance.join("events").join(&below);
            if !folder.join("enable").exists() {
                return Err(missing());
            }
            let set = |file: &str, text: &str| {
                disk::set(folder.join(file), text).map_err(|e| {
                    let said = error_log(&tracefs);
                    LatencyError::Options(format!("the {file} `{text}` of {} is refused: {e}{said}", event.name))
                })
            };
            if let Some(filter) = &event.filter {
                set("filter", filter)?;
            }
            if let Some(trigger) = &event.trigger {
                set("trigger", trigger)?;
                if trigger.starts_with("hist") {
                    let name = event.name.replace(':', "_");
                    histograms.push((event.name.clone(), format!("{name}_hist.txt"), folder.join("hist")));
                }
            }
            set("enable", "1")?;
        }
        Ok(Self { _guard: guard, instance, histograms })
    }

    /// What was recorded so far, as the kernel prints it.
    #[must_use]
    pub fn text(&self) -> String {
        std::fs::read_to_string(self.instance.join("trace")).unwrap_or_default()
    }

    /// The histograms of triggers: the event, the name of a file, and the text of each.
    #[must_use]
    pub fn histograms(&self) -> Vec<(String, String, String)> {
        let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        self.histograms.iter().map(|(name, file, path)| (name.clone(), file.clone(), text(path))).collect()
    }
}

/// What the kernel has said last of a text that it refused.
fn error_log(tracefs: &Path) -> String {
    let text = std::fs::read_to_string(tracefs.join("error_log")).unwrap_or_default();
    let line = text.lines().rfind(|line| line.contains("error:"));
    line.map_or_else(String::new, |line| format!(" ({})", line.rsplit("error:").next().unwrap_or_default().trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_events_name_leads_nowhere_else() {
        let folder = |name: &str| Event { name: name.into(), filter: None, trigger: None }.folder();
        assert_eq!(folder("sched:sched_switch").as_deref(), Some("sched/sched_switch"));
        assert_eq!(folder("osnoise").as_deref(), Some("osnoise"));
        for bad in ["", ":", "a:", "../../x", "a:b:c", "a:/etc"] {
            assert_eq!(folder(bad), None, "{bad}");
        }
    }
}
