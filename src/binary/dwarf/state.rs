//! What has been read of a binary's debug information so far: units, loaded when something in them is
//! asked for, and the way from addresses, offsets and signatures to units.

mod attributes;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gimli::{AttributeValue, DebuggingInformationEntry, Dwarf, UnitHeader, UnitOffset};
use gimli::{DebugTypeSignature, UnitType};

use super::error::DwarfError;
use super::locate::DebugFile;
use super::window::Window;

pub use attributes::{attr_name, each_child, flag, header_place, text};
use attributes::{language, ranges_of, sorted};

/// Entries that one question may read.
const MOST_ENTRIES: u64 = 60_000_000;
/// Time that one question may take.
const MOST_TIME: Duration = Duration::from_secs(5);
/// Units that are kept loaded.
const MOST_UNITS: usize = 4096;
/// Longest name that is believed, bytes.
const MOST_NAME: usize = 1024;
/// Most ranges of addresses that an index holds.
const MOST_RANGES: usize = 16 << 20;

/// An entry of the debug information.
pub type Die = DebuggingInformationEntry<Window>;

/// Where a unit's header is: whether in `.debug_types`, and its offset there or in `.debug_info`.
pub type HeaderPlace = (bool, usize);

/// What one question may cost.
pub struct Budget {
    entries: u64,
    deadline: Instant,
    what: String,
}

impl Budget {
    /// For a question about `what`.
    pub fn new(what: &str) -> Self {
        Self { entries: MOST_ENTRIES, deadline: Instant::now() + MOST_TIME, what: what.to_owned() }
    }
}

/// A unit that was read.
pub struct Unit {
    /// Its sections.
    pub dwarf: Arc<Dwarf<Window>>,
    /// Its header, abbreviations and bases.
    pub unit: gimli::Unit<Window>,
    /// Which of [`State::objects`] it belongs to.
    pub object: usize,
    /// `DW_AT_language` of its root.
    pub language: Option<gimli::DwLang>,
    /// Entry addresses of its functions, once asked for.
    pub functions: Option<Arc<HashMap<u64, usize>>>,
}

/// A collection of units that refer to each other by their offsets.
pub struct Object {
    /// Its sections.
    pub dwarf: Arc<Dwarf<Window>>,
    /// Offsets of all its units, ascending, once asked for.
    starts: Option<Arc<[usize]>>,
    /// Types by signature, once asked for: section and offset of their unit.
    signatures: Option<Arc<HashMap<u64, HeaderPlace>>>,
}

/// An entry's place: unit and offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Index in [`State::units`].
    pub unit: usize,
    /// Offset in the unit.
    pub offset: usize,
}

/// Addresses of a unit.
#[derive(Clone, Copy, Debug)]
struct Covered {
    start: u64,
    end: u64,
    unit: usize,
}

/// Everything read so far.
pub struct State {
    /// The file that holds it.
    pub path: PathBuf,
    binary: PathBuf,
    objects: Vec<Object>,
    /// Which object is the shared one.
    shared: Option<usize>,
    /// Units loaded, in the order in which they were asked for.
    pub units: Vec<Unit>,
    loaded: HashMap<(usize, HeaderPlace), usize>,
    /// The split object of each skeleton, by the skeleton.
    splits: HashMap<usize, usize>,
    package: Option<gimli::DwarfPackage<Window>>,
    package_sought: bool,
    covered: Option<Vec<Covered>>,
    scanned: bool,
}

type Answer<T> = Result<T, DwarfError>;

impl State {
    /// Nothing read yet.
    pub fn new(binary: &Path, file: &DebugFile) -> Self {
        let mut dwarf = file.dwarf();
        let shared = file.shared();
        if let Some(shared) = &shared {
            dwarf.set_sup(shared.dwarf());
        }
        let mut state = Self {
            path: file.path.clone(),
            binary: binary.to_owned(),
            objects: Vec::new(),
            shared: None,
            units: Vec::new(),
            loaded: HashMap::new(),
            splits: HashMap::new(),
            package: None,
            package_sought: false,
            covered: None,
            scanned: false,
        };
        state.add_object(dwarf);
        state.shared = shared.map(|shared| state.add_object(shared.dwarf()));
        state
    }

    fn add_object(&mut self, dwarf: Dwarf<Window>) -> usize {
        self.objects.push(Object { dwarf: Arc::new(dwarf), starts: None, signatures: None });
        self.objects.len() - 1
    }

