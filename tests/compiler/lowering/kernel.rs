//! Loads artifacts into the running kernel, runs them, reads what they wrote.
#![allow(dead_code, reason = "each test uses some")]

use std::sync::Mutex;

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput, RingBufferBuilder};
use probescope::codegen::artifact::{
    Artifact, CellsSpec, FIRST_SLOT, PerCpuRingSpec, RingSpec, SLOT_ROUND_BITS, Storage,
};
use probescope::codegen::compile;
use probescope::kernel::target::{KernelFeatures, TargetFacts, TaskOffsets};
use probescope::lang::typed::Program;

/// The running kernel's version, with this machine's CPUs.
pub fn facts() -> TargetFacts {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|n| n.parse::<u32>().unwrap_or(0));
    let (major, minor) = (numbers.next().unwrap(), numbers.next().unwrap());
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap();
    let last: u32 = possible.trim().rsplit(['-', ',']).next().unwrap().parse().unwrap();
    TargetFacts::of_version(major, minor, last + 1)
}

static LOG: Mutex<String> = Mutex::new(String::new());

/// What libbpf said; a test that failed while it held this leaves it readable.
fn log() -> std::sync::MutexGuard<'static, String> {
    LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub struct Loaded {
    pub object: Object,
    pub artifact: Artifact,
}

/// Compiles and loads; a refusal is a test failure with the verifier's log.
pub fn load(program: &Program) -> Loaded {
    load_with(program, &facts())
}

pub fn load_with(program: &Program, facts: &TargetFacts) -> Loaded {
    let artifact = compile(program, facts).unwrap_or_else(|e| panic!("compile: {e}\n{:?}", e.hint()));
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| log().push_str(&text))));
    log().clear();
    if let Ok(path) = std::env::var("LOWER_DUMP") {
        std::fs::write(path, &artifact.object).unwrap();
    }
    let open = ObjectBuilder::default().open_memory(&artifact.object).unwrap_or_else(|e| panic!("open: {e:#}"));
    match open.load() {
        Ok(object) => Loaded { object, artifact },
        Err(e) => {
            let lowered = probescope::codegen::lower::lower(program, facts).unwrap();
            for f in &lowered.module.functions {
                eprintln!("{f}");
            }
            let said = log().clone();
            panic!("load: {e:#}\n{said}")
        }
    }
}

impl Loaded {
    /// Runs the first program with these context words.
    pub fn run(&mut self, context: &[u64]) {
        let mut words = context.to_vec();
        words.resize(12, 0);
        let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let program = self.object.progs_mut().next().unwrap();
        let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
        program.test_run(input).unwrap_or_else(|e| panic!("run: {e:#}"));
    }

    pub fn area(&self, name: &str) -> Vec<u8> {
        let map = self.object.maps().find(|m| m.name().to_string_lossy() == name).expect("global data");
        map.lookup(&0u32.to_le_bytes(), MapFlags::ANY).unwrap().unwrap()
    }

    /// A scalar map's bytes in global data, if present.
    pub fn scalar(&self, map: usize, size: usize) -> Option<Vec<u8>> {
        let Storage::Global { area, offset, present } = &self.artifact.maps[map].storage else { panic!("not global") };
        let data = self.area(area);
        (data[*present as usize] != 0).then(|| data[*offset as usize..*offset as usize + size].to_vec())
    }

    pub fn number(&self, map: usize) -> Option<i64> {
        self.scalar(map, 8).map(|b| i64::from_le_bytes(b.try_into().unwrap()))
    }

    /// All CPUs' copies of a scalar aggregation, as words, added up.
    pub fn summed(&self, map: usize, words: usize) -> Vec<u64> {
        let Storage::GlobalPerCpu { area, offset, stride, .. } = &self.artifact.maps[map].storage else {
            panic!("not per CPU")
        };
        let data = self.area(area);
        let mut out = vec![0_u64; words];
        let mut at = *offset as usize;
        while at + words * 8 <= data.len() {
            for (i, w) in data[at..at + words * 8].chunks(8).enumerate() {
                out[i] = out[i].wrapping_add(u64::from_le_bytes(w.try_into().unwrap()));
            }
            at += *stride as usize;
        }
        out
    }

