//! Sets of small numbers.

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set for numbers below `size`.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    /// One more than the largest number that it can hold.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.0.len() as u32 * 64
    }

    /// Adds a number.
    pub fn insert(&mut self, i: u32) {
        self.0[i as usize / 64] |= 1 << (i % 64);
    }

    /// Takes a number out.
    pub fn remove(&mut self, i: u32) {
        self.0[i as usize / 64] &= !(1 << (i % 64));
    }

    /// Whether it holds a number.
    #[must_use]
    pub fn contains(&self, i: u32) -> bool {
        self.0[i as usize / 64] & (1 << (i % 64)) != 0
    }

    /// Adds all of `other`, which holds no larger numbers.
    pub fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// All numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| numbers_of(word as u32, *bits))
    }

    /// Any number in `start..end`.
    #[must_use]
    pub fn any_in(&self, start: u32, end: u32) -> bool {
        masks(start, end).any(|(word, mask)| self.0[word] & mask != 0)
    }

    /// Adds `start..end`.
    pub fn insert_range(&mut self, start: u32, end: u32) {
        let mut word = start as usize / 64;
        let mut at = start;
        while at < end {
            let stop = end.min((word as u32 + 1) * 64);
            self.0[word] |= mask(at, stop);
            at = stop;
            word += 1;
        }
    }
}

/// The numbers that one word of a set stands for, ascending.
fn numbers_of(word: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            word * 64 + bit
        })
    })
}

/// A set of few numbers out of many, ascending: those of its words that are not zero. Long programs
/// have as many blocks as registers, and each block knows a few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseSet(Vec<(u32, u64)>);

impl SparseSet {
    fn place(&self, i: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(i / 64), |(word, _)| *word)
    }

    /// Adds a number.
    pub fn insert(&mut self, i: u32) {
        let bit = 1 << (i % 64);
        match self.place(i) {
            Ok(at) => self.0[at].1 |= bit,
            Err(at) => self.0.insert(at, (i / 64, bit)),
        }
    }

    /// Whether it holds a number.
    pub fn contains(&self, i: u32) -> bool {
        self.place(i).is_ok_and(|at| self.0[at].1 & (1 << (i % 64)) != 0)
    }

    /// Adds all of `other` that is not in `without`; true when that changed something.
    pub fn union(&mut self, other: &Self, without: &Self) -> bool {
        let (mut changed, mut at, mut skipped) = (false, 0, 0);
        for (word, bits) in &other.0 {
            skipped += without.0[skipped..].iter().take_while(|(w, _)| w < word).count();
            let barred = without.0.get(skipped).filter(|(w, _)| w == word).map_or(0, |(_, bits)| *bits);
            let add = bits & !barred;
            if add == 0 {
                continue;
            }
            at += self.0[at..].iter().take_while(|(w, _)| w < word).count();
            match self.0.get_mut(at) {
                Some((w, own)) if w == word => {
                    changed |= add & !*own != 0;
                    *own |= add;
                }
                _ => {
                    self.0.insert(at, (*word, add));
                    changed = true;
                }
            }
        }
        changed
    }

    /// All numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(word, bits)| numbers_of(*word, *bits))
    }
}

/// The words that hold `start..end`, each with the bits of it.
fn masks(start: u32, end: u32) -> impl Iterator<Item = (usize, u64)> {
    let (first, last) = (start / 64, end.div_ceil(64));
    (first..last).map(move |word| (word as usize, mask(start.max(word * 64), end.min((word + 1) * 64))))
}

/// Bits `start..end` of the word that holds `start`.
const fn mask(start: u32, end: u32) -> u64 {
    let length = end - start;
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    ones << (start % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_words() {
        let mut set = BitSet::new(256);
        set.insert_range(60, 200);
        assert!(!set.any_in(0, 60) && set.any_in(0, 61) && set.any_in(199, 256) && !set.any_in(200, 256));
        assert_eq!(set.iter().count(), 140);
    }
}