    /// An error of the format, in this file.
    pub fn damaged(&self, error: gimli::Error) -> DwarfError {
        DwarfError::Damaged { path: self.path.clone(), problem: error.to_string() }
    }

    /// Takes entries off a question's budget.
    pub fn spend(&self, budget: &mut Budget, entries: u64) -> Answer<()> {
        let before = budget.entries;
        budget.entries = before.saturating_sub(entries);
        let late = before >> 12 != budget.entries >> 12 && Instant::now() > budget.deadline;
        if budget.entries == 0 || late {
            return Err(DwarfError::TooMuch { path: self.path.clone(), what: budget.what.clone() });
        }
        Ok(())
    }

    /// Takes a larger piece of work off a budget, and looks at the clock.
    pub fn step(&self, budget: &mut Budget) -> Answer<()> {
        self.spend(budget, 64)?;
        if Instant::now() > budget.deadline {
            return Err(DwarfError::TooMuch { path: self.path.clone(), what: budget.what.clone() });
        }
        Ok(())
    }

    /// Headers of all units of the binary itself, by their offsets, ascending.
    pub fn starts(&mut self, object: usize, budget: &mut Budget) -> Answer<Arc<[usize]>> {
        if let Some(known) = self.objects.get(object).and_then(|o| o.starts.clone()) {
            return Ok(known);
        }
        let Some(dwarf) = self.objects.get(object).map(|o| Arc::clone(&o.dwarf)) else { return Ok(Arc::from([])) };
        let mut headers = dwarf.units();
        let mut starts = Vec::new();
        while let Some(header) = headers.next().map_err(|e| self.damaged(e))? {
            self.spend(budget, 1)?;
            starts.extend(header.debug_info_offset().map(|o| o.0));
        }
        let starts: Arc<[usize]> = starts.into();
        if let Some(object) = self.objects.get_mut(object) {
            object.starts = Some(Arc::clone(&starts));
        }
        Ok(starts)
    }

    /// The unit whose header is at an offset of `.debug_info`.
    pub fn unit_at(&mut self, object: usize, offset: usize) -> Answer<usize> {
        let key = (object, (false, offset));
        if let Some(known) = self.loaded.get(&key) {
            return Ok(*known);
        }
        let dwarf = Arc::clone(&self.objects[object].dwarf);
        let header = dwarf.unit_header(gimli::DebugInfoOffset(offset)).map_err(|e| self.damaged(e))?;
        self.load(object, dwarf, header)
    }

    fn load(&mut self, object: usize, dwarf: Arc<Dwarf<Window>>, header: UnitHeader<Window>) -> Answer<usize> {
        let key = (object, header_place(&header));
        if let Some(known) = self.loaded.get(&key) {
            return Ok(*known);
        }
        if self.units.len() >= MOST_UNITS {
            return Err(DwarfError::TooMuch { path: self.path.clone(), what: "what many parts of it define".into() });
        }
        let unit = gimli::Unit::new(&dwarf, header).map_err(|e| self.damaged(e))?;
        let language = language(&unit);
        self.units.push(Unit { dwarf, unit, object, language, functions: None });
        self.loaded.insert(key, self.units.len() - 1);
        Ok(self.units.len() - 1)
    }

    /// Reads a unit for a look that may come to nothing: it is not kept.
    pub fn peek(&self, object: usize, offset: usize) -> Answer<Unit> {
        let dwarf = Arc::clone(&self.objects[object].dwarf);
        let header = dwarf.unit_header(gimli::DebugInfoOffset(offset)).map_err(|e| self.damaged(e))?;
        let unit = gimli::Unit::new(&dwarf, header).map_err(|e| self.damaged(e))?;
        let language = language(&unit);
        Ok(Unit { dwarf, unit, object, language, functions: None })
    }