    /// Entries of a keyed map: key and value bytes, CPUs added up word by word.
    pub fn entries(&self, map: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (map, per_cpu) = match &self.artifact.maps[map].storage {
            Storage::Hash { map, per_cpu, .. } => (map, per_cpu),
            Storage::Cells(cells) => return self.cells(cells),
            other => panic!("not keyed: {other:?}"),
        };
        let map = self.object.maps().find(|m| m.name().to_string_lossy() == **map).unwrap();
        map.keys()
            .map(|key| {
                if !*per_cpu {
                    return (key.clone(), map.lookup(&key, MapFlags::ANY).unwrap().unwrap());
                }
                let copies = map.lookup_percpu(&key, MapFlags::ANY).unwrap().unwrap();
                let mut sum = vec![0_u64; copies[0].len() / 8];
                for copy in copies {
                    for (i, w) in copy.chunks_exact(8).enumerate() {
                        sum[i] = sum[i].wrapping_add(u64::from_le_bytes(w.try_into().unwrap()));
                    }
                }
                (key, sum.iter().flat_map(|w| w.to_le_bytes()).collect())
            })
            .collect()
    }

    /// Entries of a map in cells, of its first epoch.
    fn cells(&self, cells: &CellsSpec) -> Vec<(Vec<u8>, Vec<u8>)> {
        let numbers = self.object.maps().find(|m| m.name().to_string_lossy() == *cells.map).unwrap();
        let data = self.area(&cells.area);
        let value_of = |tag: u64| {
            let first = cells.first as usize + (tag as usize - 1) * cells.value_size as usize;
            let mut sum = vec![0_u64; cells.value_size as usize / 8];
            for cpu in (first..data.len()).step_by(cells.stride as usize) {
                for (i, w) in data[cpu..][..cells.value_size as usize].chunks_exact(8).enumerate() {
                    sum[i] = sum[i].wrapping_add(u64::from_le_bytes(w.try_into().unwrap()));
                }
            }
            sum.iter().flat_map(|w| w.to_le_bytes()).collect()
        };
        let entry = |key: Vec<u8>| {
            let tag = numbers.lookup(&key, MapFlags::ANY).unwrap().unwrap();
            assert_eq!(key[..8], [0; 8], "the first epoch");
            (key[8..].to_vec(), value_of(u64::from_le_bytes(tag.try_into().unwrap())))
        };
        numbers.keys().map(entry).collect()
    }

    /// Records in the order in which they were made.
    pub fn records(&self) -> Vec<Vec<u8>> {
        match self.artifact.ring.as_ref().unwrap() {
            RingSpec::Kernel { map } => self.kernel_records(map),
            RingSpec::Slots(slots) => self.slot_records(slots),
        }
    }

    fn kernel_records(&self, name: &str) -> Vec<Vec<u8>> {
        let map = self.object.maps().find(|m| m.name().to_string_lossy() == *name).unwrap();
        let records = std::cell::RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&map, |data| {
                records.borrow_mut().push(data.to_vec());
                0
            })
            .unwrap();
        let ring = builder.build().unwrap();
        ring.consume().unwrap();
        drop(ring);
        records.into_inner()
    }

    fn slot_records(&self, slots: &PerCpuRingSpec) -> Vec<Vec<u8>> {
        let map = self.object.maps().find(|m| m.name().to_string_lossy() == *slots.map).unwrap();
        let mut records = std::collections::BTreeMap::new();
        for cpu in 0..slots.rings {
            let ring = map.lookup(&cpu.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
            let word = |at: usize| u64::from_ne_bytes(ring[at..at + 8].try_into().unwrap());
            for number in 0..word(0) as usize {
                let at = FIRST_SLOT as usize + number * slots.slot_bytes as usize;
                let bytes = word(at) as u32 >> SLOT_ROUND_BITS;
                records.insert(word(at) >> 32, ring[at + 8..][..bytes as usize].to_vec());
            }
        }
        records.into_values().collect()
    }

    /// All loss counters: cause in words and count, those that are not zero.
    pub fn losses(&self) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        for site in &self.artifact.sites {
            let data = self.area(&site.area);
            let at = site.offset as usize;
            let n = u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
            if n > 0 {
                out.push((site.cause.words().to_owned(), n));
            }
        }
        out
    }
}

/// Offsets that make `ppid` compile; the values are of no kernel.
pub fn with_task(facts: TargetFacts) -> TargetFacts {
    let task_offsets =
        Some(TaskOffsets { pid: 8, tgid: 12, comm: 16, mm: 40, real_parent: 32, run_delay: None, btf_id: 1 });
    let features = KernelFeatures { task_offsets, ..facts.features().clone() };
    facts.with_features(move || features)
}
