//! A case: whose answer, of which load, and what others say.

use super::answer::Seen;

/// Whose answer is compared.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// A bundled script by its name.
    Script(&'static str),
    /// A bundled script of which some text is replaced, since the program that it is for is not here.
    Replaced(&'static str, &'static [(&'static str, &'static str)]),
    /// A semantic probe by its name, with a script that uses it.
    Probe(&'static str, &'static str),
    /// A command by its name.
    Command(&'static str),
}

/// What is compared.
#[derive(Clone, Copy)]
pub enum Claim {
    /// What is seen is what is true.
    Equal(&'static str, &'static str),
    /// What is seen lies between two others, or is one of them.
    Within(&'static str, &'static str, &'static str),
    /// Anything else.
    By(fn(&Seen) -> Result<(), String>),
}

/// How the question is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By `-c`, of the whole system.
    Plain,
    /// By `-p`, of a process that runs already and ends before the trace does.
    Pid,
    /// With a budget.
    Budget,
    /// With maps of a few keys: what is missing is told.
    FewKeys,
    /// With a buffer of one page for reports: what is lost is told.
    SmallBuffer,
    /// Of the whole system, and the process has ended before the answer is given.
    Ended,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Plain, Self::Pid, Self::Ended, Self::Budget, Self::FewKeys, Self::SmallBuffer];

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Pid => "pid",
            Self::Budget => "budget",
            Self::FewKeys => "few-keys",
            Self::SmallBuffer => "small-buffer",
            Self::Ended => "ended",
        }
    }

    /// Whether what is missing is all right where it is told.
    pub const fn may_lack(self) -> bool {
        matches!(self, Self::Budget | Self::FewKeys | Self::SmallBuffer)
    }
}

/// A case as data.
pub struct Row {
    pub subject: Subject,
    /// Words behind the script's, or the command's own.
    pub options: &'static [&'static str],
    /// A load of `probescope load` with its options, or a command of the shell behind `$ `.
    pub load: &'static str,
    pub needs: &'static [&'static str],
    /// Who else is asked.
    pub witness: &'static str,
    /// Why they can't agree exactly, and how far they may differ; empty where they agree.
    pub bound: &'static str,
    pub claims: &'static [Claim],
    /// Why there is no answer about the load's process alone; empty where there is.
    pub no_pid: &'static str,
    /// Asked by `-p` in each mode, as others would be in the answer.
    pub is_by_pid: bool,
    /// A test elsewhere that is the witness, in place of this row: its file and a text of it.
    pub elsewhere: Option<(&'static str, &'static str)>,
}

impl Row {
    /// Nothing yet.
    pub const fn new(subject: Subject, load: &'static str, witness: &'static str, claims: &'static [Claim]) -> Self {
        Self {
            subject,
            options: &[],
            load,
            needs: &[],
            witness,
            bound: "",
            claims,
            no_pid: "",
            is_by_pid: false,
            elsewhere: None,
        }
    }

    pub const fn options(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }

    pub const fn needs_also(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    pub const fn bound(mut self, bound: &'static str) -> Self {
        self.bound = bound;
        self
    }

    pub const fn no_pid(mut self, why: &'static str) -> Self {
        self.no_pid = why;
        self
    }

    pub const fn by_pid(mut self) -> Self {
        self.is_by_pid = true;
        self
    }

    pub const fn elsewhere(mut self, file: &'static str, text: &'static str) -> Self {
        self.elsewhere = Some((file, text));
        self
    }

    pub fn is_asked(&self, mode: Mode) -> bool {
        let is_script = !matches!(self.subject, Subject::Command(_));
        // Loads of our own wait for a sign before they begin, and no counter of the system is read around them.
        let waits = is_script && !self.load.starts_with('$') && super::session::names(self).is_empty();
        self.elsewhere.is_none()
            && match mode {
                Mode::Plain => true,
                Mode::Pid => waits && !self.is_by_pid && self.no_pid.is_empty(),
                Mode::Ended => waits && !self.is_by_pid,
                Mode::Budget | Mode::FewKeys | Mode::SmallBuffer => is_script,
            }
    }

    /// As the table and the test's name have it.
    pub fn name(&self) -> String {
        match self.subject {
            Subject::Script(name) | Subject::Replaced(name, _) => format!("scripts/{name}.bt"),
            Subject::Probe(name, _) => name.to_owned(),
            Subject::Command(name) => format!("probescope {name}"),
        }
    }

    pub fn test_name(&self, mode: Mode) -> String {
        let what = self.name().replace("scripts/", "").replace(".bt", "").replace("probescope ", "").replace(' ', "_");
        let load = self.load().trim_start_matches('$').trim().split([' ', ';']).next().unwrap_or_default();
        let by = if self.is_by_pid { " -p" } else { "" };
        format!("witness/{what}{by}/{}/{}", load.rsplit('/').next().unwrap_or_default(), mode.name())
    }

    /// The load's name alone, or the shell's command.
    pub fn load(&self) -> &'static str {
        if self.load.contains("workload contend") {
            // Whoever counts it, its threads have one name.
            return "contend";
        }
        let ours =
            if self.load.starts_with('$') { self.load.split_once("@PROGRAM@ load ") } else { Some(("", self.load)) };
        match ours.map_or(self.load, |(_, words)| words.split(' ').next().unwrap_or_default()) {
            // Their children have one name.
            "spawn" | "signals" | "cgroup" => "children",
            name => name,
        }
    }

    /// What the kernel must have.
    pub fn needs(&self) -> Vec<String> {
        let mut needs: Vec<String> = self.needs.iter().map(|need| (*need).to_owned()).collect();
        needs.push("root".to_owned());
        if let Subject::Script(name) = self.subject {
            needs.extend(super::support::bundled::needs_of(name).unwrap_or_else(|why| panic!("{why}")));
        }
        needs
    }
}
