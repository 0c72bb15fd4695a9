//! What a measurement is compared with: the figures that a user kept, one set for each mode. They outlive the pane, the
//! measurement and the workbench, so that a machine can be compared before and after it was tuned, or started anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::model::latency::{Mode, Totals};
use crate::store::TraceId;
use crate::tui::data::effect::Effect;

/// Largest file that is read.
const LARGEST_BYTES: u64 = 32 << 20;
/// Format of the files.
const VERSION: u32 = 1;
const MODES: [Mode; 3] = [Mode::Osnoise, Mode::Timerlat, Mode::Passive];

/// Figures that others are compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    version: u32,
    /// What was measured.
    pub mode: Mode,
    /// The kernel that was measured.
    pub kernel: String,
    /// Seconds since 1970.
    kept_s: u64,
    /// Until the moment at which they were kept.
    pub totals: Totals,
    /// The measurement, if it is of this session: what it counts later holds these figures, too.
    #[serde(skip)]
    pub trace: Option<TraceId>,
    /// Seconds that it was old when it was read.
    #[serde(skip)]
    age_s: u64,
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

impl Baseline {
    /// The figures of a measurement as they are now.
    #[must_use]
    pub fn new(mode: Mode, kernel: &str, trace: TraceId, totals: &Totals) -> Self {
        let totals = totals.clone();
        Self {
            version: VERSION,
            mode,
            kernel: kernel.to_owned(),
            kept_s: now_s(),
            totals,
            trace: Some(trace),
            age_s: 0,
        }
    }

    /// Where it comes from, if that is not the session that is seen.
    #[must_use]
    pub fn origin(&self, kernel: &str) -> Option<String> {
        self.trace.is_none().then(|| {
            let (minutes, hours) = (self.age_s / 60, self.age_s / 3600);
            let age = match (minutes, hours) {
                (0..120, _) => format!("{minutes} min"),
                (_, 0..48) => format!("{hours} h"),
                _ => format!("{} days", hours / 24),
            };
            let other = if self.kernel == kernel { String::new() } else { format!(", Linux {}", self.kernel) };
            format!("kept {age} before this session{other}")
        })
    }
}

/// One for each mode, as far as any was kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baselines {
    folder: Option<PathBuf>,
    kept: Vec<Arc<Baseline>>,
}

impl Baselines {
    /// Reads those of earlier sessions; a file that makes no sense is left out.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let kept = MODES.into_iter().filter_map(|mode| {
            let file = std::fs::File::open(path(folder, mode)).ok()?;
            let bytes = crate::regular::bounded(file, LARGEST_BYTES).ok()?;
            let mut baseline: Baseline = serde_json::from_slice(&bytes).ok()?;
            baseline.age_s = now_s().saturating_sub(baseline.kept_s);
            baseline.kernel.retain(|c| !c.is_control());
            (baseline.version == VERSION && baseline.mode == mode).then(|| Arc::new(baseline))
        });
        Self { folder: Some(folder.to_owned()), kept: kept.collect() }
    }

    /// The one of a mode.
    #[must_use]
    pub fn get(&self, mode: Mode) -> Option<&Baseline> {
        self.kept.iter().find(|kept| kept.mode == mode).map(|kept| &**kept)
    }

    /// Keeps one in place of that of its mode, and tells how it is made to last.
    pub fn keep(&mut self, baseline: Baseline) -> Option<Effect> {
        self.kept.retain(|kept| kept.mode != baseline.mode);
        // Plain data with numbers as keys: never fails.
        let text = serde_json::to_string(&baseline).unwrap_or_default();
        let path = self.folder.as_deref().map(|folder| path(folder, baseline.mode));
        self.kept.push(Arc::new(baseline));
        path.map(|path| Effect::Remember { what: "The baseline is", path, text })
    }
}

fn path(folder: &Path, mode: Mode) -> PathBuf {
    folder.join(format!("baseline-{}.json", mode.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::latency::{CpuSample, TimerSample};
    use crate::tui::data::files;

    #[test]
    fn a_baseline_is_there_in_the_next_session() {
        let folder = std::env::temp_dir().join(format!("probescope-baseline-{}", std::process::id()));
        let mut timer = TimerSample::default();
        timer.thread.record(7_000);
        let mut totals = Totals::default();
        totals.add(&CpuSample { cpu: 3, timer: Some(timer), period_ns: 1_000, ..CpuSample::default() });

        let mut now = Baselines::read(&folder);
        let effect = now.keep(Baseline::new(Mode::Timerlat, "6.12.1", TraceId(4), &totals));
        let Some(Effect::Remember { path, text, .. }) = effect else { panic!("{effect:?}") };
        files::remember(&path, &text).unwrap();
        assert_eq!(now.get(Mode::Timerlat).unwrap().origin("6.12.1"), None);

        let next = Baselines::read(&folder);
        let kept = next.get(Mode::Timerlat).unwrap();
        assert_eq!(kept.totals.cpus, totals.cpus);
        assert_eq!(kept.origin("6.12.1").unwrap(), "kept 0 min before this session");
        assert_eq!(kept.origin("7.0.0").unwrap(), "kept 0 min before this session, Linux 6.12.1");
        assert!(kept.trace.is_none() && next.get(Mode::Osnoise).is_none());

        // One of another format, or of nobody's.
        std::fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
        assert!(Baselines::read(&folder).get(Mode::Timerlat).is_none());
        std::fs::write(&path, "{\"version\":1").unwrap();
        assert!(Baselines::read(&folder).get(Mode::Timerlat).is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
