//! Constants that the reference's libraries define by inlines.

/// The value of a name that D's libraries define.
pub fn constant(name: &str) -> Option<i64> {
    let own = CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let own = own.or_else(|| super::registers::register(name));
    own.or_else(|| super::builtins::fault(name)).or_else(|| crate::lang::constants::find(name))
}

/// An inline with one parameter of the reference's libraries: its type, and the expression in which the argument is `__key`.
pub fn inline_of_key(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "tcp_state_string" => Some(("string", TCP_STATE)),
        _ => None,
    }
}

const TCP_STATE: &str = "__key == TCP_STATE_CLOSED ? \"state-closed\" : __key == TCP_STATE_IDLE ? \"state-idle\" : \
    __key == TCP_STATE_LISTEN ? \"state-listen\" : __key == TCP_STATE_SYN_SENT ? \"state-syn-sent\" : \
    __key == TCP_STATE_SYN_RECEIVED ? \"state-syn-received\" : \
    __key == TCP_STATE_ESTABLISHED ? \"state-established\" : __key == TCP_STATE_CLOSE_WAIT ? \"state-close-wait\" : \
    __key == TCP_STATE_FIN_WAIT_1 ? \"state-fin-wait-1\" : __key == TCP_STATE_CLOSING ? \"state-closing\" : \
    __key == TCP_STATE_LAST_ACK ? \"state-last-ack\" : __key == TCP_STATE_FIN_WAIT_2 ? \"state-fin-wait-2\" : \
    __key == TCP_STATE_TIME_WAIT ? \"state-time-wait\" : \"<unknown>\"";

const CONSTANTS: &[(&str, i64)] = &[
    // io.d
    ("B_READ", 0x40),
    ("B_WRITE", 0x100),
    ("B_ASYNC", 0x400),
    ("B_PHYS", 0x20),
    ("B_PAGEIO", 0x10),
    ("B_BUSY", 1),
    ("B_DONE", 2),
    ("B_ERROR", 4),
    // procfs.d
    ("SSLEEP", 1),
    ("SRUN", 2),
    ("SZOMB", 3),
    ("SSTOP", 4),
    ("SIDL", 5),
    ("SONPROC", 6),
    ("SWAIT", 7),
    ("CLD_EXITED", 1),
    ("CLD_KILLED", 2),
    ("CLD_DUMPED", 3),
    ("CLD_TRAPPED", 4),
    ("CLD_STOPPED", 5),
    ("CLD_CONTINUED", 6),
    ("PR_MODEL_ILP32", 1),
    ("PR_MODEL_LP64", 2),
    ("PR_STOPPED", 1),
    ("PR_ISTOP", 2),
    ("PR_DSTOP", 4),
    ("PR_IDLE", 0x1000_0000),
    // tcp.d; the reference has no TH_PUSH, other systems have
    ("TH_FIN", 0x01),
    ("TH_SYN", 0x02),
    ("TH_RST", 0x04),
    ("TH_PSH", 0x08),
    ("TH_PUSH", 0x08),
    ("TH_ACK", 0x10),
    ("TH_URG", 0x20),
    ("TH_ECE", 0x40),
    ("TH_CWR", 0x80),
    ("TCP_MIN_HEADER_LENGTH", 20),
    ("TCP_STATE_IDLE", 0),
    ("TCP_STATE_ESTABLISHED", 1),
    ("TCP_STATE_SYN_SENT", 2),
    ("TCP_STATE_SYN_RECEIVED", 3),
    ("TCP_STATE_FIN_WAIT_1", 4),
    ("TCP_STATE_FIN_WAIT_2", 5),
    ("TCP_STATE_TIME_WAIT", 6),
    ("TCP_STATE_CLOSED", 7),
    ("TCP_STATE_CLOSE_WAIT", 8),
    ("TCP_STATE_LAST_ACK", 9),
    ("TCP_STATE_LISTEN", 10),
    ("TCP_STATE_CLOSING", 11),
    // lockstat.d
    ("RW_WRITER", 0),
    ("RW_READER", 1),
];
