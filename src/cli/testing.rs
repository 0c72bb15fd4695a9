//! How tests and benchmarks of a script are shown: bpftrace's `--test` and `--bench`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use super::face::{Settings, StreamFace};
use crate::lang::source::SourceText;
use crate::output::OutputFormat;
use crate::output::json;
use crate::session::testing::{Measured, Outcome, TestFace};
use crate::tracer::report::Face;

/// Columns of the table of benchmarks.
const NAME_WIDTH: usize = 40;
const TIME_WIDTH: usize = 14;

/// Text that the script wrote, until it is decided whether anybody sees it.
#[derive(Clone, Debug, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The face.
pub struct TestPrinter {
    face: StreamFace,
    captured: Captured,
    output: Box<dyn Write + Send>,
    json: bool,
    colour: bool,
    bench: bool,
    ran: usize,
    failed: Vec<String>,
}

impl std::fmt::Debug for TestPrinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestPrinter").field("json", &self.json).finish_non_exhaustive()
    }
}

impl TestPrinter {
    /// Shows tests, or with `bench` a table of benchmarks, on `output`.
    #[must_use]
    pub fn new(mut settings: Settings, source: SourceText, bench: bool, output: Box<dyn Write + Send>) -> Self {
        let captured = Captured::default();
        let (json, colour) = (settings.format == OutputFormat::Json, settings.terminal);
        // What a test prints is a field of its record, as text.
        settings.format = OutputFormat::Text;
        let face = StreamFace::new(settings, source, Box::new(captured.clone()));
        Self { face, captured, output, json, colour, bench, ran: 0, failed: Vec::new() }
    }

    /// The script has ended: what its end probes printed is shown.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn close(&mut self) -> io::Result<()> {
        let rest = self.captured.take();
        if !self.json {
            self.output.write_all(&rest)?;
        }
        self.output.flush()
    }

    fn line(&mut self, mark: &str, good: bool, text: &str) -> io::Result<()> {
        let (on, off) = match (self.colour, good) {
            (true, true) => ("\x1b[32m", "\x1b[0m"),
            (true, false) => ("\x1b[31m", "\x1b[0m"),
            (false, _) => ("", ""),
        };
        writeln!(self.output, "{on}[{mark}]{off} {text}")
    }
}

/// A duration in the largest unit that leaves a whole number.
fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} μs", ns / 1_000),
        _ => format!("{} ms", ns / 1_000_000),
    }
}

const fn tests(count: usize) -> &'static str {
    if count == 1 { "test" } else { "tests" }
}

impl TestFace for TestPrinter {
    fn reports(&mut self) -> &mut dyn Face {
        &mut self.face
    }

    fn starting(&mut self, count: usize) -> io::Result<()> {
        match (self.json, self.bench) {
            (true, _) => Ok(()),
            (false, false) => self.line("==========", true, &format!("Running {count} tests.")),
            (false, true) => {
                let dashes = "-".repeat(NAME_WIDTH + TIME_WIDTH + 12);
                writeln!(self.output, "{:NAME_WIDTH$} {:TIME_WIDTH$} Iterations\n{dashes}", "Benchmark", "Time(ns)")
            }
        }
    }

    fn test(&mut self, name: &str) -> io::Result<()> {
        if self.json { Ok(()) } else { self.line(" RUN      ", true, name) }
    }

    fn outcome(&mut self, outcome: Outcome<'_>) -> io::Result<()> {
        let Outcome { name, passed, duration_ns } = outcome;
        let text = self.captured.take();
        self.ran += 1;
        if !passed {
            self.failed.push(name.to_owned());
        }
        if self.json {
            let mut record = Vec::new();
            json::test_result(name, passed, duration_ns, &text, &mut record);
            return self.output.write_all(&record);
        }
        let time = duration(duration_ns);
        if passed {
            return self.line("       OK ", true, &format!("{name} ({time})"));
        }
        self.output.write_all(&text)?;
        if text.last().is_some_and(|b| *b != b'\n') {
            writeln!(self.output)?;
        }
        self.line("  FAILED  ", false, &format!("{name} ({time})"))
    }

    fn measured(&mut self, measured: Measured<'_>) -> io::Result<()> {
        let Measured { name, average_ns, runs } = measured;
        // Thousands of times the same.
        self.captured.take();
        if self.json {
            let mut record = Vec::new();
            json::benchmark_result(name, average_ns, runs, &mut record);
            return self.output.write_all(&record);
        }
        writeln!(self.output, "{name:NAME_WIDTH$} {average_ns:<TIME_WIDTH$} {runs}")?;
        self.output.flush()
    }

    fn done(&mut self) -> io::Result<()> {
        if self.json || self.bench {
            return Ok(());
        }
        let (ran, failed) = (self.ran, std::mem::take(&mut self.failed));
        let passed = ran - failed.len();
        self.line("==========", true, &format!("{ran} {} ran.", tests(ran)))?;
        self.line("  PASSED  ", true, &format!("{passed} {}.", tests(passed)))?;
        if !failed.is_empty() {
            self.line("  FAILED  ", false, &format!("{} {}, listed below:", failed.len(), tests(failed.len())))?;
            for name in &failed {
                self.line("  FAILED  ", false, name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod checks {
    use super::*;

    #[test]
    fn durations_have_the_unit_that_fits() {
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_500), "1 μs");
        assert_eq!(duration(2_000_000), "2 ms");
    }
}
