//! Pages of a file, one after the other: as they lie, or packed in pieces.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::super::ring::Source;
use super::file::unpack;
use crate::kernel::ring::Abi;

/// Largest piece that is believed, bytes.
const MOST_PIECE: u32 = 64 << 20;
/// Pages that are read at once.
const TOGETHER: usize = 64;

/// Pages that lie in the file.
#[derive(Debug)]
pub struct Plain {
    file: Arc<File>,
    at: u64,
    end: u64,
    page: usize,
    read: Vec<u8>,
    used: usize,
}

impl Plain {
    pub(super) fn new(file: Arc<File>, at: u64, length: u64, page: usize) -> Self {
        Self { file, at, end: at + length, page, read: Vec::new(), used: 0 }
    }
}

impl Source for Plain {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        if self.used == self.read.len() {
            let length = (self.end - self.at).min((self.page * TOGETHER) as u64) as usize;
            self.read.resize(length, 0);
            self.file.read_exact_at(&mut self.read, self.at)?;
            self.at += length as u64;
            self.used = 0;
        }
        let length = (self.read.len() - self.used).min(self.page).min(page.len());
        page[..length].copy_from_slice(&self.read[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}

/// Pages that are packed, some of them together in a piece.
#[derive(Debug)]
pub struct Packed {
    file: Arc<File>,
    packing: String,
    at: u64,
    end: u64,
    page: usize,
    abi: Abi,
    /// How many pieces are still to come; `None` before their number was read.
    pieces: Option<u32>,
    read: Vec<u8>,
    used: usize,
}

impl Packed {
    pub(super) fn new(file: Arc<File>, packing: &str, (at, length): (u64, u64), page: usize, abi: Abi) -> Self {
        let packing = packing.to_owned();
        Self { file, packing, at, end: at + length, page, abi, pieces: None, read: Vec::new(), used: 0 }
    }

    fn word(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        if self.at + 4 > self.end {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.file.read_exact_at(&mut bytes, self.at)?;
        self.at += 4;
        Ok(self.abi.uint(&bytes, 0, 4).unwrap_or(0) as u32)
    }

    fn piece(&mut self) -> io::Result<bool> {
        let left = match self.pieces {
            Some(left) => left,
            None if self.at == self.end => 0,
            None => self.word()?,
        };
        if left == 0 {
            self.pieces = Some(0);
            return Ok(false);
        }
        self.pieces = Some(left - 1);
        let (packed, whole) = (self.word()?, self.word()?);
        if packed > MOST_PIECE || whole > MOST_PIECE || self.at + u64::from(packed) > self.end {
            return Err(io::Error::other("a piece reaches over the end"));
        }
        let mut bytes = vec![0; packed as usize];
        self.file.read_exact_at(&mut bytes, self.at)?;
        self.at += u64::from(packed);
        self.read = unpack(&self.packing, &bytes, whole.into())?;
        self.used = 0;
        Ok(true)
    }
}

impl Source for Packed {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        while self.used == self.read.len() {
            if !self.piece()? {
                return Ok(0);
            }
        }
        let length = (self.read.len() - self.used).min(self.page).min(page.len());
        page[..length].copy_from_slice(&self.read[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}
