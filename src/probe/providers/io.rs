//! `io`: blocks of data go to devices and come back.
//!
//! A request is told of when it is made, in the process that asks, and when it is done: once each, by the same device and
//! sector, whatever is merged into it. Kernels before 6.5 tell of the making by the bio that a request is made for.

use super::views::m;
use super::{Field, Given, Member, Row, Source, View, field};

/// Flags by the operation's: write or read, asynchronous, and that it is of a device.
const REQUEST_FLAGS: &[&str] = &["((R->cmd_flags & 1) ? 0x100 : 0x40) | ((R->cmd_flags & 0x800) ? 0 : 0x400) | 0x20"];
const BIO_FLAGS: &[&str] = &["((R->bi_opf & 1) ? 0x100 : 0x40) | ((R->bi_opf & 0x800) ? 0 : 0x400) | 0x20"];

const REQUEST_DEVICE: &[&str] =
    &["R->q->disk->part0->bd_dev", "R->rq_disk->part0->bd_dev", "R->rq_disk->part0.__dev.devt"];
const BIO_DEVICE: &[&str] =
    &["R->bi_bdev->bd_disk->part0->bd_dev", "R->bi_disk->part0->bd_dev", "R->bi_disk->part0.__dev.devt"];

const REQUEST_MEMBERS: &[Member] = &[
    m("b_flags", "int", REQUEST_FLAGS, "0x100 writes, 0x40 reads, 0x400 nobody waits for it"),
    m("b_blkno", "uint64_t", &["R->__sector"], "the first sector, of 512 bytes"),
    m("b_lblkno", "uint64_t", &["R->__sector"], "the first sector, of 512 bytes"),
    m("b_edev", "dev_t", REQUEST_DEVICE, "the device"),
    m("b_addr", "uintptr_t", &["0"], "memory is in several pieces: none is told"),
    m("b_iodone", "uintptr_t", &["(unsigned long)R->end_io"], "what the kernel calls when it is done"),
    m("b_resid", "size_t", &["0"], "no such thing here"),
];

const STARTED: &[Member] = &[
    m("b_bcount", "size_t", &["R->__data_len"], "bytes"),
    m("b_bufsize", "size_t", &["R->__data_len"], "bytes"),
    m("b_error", "int", &["0"], "nothing has failed yet"),
];

const DONE: &[Member] = &[
    m("b_bcount", "size_t", &["args.nr_bytes"], "bytes"),
    m("b_bufsize", "size_t", &["args.nr_bytes"], "bytes"),
    m("b_error", "int", &["args.error"], "0, or what the kernel calls the error"),
];

/// What a request took, by the times that the kernel keeps in it; 0 where a device's accounting is off.
const TIMES: &[Member] = &[
    m(
        "latency_ns",
        "uint64_t",
        &["R->start_time_ns ? nsecs(monotonic) - R->start_time_ns : 0"],
        "from the making to the end, ns",
    ),
    m(
        "service_ns",
        "uint64_t",
        &["R->io_start_time_ns ? nsecs(monotonic) - R->io_start_time_ns : 0"],
        "from the device's start to the end, ns",
    ),
    m(
        "wait_ns",
        "uint64_t",
        &["R->start_time_ns && R->io_start_time_ns ? R->io_start_time_ns - R->start_time_ns : 0"],
        "from the making to the device's start, ns",
    ),
];

const BIO_MEMBERS: &[Member] = &[
    m("b_flags", "int", BIO_FLAGS, "0x100 writes, 0x40 reads, 0x400 nobody waits for it"),
    m("b_bcount", "size_t", &["R->bi_iter.bi_size"], "bytes"),
    m("b_bufsize", "size_t", &["R->bi_iter.bi_size"], "bytes"),
    m("b_blkno", "uint64_t", &["R->bi_iter.bi_sector"], "the first sector, of 512 bytes"),
    m("b_lblkno", "uint64_t", &["R->bi_iter.bi_sector"], "the first sector, of 512 bytes"),
    m("b_edev", "dev_t", BIO_DEVICE, "the device"),
    m("b_addr", "uintptr_t", &["0"], "memory is in several pieces: none is told"),
    m("b_iodone", "uintptr_t", &["(unsigned long)R->bi_end_io"], "what the kernel calls when it is done"),
    m("b_resid", "size_t", &["0"], "no such thing here"),
    m("b_error", "int", &["0"], "nothing has failed yet"),
];

static REQUEST: View = View { name: "bufinfo_t", root: "request", members: &[REQUEST_MEMBERS, STARTED] };
static REQUEST_DONE: View = View { name: "bufinfo_t", root: "request", members: &[REQUEST_MEMBERS, DONE, TIMES] };
static BIO: View = View { name: "bufinfo_t", root: "bio", members: &[BIO_MEMBERS] };

static DEVICE_OF_REQUEST: View = View {
    name: "devinfo_t",
    root: "request",
    members: &[&[
        m("dev_major", "int", &["R->q->disk->major", "R->rq_disk->major"], "the device's major number"),
        m("dev_minor", "int", &["R->q->disk->first_minor", "R->rq_disk->first_minor"], "the device's minor number"),
        m("dev_instance", "int", &["0"], "no such thing here"),
        m("dev_name", "string", &["R->q->disk->disk_name", "R->rq_disk->disk_name"], "the disk"),
        m("dev_statname", "string", &["R->q->disk->disk_name", "R->rq_disk->disk_name"], "the disk"),
        m("dev_pathname", "string", &["\"<unknown>\""], "the kernel keeps no path"),
    ]],
};

