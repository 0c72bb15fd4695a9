//! What the kernel itself counts, by names: `softirqs.NET_RX`, `snmp.Tcp.ActiveOpens`.
//!
//! Counters of the whole system are read around the load, inside of the trace (`inner`), and around the trace (`outer`): what
//! is traced lies between both.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// First word of this program's command line where it frames a load.
const FRAME: &str = "frame";

/// A counter's value; 0 where this kernel has none of the name.
pub fn read(name: &str) -> f64 {
    let mut parts = name.splitn(3, '.');
    let (file, row, column) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match file {
        "softirqs" => sum_of_row("/proc/softirqs", row),
        "interrupts" if row == "devices" => devices(),
        "interrupts" => sum_of_row("/proc/interrupts", row),
        "snmp" => headed("/proc/net/snmp", row, column),
        "netstat" => headed("/proc/net/netstat", row, column),
        // One name and one number a line.
        "snmp6" => first_of_row("/proc/net/snmp6", row, 1),
        "cpuidle" => idle_states(),
        "vmstat" => first_of_row("/proc/vmstat", row, 1),
        "stat" => first_of_row("/proc/stat", row, 1),
        "net" => device(row, column),
        "diskstats" => disks(row),
        _ => panic!("there is no counter `{name}`"),
    }
}

fn lines(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(words).filter(|words| !words.is_empty()).collect()
}

fn number(word: Option<&String>) -> f64 {
    word.and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

fn numbers(words: &[String]) -> f64 {
    words.iter().map_while(|w| w.parse::<f64>().ok()).sum()
}

fn sum_of_row(path: &str, row: &str) -> f64 {
    lines(path).iter().filter(|l| l[0].trim_end_matches(':') == row).map(|l| numbers(&l[1..])).sum()
}

/// Interrupts with numbers: those of devices.
fn devices() -> f64 {
    let is_device = |l: &&Vec<String>| l[0].trim_end_matches(':').parse::<u32>().is_ok();
    lines("/proc/interrupts").iter().filter(is_device).map(|l| numbers(&l[1..])).sum()
}

/// How often CPUs went into an idle state.
fn idle_states() -> f64 {
    let entries = |path: &str| fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    let states = entries("/sys/devices/system/cpu")
        .into_iter()
        .flat_map(|cpu| entries(&cpu.join("cpuidle").display().to_string()));
    let usage = |state: std::path::PathBuf| fs::read_to_string(state.join("usage")).ok()?.trim().parse::<f64>().ok();
    states.filter_map(usage).sum()
}

fn first_of_row(path: &str, row: &str, column: usize) -> f64 {
    lines(path).iter().find(|l| l[0] == row).map_or(0.0, |l| number(l.get(column)))
}

/// A table whose rows stand below a row of headings.
fn headed(path: &str, row: &str, column: &str) -> f64 {
    let all = lines(path);
    let mut rows = all.iter().filter(|l| l[0].trim_end_matches(':') == row);
    let (Some(headings), Some(values)) = (rows.next(), rows.next()) else { return 0.0 };
    headings.iter().position(|h| h == column).map_or(0.0, |at| number(values.get(at)))
}

/// `/proc/net/dev`: bytes and packets of a device.
fn device(name: &str, column: &str) -> f64 {
    let text = fs::read_to_string("/proc/net/dev").unwrap_or_default().replace(':', ": ");
    let at = match column {
        "rx_bytes" => 1,
        "rx_packets" => 2,
        "tx_bytes" => 9,
        _ => 10,
    };
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.first()? == &format!("{name}:")).then(|| words.get(at)?.parse::<f64>().ok())?
    };
    text.lines().find_map(of).unwrap_or(0.0)
}

/// `/proc/diskstats`, whole disks only: requests that are done, or sectors.
fn disks(column: &str) -> f64 {
    let columns: &[usize] = match column {
        "ios" => &[3, 7, 14, 18],
        "read_sectors" => &[5],
        "discarded_sectors" => &[16],
        _ => &[9],
    };
    let whole = |l: &&Vec<String>| fs::metadata(format!("/sys/block/{}", l[2])).is_ok();
    lines("/proc/diskstats").iter().filter(whole).map(|l| columns.iter().map(|c| number(l.get(*c))).sum::<f64>()).sum()
}

/// All of these counters.
pub fn read_all(names: &[String]) -> BTreeMap<String, f64> {
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

/// Runs a command between two readings of counters, if this process was started for that; prints what both said, as JSON.
pub fn be_frame_if_asked() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_none_or(|w| w != FRAME) {
        return;
    }
    let names: Vec<String> = words[1].split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect();
    let before = read_all(&names);
    let output = Command::new(&words[2]).args(&words[3..]).stderr(Stdio::inherit()).output().unwrap();
    let after = read_all(&names);
    let change: BTreeMap<&String, f64> = after.iter().map(|(name, value)| (name, value - before[name])).collect();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let truth: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    println!("{}", json!({"inner": change, "truth": truth, "text": text, "code": output.status.code()}));
    std::process::exit(0);
}

/// The words that make this program run `command` in a frame of these counters.
pub fn frame(names: &[String], command: &[String]) -> Vec<String> {
    let own = std::env::current_exe().unwrap().display().to_string();
    [own, FRAME.to_owned(), format!("{},", names.join(","))].into_iter().chain(command.iter().cloned()).collect()
}
