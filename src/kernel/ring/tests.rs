//! Pages that are as they should be, and those that are not.

use proptest::prelude::*;

use super::made::{Made, Part};
use super::{Abi, Missed, PageError, PageLayout, Position};

const ABI: Abi = Abi { big_endian: false, long: 8 };
const LAYOUT: PageLayout = PageLayout::usual(ABI);

fn page(parts: &[Part], clock: u64, missed: Option<u64>) -> Vec<u8> {
    let mut made = Made::default();
    parts.iter().for_each(|part| made.add(part));
    made.page(&LAYOUT, clock, missed, 4096)
}

fn all(page: &[u8]) -> (Vec<(u64, Vec<u8>)>, Option<PageError>) {
    let mut position = match Position::begin(&LAYOUT, page) {
        Ok(position) => position,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut found = Vec::new();
    loop {
        match position.next(&LAYOUT, page) {
            Ok(Some(record)) => found.push((record.at, record.data.to_vec())),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

#[test]
fn the_head_is_where_the_kernel_says() {
    let text = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    assert_eq!(PageLayout::parse(ABI, text), Ok(LAYOUT));
    let of_32_bits =
        text.replace("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4").replace("offset:16", "offset:12");
    let layout = PageLayout::parse(ABI, &of_32_bits).unwrap();
    assert_eq!((layout.commit_size, layout.data, layout.abi.long), (4, 12, 4));
    for wrong in [
        "",
        &text.replace("offset:16", "offset:4"),
        &text.replace("size:4080", "size:99999999"),
        &text.replace("timestamp", "time"),
    ] {
        assert!(PageLayout::parse(ABI, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn times_add_up_over_extends_stamps_and_what_was_taken_back() {
    let parts = [
        Part::Record(0, vec![1; 8]),
        Part::Record(5, vec![2; 4]),
        Part::Extend(1 << 30),
        Part::Record(0, vec![3; 200]),
        Part::Discarded(7, 3),
        Part::Discarded(1, 1),
        Part::Record(2, vec![4; 4]),
        Part::Stamp(9_000_000_000),
        Part::Record(0, vec![5; 4]),
    ];
    let (found, error) = all(&page(&parts, 1000, None));
    assert_eq!(error, None);
    let times: Vec<(u64, u8, usize)> = found.iter().map(|(at, data)| (*at, data[0], data.len())).collect();
    let late = 1005 + (1 << 30);
    assert_eq!(times, [(1000, 1, 8), (1005, 2, 4), (late, 3, 200), (late + 9, 4, 4), (9_000_000_000, 5, 4)]);
}

#[test]
fn an_absolute_time_keeps_the_high_bits_of_the_page() {
    let high = 3_u64 << 59;
    let (found, _) = all(&page(&[Part::Stamp(500), Part::Record(0, vec![0; 4])], high | 100, None));
    assert_eq!(found[0].0, high | 500);
    let (found, _) = all(&page(&[Part::Stamp(500), Part::Record(0, vec![0; 4])], high | 600, None));
    assert_eq!(found[0].0, (4_u64 << 59) | 500, "it has gone round");
}

#[test]
fn losses_are_told_with_their_number_where_there_was_room() {
    let missed = |n| Position::begin(&LAYOUT, &page(&[Part::Record(0, vec![0; 4])], 0, n)).unwrap().missed();
    assert_eq!(missed(None), Missed::Nothing);
    assert_eq!(missed(Some(0)), Missed::Some);
    assert_eq!(missed(Some(17)), Missed::Events(17));
    // A full page has no room behind its data.
    let mut full = page(&[Part::Record(0, vec![0; 4])], 0, Some(17));
    full.truncate(16 + 8);
    assert_eq!(Position::begin(&LAYOUT, &full).unwrap().missed(), Missed::Some);
}

#[test]
fn words_of_the_other_order_are_read() {
    let layout = PageLayout::usual(Abi { big_endian: true, long: 4 });
    let mut page = 77_u64.to_be_bytes().to_vec();
    page.extend(12_u32.to_be_bytes());
    page.extend(((2_u32 << 27) | 3).to_be_bytes());
    page.extend([9; 8]);
    let mut position = Position::begin(&layout, &page).unwrap();
    let record = position.next(&layout, &page).unwrap().unwrap();
    assert_eq!((record.at, record.data), (80, &[9_u8; 8][..]));
    assert_eq!(position.next(&layout, &page), Ok(None));
}

#[test]
fn pages_that_lie_are_refused() {
    let mut short = page(&[], 0, None);
    short.truncate(10);
    assert!(matches!(Position::begin(&LAYOUT, &short), Err(PageError::Short(10))));
    let mut long = page(&[], 0, None);
    long[8..16].copy_from_slice(&5000_u64.to_le_bytes());
    assert!(matches!(Position::begin(&LAYOUT, &long), Err(PageError::Commit { claims: 5000, .. })));
    // A record whose length is 0, one that reaches over the end, one that is nearly 4 GiB.
    for (kind, length) in
        [(0_u32, 0_u32), (29 | (1 << 5), 0), (0, 4092), (0, u32::MAX), (29 | (1 << 5), u32::MAX - 3), (28, 1)]
    {
        let mut bad = page(&[Part::Record(0, vec![1; 8])], 0, None);
        bad[16..20].copy_from_slice(&kind.to_le_bytes());
        bad[20..24].copy_from_slice(&length.to_le_bytes());
        assert!(matches!(all(&bad).1, Some(PageError::Record { at: 0 })), "{kind} {length}");
    }
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        4 => (0_u32..1 << 27, prop::collection::vec(any::<u8>(), 1..160)).prop_map(|(delta, mut bytes)| {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            Part::Record(delta, bytes)
        }),
        1 => (0_u64..1 << 40).prop_map(Part::Extend),
        1 => (2_u32..1 << 27, 1_usize..8).prop_map(|(delta, words)| Part::Discarded(delta, words)),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read(parts in prop::collection::vec(part(), 0..40), clock in 0_u64..1 << 60) {
        let (mut now, mut wanted) = (clock, Vec::new());
        for part in &parts {
            match part {
                Part::Record(delta, bytes) => {
                    now += u64::from(*delta);
                    wanted.push((now, bytes.clone()));
                }
                Part::Extend(delta) => now += delta,
                Part::Stamp(time) => now = *time,
                Part::Discarded(delta, _) => now += u64::from(*delta),
            }
        }
        let (found, error) = all(&page(&parts, clock, None));
        prop_assert_eq!(error, None);
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn nothing_of_any_page_is_read_twice_or_from_outside(mut bytes in prop::collection::vec(any::<u8>(), 0..300), length in 0_u64..300) {
        if bytes.len() >= 16 {
            bytes[8..16].copy_from_slice(&length.to_le_bytes());
        }
        let (found, _) = all(&bytes);
        let read: usize = found.iter().map(|(_, data)| data.len().max(4)).sum();
        prop_assert!(read <= bytes.len());
    }
}