    /// The unit that has a unit's entries: itself, or its split object.
    pub fn full_unit(&mut self, skeleton: usize) -> Answer<usize> {
        if let Some(known) = self.splits.get(&skeleton) {
            return Ok(*known);
        }
        let unit = &self.units[skeleton];
        let (Some(id), Ok(Some(name))) = (unit.unit.dwo_id, unit.unit.dwo_name()) else { return Ok(skeleton) };
        let name = unit.dwarf.attr_string(&unit.unit, name).map_err(|e| self.damaged(e))?;
        let name = PathBuf::from(text(&name));
        let folder = unit.unit.comp_dir.as_ref().map(|d| PathBuf::from(text(d))).unwrap_or_default();
        let parent = Arc::clone(&unit.dwarf);
        let found = self.split_dwarf(id, &folder, &name, &parent)?;
        let Some(dwarf) = found else {
            // The skeleton has addresses and lines; the types are in a file that is not there.
            return Err(DwarfError::Absent { path: self.binary.clone(), looked: vec![folder.join(name)] });
        };
        let object = self.add_object(dwarf);
        let dwarf = Arc::clone(&self.objects[object].dwarf);
        let header = dwarf.units().next().map_err(|e| self.damaged(e))?;
        let Some(header) = header else { return Ok(skeleton) };
        let full = self.load(object, dwarf, header)?;
        let addresses = {
            let from = &self.units[skeleton].unit;
            (from.low_pc, from.addr_base, from.rnglists_base)
        };
        let to = &mut self.units[full].unit;
        (to.low_pc, to.addr_base) = (addresses.0, addresses.1);
        if to.header.version() < 5 {
            to.rnglists_base = addresses.2;
        }
        self.splits.insert(skeleton, full);
        Ok(full)
    }

    fn split_dwarf(
        &mut self,
        id: gimli::DwoId,
        folder: &Path,
        name: &Path,
        parent: &Dwarf<Window>,
    ) -> Answer<Option<Dwarf<Window>>> {
        if !self.package_sought {
            self.package_sought = true;
            self.package = self.find_package();
        }
        if let Some(package) = &self.package
            && let Some(dwarf) = package.find_cu(id, parent).map_err(|e| self.damaged(e))?
        {
            return Ok(Some(dwarf));
        }
        let beside = self.binary.parent().map(|p| p.join(name.file_name().unwrap_or(name.as_os_str())));
        let candidates = std::iter::once(folder.join(name)).chain(beside);
        for file in candidates.filter_map(|path| DebugFile::open(&path)) {
            let mut dwarf = file.split();
            dwarf.make_dwo(parent);
            let fits = dwarf.units().next().ok().flatten().and_then(|h| {
                let unit = gimli::Unit::new(&dwarf, h).ok()?;
                Some(unit.dwo_id == Some(id))
            });
            if fits == Some(true) {
                return Ok(Some(dwarf));
            }
        }
        Ok(None)
    }

