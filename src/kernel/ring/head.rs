//! How a page of the ring begins, as `events/header_page` tells.

use super::Abi;

/// Where the parts of a page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// Of whoever wrote it.
    pub abi: Abi,
    /// Offset of the clock, 8 bytes.
    pub timestamp: usize,
    /// Offset of the length of the data, with flags.
    pub commit: usize,
    /// Its bytes: 4 or 8.
    pub commit_size: u8,
    /// Offset of the data.
    pub data: usize,
    /// Bytes of a whole page, where the file tells it (instances may have others).
    pub size: usize,
}

/// Largest page that is believed: the kernel's own limit of sub-buffers is below it.
pub const LARGEST: usize = 1 << 20;

impl PageLayout {
    /// What kernels have had for as long as they have told it.
    #[must_use]
    pub const fn usual(abi: Abi) -> Self {
        let long = abi.long as usize;
        Self { abi, timestamp: 0, commit: 8, commit_size: abi.long, data: 8 + long, size: 4096 }
    }

    /// Reads the text of `events/header_page`.
    ///
    /// # Errors
    /// With what makes no sense.
    pub fn parse(abi: Abi, text: &str) -> Result<Self, String> {
        let find = |name: &str| {
            let line = text.lines().find(|line| {
                let declared = line.trim_start().strip_prefix("field:").and_then(|rest| rest.split(';').next());
                declared.is_some_and(|declared| declared.split_whitespace().last() == Some(name))
            });
            let line = line.ok_or_else(|| format!("it has no field `{name}`"))?;
            let number = |key: &str| -> Result<usize, String> {
                let part = line.split(';').find_map(|part| part.trim().strip_prefix(key)?.strip_prefix(':'));
                let number = part.and_then(|part| part.trim().parse::<usize>().ok());
                number.filter(|n| *n <= LARGEST).ok_or_else(|| format!("`{name}` has no {key}"))
            };
            Ok::<(usize, usize), String>((number("offset")?, number("size")?))
        };
        let ((timestamp, of_time), (commit, of_commit), (data, of_data)) =
            (find("timestamp")?, find("commit")?, find("data")?);
        if of_time != 8 || !matches!(of_commit, 4 | 8) {
            return Err(format!("a time of {of_time} bytes, a length of {of_commit}"));
        }
        if timestamp + 8 > data || commit + of_commit > data {
            return Err("its data begins before its head ends".to_owned());
        }
        let abi = Abi { long: of_commit as u8, ..abi };
        Ok(Self { abi, timestamp, commit, commit_size: of_commit as u8, data, size: data + of_data })
    }
}
