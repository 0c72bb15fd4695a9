//! What the records of a kernel look like, by the number that they begin with; and the names of its functions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::kernel::Kernel;
use crate::kernel::record::{RecordShape, Symbols};
use crate::kernel::ring::Abi;
use crate::kernel::tracefs::EventName;

/// Formats of `printk` that are kept.
const MOST_FORMATS: usize = 1 << 20;

/// Shapes of records, read when the first record of a kind comes.
#[derive(Debug)]
pub struct Shapes {
    kernel: Option<Arc<Kernel>>,
    by_id: HashMap<u16, Option<Arc<RecordShape>>>,
    /// Events that no shape was found for were looked for among all.
    looked: bool,
    abi: Abi,
}

impl Shapes {
    /// Of the running kernel.
    #[must_use]
    pub fn running(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Some(Arc::clone(kernel)), by_id: HashMap::new(), looked: false, abi: Abi::NATIVE }
    }

    /// Of formats that were recorded.
    #[must_use]
    pub fn recorded(shapes: impl IntoIterator<Item = RecordShape>, abi: Abi) -> Self {
        let by_id = shapes.into_iter().map(|shape| (shape.id as u16, Some(Arc::new(shape)))).collect();
        Self { kernel: None, by_id, looked: true, abi }
    }

    /// Of which order and size numbers are.
    #[must_use]
    pub const fn abi(&self) -> Abi {
        self.abi
    }

    /// Reads an event's format.
    pub fn add(&mut self, name: &EventName) -> Option<Arc<RecordShape>> {
        let format = self.kernel.as_ref()?.tracepoint(&name.0, &name.1).ok()?;
        let shape = Arc::new(RecordShape::of(&format, self.abi));
        self.by_id.insert(shape.id as u16, Some(Arc::clone(&shape)));
        Some(shape)
    }

    /// The shape of a record.
    pub fn of(&mut self, record: &[u8]) -> Option<&Arc<RecordShape>> {
        let id = self.abi.uint(record, 0, 2)? as u16;
        if !self.by_id.contains_key(&id) {
            self.look_for(id);
        }
        self.by_id.get(&id)?.as_ref()
    }

    /// An event that a trigger has turned on, or one of the kernel's own forms, which have no file of their number.
    fn look_for(&mut self, id: u16) {
        let Some(kernel) = self.kernel.clone() else { return };
        let Ok(events) = kernel.tracefs().map(|tracefs| tracefs.join("events")) else { return };
        let names = |folder: PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
        };
        let before = self.by_id.len();
        for form in names(events.join("ftrace")) {
            self.add(&("ftrace".into(), form.as_str().into()));
        }
        if self.by_id.contains_key(&id) {
            return;
        }
        // All are looked at once, and again when the forms were new: what is defined later is rare.
        let systems = if self.looked && self.by_id.len() == before { Vec::new() } else { names(events.clone()) };
        self.looked = true;
        for system in systems {
            for event in names(events.join(&system)) {
                let text = std::fs::read_to_string(events.join(&system).join(&event).join("id"));
                if text.is_ok_and(|text| text.trim().parse() == Ok(id)) {
                    self.add(&(system.as_str().into(), event.as_str().into()));
                    return;
                }
            }
        }
        self.by_id.insert(id, None);
    }
}

/// Names of a kernel's functions, and its formats.
pub enum Names {
    /// Of the running kernel.
    Running(Arc<Kernel>, HashMap<u64, Arc<str>>),
    /// As they were recorded.
    Recorded(crate::kernel::symbols::SymbolTable, HashMap<u64, Arc<str>>),
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

impl Names {
    /// Of the running kernel.
    #[must_use]
    pub fn running(kernel: &Arc<Kernel>) -> Self {
        let path = kernel.tracefs().map(|tracefs| tracefs.join("printk_formats")).unwrap_or_default();
        Self::Running(Arc::clone(kernel), formats(&std::fs::read_to_string(path).unwrap_or_default()))
    }
}

impl Symbols for Names {
    fn name(&self, address: u64) -> Option<(Arc<str>, u64)> {
        match self {
            Self::Running(kernel, _) => kernel.symbolize(address).map(|(name, offset, _)| (name, offset)),
            Self::Recorded(table, _) => table.symbolize(address).map(|(name, offset, _)| (name, offset)),
        }
    }

    fn text(&self, address: u64) -> Option<Arc<str>> {
        let (Self::Running(_, formats) | Self::Recorded(_, formats)) = self;
        formats.get(&address).cloned()
    }
}

/// `0xffff… : "text"`, as `printk_formats` has them.
#[must_use]
pub fn formats(text: &str) -> HashMap<u64, Arc<str>> {
    let one = |line: &str| {
        let (address, text) = line.split_once(" : ")?;
        let address = u64::from_str_radix(address.trim().strip_prefix("0x")?, 16).ok()?;
        Some((address, text.trim().trim_matches('"').replace("\\n", "").into()))
    };
    text.lines().take(MOST_FORMATS).filter_map(one).collect()
}