    /// `BINARY.dwp`, beside the binary or its debug file.
    fn find_package(&self) -> Option<gimli::DwarfPackage<Window>> {
        let beside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".dwp");
            PathBuf::from(name)
        };
        let real = self.binary.canonicalize().ok();
        let places = [Some(beside(&self.binary)), real.as_deref().map(beside), Some(beside(&self.path))];
        places.into_iter().flatten().find_map(|path| DebugFile::open(&path)?.package())
    }

    /// The unit that covers an address: by `.debug_aranges` where there is one, else by the units' own
    /// ranges.
    pub fn unit_of(&mut self, address: u64, budget: &mut Budget) -> Answer<Option<usize>> {
        if self.covered.is_none() {
            self.covered = Some(sorted(self.index_aranges(budget)?));
        }
        if let Some(found) = self.covering(address) {
            return self.unit_at(0, found).map(Some);
        }
        if !self.scanned {
            self.scanned = true;
            self.covered = Some(sorted(self.scan_ranges(budget)?));
        }
        match self.covering(address) {
            Some(found) => self.unit_at(0, found).map(Some),
            None => Ok(None),
        }
    }

    fn covering(&self, address: u64) -> Option<usize> {
        let covered = self.covered.as_ref()?;
        let after = covered.partition_point(|c| c.start <= address);
        // Ranges of different units do not overlap but for empty and merged functions.
        covered[after.saturating_sub(8)..after].iter().rev().find(|c| address < c.end).map(|c| c.unit)
    }

    fn index_aranges(&self, budget: &mut Budget) -> Answer<Vec<Covered>> {
        let dwarf = &self.objects[0].dwarf;
        let mut list = Vec::new();
        let mut headers = dwarf.debug_aranges.headers();
        // An index is a help: where it is damaged, the units themselves are read.
        while let Ok(Some(header)) = headers.next() {
            let unit = header.debug_info_offset().0;
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                self.spend(budget, 1)?;
                let end = entry.address().saturating_add(entry.length());
                if list.len() < MOST_RANGES {
                    list.push(Covered { start: entry.address(), end, unit });
                }
            }
        }
        Ok(list)
    }

    fn scan_ranges(&mut self, budget: &mut Budget) -> Answer<Vec<Covered>> {
        let mut list = Vec::new();
        for start in self.starts(0, budget)?.iter() {
            self.step(budget)?;
            let Ok(peeked) = self.peek(0, *start) else { continue };
            let Some(mut ranges) = ranges_of(&peeked.dwarf, &peeked.unit) else { continue };
            while let Ok(Some(range)) = ranges.next() {
                self.spend(budget, 1)?;
                if range.begin < range.end && list.len() < MOST_RANGES {
                    list.push(Covered { start: range.begin, end: range.end, unit: *start });
                }
            }
        }
        Ok(list)
    }

    /// The entry at a place.
    pub fn entry(&self, place: Place) -> Answer<Die> {
        let unit = &self.units[place.unit].unit;
        unit.entry(UnitOffset(place.offset)).map_err(|e| self.damaged(e))
    }

    /// The entry that an attribute of an entry of `unit` refers to.
    pub fn target(
        &mut self,
        unit: usize,
        value: &AttributeValue<Window>,
        budget: &mut Budget,
    ) -> Answer<Option<Place>> {
        let object = self.units[unit].object;
        match value {
            AttributeValue::UnitRef(offset) => Ok(Some(Place { unit, offset: offset.0 })),
            AttributeValue::DebugInfoRef(offset) => self.in_object(object, offset.0, budget),
            AttributeValue::DebugInfoRefSup(offset) => match self.shared {
                Some(shared) => self.in_object(shared, offset.0, budget),
                None => Ok(None),
            },
            AttributeValue::DebugTypesRef(signature) => self.by_signature(object, *signature, budget),
            _ => Ok(None),
        }
    }

    fn in_object(&mut self, object: usize, offset: usize, budget: &mut Budget) -> Answer<Option<Place>> {
        let starts = self.starts(object, budget)?;
        let Some(start) = starts.partition_point(|s| *s <= offset).checked_sub(1).and_then(|i| starts.get(i)) else {
            return Ok(None);
        };
        let unit = self.unit_at(object, *start)?;
        Ok(Some(Place { unit, offset: offset - start }))
    }

    fn by_signature(
        &mut self,
        object: usize,
        signature: DebugTypeSignature,
        budget: &mut Budget,
    ) -> Answer<Option<Place>> {
        if self.objects[object].signatures.is_none() {
            let found = self.signatures(object, budget)?;
            self.objects[object].signatures = Some(Arc::new(found));
        }
        let known = self.objects[object].signatures.clone().unwrap_or_default();
        let dwarf = Arc::clone(&self.objects[object].dwarf);
        let header = match known.get(&signature.0) {
            Some((false, at)) => dwarf.unit_header(gimli::DebugInfoOffset(*at)).map_err(|e| self.damaged(e))?,
            Some((true, at)) => {
                let mut headers = dwarf.type_units();
                loop {
                    match headers.next().map_err(|e| self.damaged(e))? {
                        Some(header) if header_place(&header) == (true, *at) => break header,
                        Some(_) => self.spend(budget, 1)?,
                        None => return Ok(None),
                    }
                }
            }
            None => return Ok(None),
        };
        let offset = match header.type_() {
            UnitType::Type { type_offset, .. } | UnitType::SplitType { type_offset, .. } => type_offset.0,
            _ => return Ok(None),
        };
        let unit = self.load(object, dwarf, header)?;
        Ok(Some(Place { unit, offset }))
    }

    fn signatures(&self, object: usize, budget: &mut Budget) -> Answer<HashMap<u64, HeaderPlace>> {
        let dwarf = &self.objects[object].dwarf;
        let mut known = HashMap::new();
        let mut note = |header: &UnitHeader<Window>| match header.type_() {
            UnitType::Type { type_signature, .. } | UnitType::SplitType { type_signature, .. } => {
                known.insert(type_signature.0, header_place(header));
            }
            _ => {}
        };
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            self.spend(budget, 1)?;
            note(&header);
        }
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            self.spend(budget, 1)?;
            note(&header);
        }
        Ok(known)
    }

    /// The name of an entry of a unit; empty when it has none. Control characters are taken out: the
    /// text is the binary's.
    pub fn name(&self, unit: usize, die: &Die) -> String {
        let unit = &self.units[unit];
        attr_name(unit, die)
    }
}
