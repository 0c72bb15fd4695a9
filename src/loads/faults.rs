//! Page faults: first touches of memory, and pages that come back from a disk.

use std::fs::File;

use super::files::Folder;
use super::memory::{Pages, page_bytes};
use super::{Load, LoadError, Plan, Truth, proc};

pub const LOAD: Load = Load {
    name: "faults",
    about: "Touches fresh pages, and pages of a file that the page cache has dropped.",
    truth: &[
        ("fresh_pages", "pages touched for the first time: a minor fault each"),
        ("file_pages", "pages of a file touched after the cache dropped them: a major fault each, on a disk"),
        ("minor_faults", "the kernel's count of minor faults meanwhile (/proc/self/stat)"),
        ("major_faults", "the kernel's count of major faults meanwhile (/proc/self/stat)"),
        ("all_faults", "the kernel's count of all faults since the process began"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    let mut random = plan.random();
    let fresh = random.between(2000, 6000);
    let of_file = random.between(20, 60);
    let folder = Folder::new()?;
    let path = folder.0.join("pages");
    let failed = LoadError::at("write", path.display());
    std::fs::write(&path, vec![1; of_file as usize * page_bytes()]).map_err(&failed)?;
    let file = File::open(&path).map_err(&failed)?;
    file.sync_all().map_err(&failed)?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).map_err(|e| failed(e.into()))?;
    let mapped = Pages::of_file(&file, of_file as usize)?;
    let pages = Pages::fresh(fresh as usize)?;
    let before = proc::faults()?;
    pages.write_each();
    mapped.read_each();
    let after = proc::faults()?;
    Ok(Truth::new()
        .with("fresh_pages", fresh)
        .with("file_pages", of_file)
        .with("minor_faults", after.0 - before.0)
        .with("major_faults", after.1 - before.1)
        .with("all_faults", after.0 + after.1))
}