static DEVICE_OF_BIO: View = View {
    name: "devinfo_t",
    root: "bio",
    members: &[&[
        m("dev_major", "int", &["R->bi_bdev->bd_disk->major", "R->bi_disk->major"], "the device's major number"),
        m("dev_minor", "int", &["R->bi_bdev->bd_disk->first_minor", "R->bi_disk->first_minor"], "its minor number"),
        m("dev_instance", "int", &["0"], "no such thing here"),
        m("dev_name", "string", &["R->bi_bdev->bd_disk->disk_name", "R->bi_disk->disk_name"], "the disk"),
        m("dev_statname", "string", &["R->bi_bdev->bd_disk->disk_name", "R->bi_disk->disk_name"], "the disk"),
        m("dev_pathname", "string", &["\"<unknown>\""], "the kernel keeps no path"),
    ]],
};

const NO_FILE: &[&str] = &["\"<none>\""];

/// A request belongs to pages, maybe of several files: as in the reference, none is told.
const FILE_MEMBERS: &[Member] = &[
    m("fi_name", "string", NO_FILE, "a request belongs to pages: no file is told"),
    m("fi_dirname", "string", NO_FILE, "no file is told"),
    m("fi_pathname", "string", NO_FILE, "no file is told"),
    m("fi_fs", "string", NO_FILE, "no file is told"),
    m("fi_mount", "string", NO_FILE, "no file is told"),
    m("fi_offset", "uint64_t", &["0"], "no file is told"),
    m("fi_oflags", "int", &["0"], "no file is told"),
];
static FILE_OF_REQUEST: View = View { name: "fileinfo_t", root: "request", members: &[FILE_MEMBERS] };
static FILE_OF_BIO: View = View { name: "fileinfo_t", root: "bio", members: &[FILE_MEMBERS] };

macro_rules! given {
    ($buffer:ident, $device:ident, $file:ident, $base:literal) => {
        &[Given::Object(&$buffer, $base), Given::Object(&$device, $base), Given::Object(&$file, $base)]
    };
}

const ARGUMENTS: &[(&str, &str)] =
    &[("bufinfo_t *", "the data"), ("devinfo_t *", "the device"), ("fileinfo_t *", "the file: none is told of blocks")];
const FIELDS: &[Field] = &[
    field("dev", 0, "b_edev"),
    field("disk", 1, "dev_statname"),
    field("sector", 0, "b_blkno"),
    field("bytes", 0, "b_bcount"),
    field("flags", 0, "b_flags"),
];

pub(super) const ROWS: &[Row] = &[
    Row {
        provider: "io",
        name: "start",
        about: "A request for a device is made, by the process that runs, or by the kernel for many.",
        arguments: ARGUMENTS,
        fields: FIELDS,
        places: &[&[
            Source {
                point: "rawtracepoint:block_io_start",
                when: "args.rq->__data_len > 0",
                given: given!(REQUEST, DEVICE_OF_REQUEST, FILE_OF_REQUEST, "args.rq"),
            },
            Source {
                point: "rawtracepoint:block_getrq",
                when: "args.bio->bi_iter.bi_size > 0",
                given: given!(BIO, DEVICE_OF_BIO, FILE_OF_BIO, "args.bio"),
            },
        ]],
    },
    Row {
        provider: "io",
        name: "done",
        about: "A request is done. The process that runs is any: that an interrupt hit.",
        arguments: ARGUMENTS,
        fields: &[
            field("dev", 0, "b_edev"),
            field("disk", 1, "dev_statname"),
            field("sector", 0, "b_blkno"),
            field("bytes", 0, "b_bcount"),
            field("flags", 0, "b_flags"),
            field("error", 0, "b_error"),
            field("latency_ns", 0, "latency_ns"),
            field("wait_ns", 0, "wait_ns"),
            field("service_ns", 0, "service_ns"),
        ],
        places: &[&[Source {
            point: "rawtracepoint:block_rq_complete",
            when: "args.nr_bytes > 0",
            given: given!(REQUEST_DONE, DEVICE_OF_REQUEST, FILE_OF_REQUEST, "args.rq"),
        }]],
    },
    Row {
        provider: "io",
        name: "wait-start",
        about: "The thread that runs begins to wait for data that it has asked for itself.",
        arguments: ARGUMENTS,
        fields: FIELDS,
        places: &[&[
            Source {
                point: "fentry:vmlinux:submit_bio_wait",
                when: "",
                given: given!(BIO, DEVICE_OF_BIO, FILE_OF_BIO, "args.bio"),
            },
            Source {
                point: "kprobe:submit_bio_wait",
                when: "",
                given: given!(BIO, DEVICE_OF_BIO, FILE_OF_BIO, "args.bio"),
            },
        ]],
    },
    Row {
        provider: "io",
        name: "wait-done",
        about: "The thread that runs has waited for data that it has asked for itself.",
        arguments: ARGUMENTS,
        fields: FIELDS,
        places: &[&[Source {
            point: "fexit:vmlinux:submit_bio_wait",
            when: "",
            given: given!(BIO, DEVICE_OF_BIO, FILE_OF_BIO, "args.bio"),
        }]],
    },
];
