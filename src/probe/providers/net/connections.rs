//! `tcp`: what becomes of connections, by the kernel's own tracepoint of their states.
//!
//! It tells of the connection and of no packet: addresses and ports are the connection's, in the direction of the packet that
//! changes it.

use super::super::views::m;
use super::super::{Field, Given, Member, Row, Source, View, field};
use super::short;

macro_rules! own {
    ($member:literal, $six:literal) => {
        concat!(
            "R->__sk_common.skc_family == 2 ? ntop(R->__sk_common.",
            $member,
            ") : ntop(R->__sk_common.",
            $six,
            ".in6_u.u6_addr8)"
        )
    };
}
macro_rules! local_address {
    () => {
        own!("skc_rcv_saddr", "skc_v6_rcv_saddr")
    };
}
macro_rules! remote_address {
    () => {
        own!("skc_daddr", "skc_v6_daddr")
    };
}
macro_rules! remote_port {
    () => {
        short!("R->__sk_common.skc_dport")
    };
}

/// What the kernel keeps of a connection beside its ends.
macro_rules! kept {
    ($sock:literal) => {
        &[
            m("tcps_local", "int", &["0"], "whether both ends are here is not told"),
            kept!(@ "tcps_suna", "uint32_t", $sock, "->snd_una", "the first byte that is not acknowledged"),
            kept!(@ "tcps_snxt", "uint32_t", $sock, "->snd_nxt", "the next byte that is sent"),
            kept!(@ "tcps_rnxt", "uint32_t", $sock, "->rcv_nxt", "the next byte that is expected"),
            kept!(@ "tcps_swnd", "uint32_t", $sock, "->snd_wnd", "how much the other end takes, bytes"),
            kept!(@ "tcps_snd_ws", "int", $sock, "->rx_opt.snd_wscale", "the scale of that, as a power of two"),
            kept!(@ "tcps_rwnd", "uint32_t", $sock, "->rcv_wnd", "how much this end takes, bytes"),
            kept!(@ "tcps_rcv_ws", "int", $sock, "->rx_opt.rcv_wscale", "the scale of that, as a power of two"),
            kept!(@ "tcps_cwnd", "uint32_t", $sock, "->snd_cwnd", "congestion window, packets"),
            kept!(@ "tcps_cwnd_ssthresh", "uint32_t", $sock, "->snd_ssthresh", "where slow start ends, packets"),
            kept!(@ "tcps_mss", "uint32_t", $sock, "->mss_cache", "bytes of a segment at most"),
            kept!(@ "tcps_rtt", "uint32_t", $sock, "->srtt_us / 8", "smoothed round-trip time (RTT), us"),
            kept!(@ "tcps_rtt_sd", "uint32_t", $sock, "->mdev_us / 4", "how much it varies, us"),
        ]
    };
    (@ $name:literal, $ty:literal, $sock:literal, $member:literal, $about:literal) => {
        m($name, $ty, &[concat!("((struct tcp_sock *)", $sock, ")", $member)], $about)
    };
}

/// The same of the socket that sends a packet.
pub(super) const OF_PACKET: &[Member] = kept!("R->sk");
const OF_SOCKET: &[Member] = kept!("R");

static NO_PACKET: View =
    View { name: "pktinfo_t", root: "sock", members: &[&[m("pkt_addr", "uintptr_t", &["0"], "no packet is told")]] };
static SOCKET: View = View {
    name: "csinfo_t",
    root: "sock",
    members: &[&[
        m("cs_addr", "uintptr_t", &["(unsigned long)R"], "the kernel's sock"),
        m("cs_cid", "uint64_t", &["(unsigned long)R"], "the same"),
    ]],
};

const ENDS: &[Member] = &[
    m("tcps_addr", "uintptr_t", &["(unsigned long)R"], "the kernel's sock"),
    m("tcps_lport", "uint16_t", &["R->__sk_common.skc_num"], "the port here"),
    m("tcps_rport", "uint16_t", &[remote_port!()], "the port there"),
    m("tcps_laddr", "string", &[local_address!()], "the address here"),
    m("tcps_raddr", "string", &[remote_address!()], "the address there"),
];
const NEW_STATE: &[Member] =
    &[m("tcps_state", "int", &["args.newstate"], "the new state: 1 established, 2 SYN sent, 7 closed")];
static CONNECTION: View = View { name: "tcpsinfo_t", root: "sock", members: &[ENDS, NEW_STATE, OF_SOCKET] };
static OLD: View = View {
    name: "tcplsinfo_t",
    root: "sock",
    members: &[&[m("tcps_state", "int", &["args.oldstate"], "the old state")]],
};

/// Addresses and ports of a packet from here, or to here.
macro_rules! direction {
    ($ip:ident, $tcp:ident, $from:ident, $from_port:expr, $to:ident, $to_port:expr) => {
        static $ip: View = View {
            name: "ipinfo_t",
            root: "sock",
            members: &[&[
                m("ip_ver", "uint8_t", &["R->__sk_common.skc_family == 2 ? 4 : 6"], "4 or 6"),
                m("ip_saddr", "string", &[$from!()], "who sends"),
                m("ip_daddr", "string", &[$to!()], "who is sent to"),
                m("ip_protocol", "int", &["6"], "TCP"),
            ]],
        };
        static $tcp: View = View {
            name: "tcpinfo_t",
            root: "sock",
            members: &[&[
                m("tcp_sport", "uint16_t", &[$from_port], "the sender's port"),
                m("tcp_dport", "uint16_t", &[$to_port], "the receiver's port"),
            ]],
        };
    };
}
direction!(OUT, OUT_PORTS, local_address, "R->__sk_common.skc_num", remote_address, remote_port!());
direction!(IN, IN_PORTS, remote_address, remote_port!(), local_address, "R->__sk_common.skc_num");

const CHANGE_ARGUMENTS: &[(&str, &str)] = &[
    ("void", "nothing"),
    ("csinfo_t *", "the socket"),
    ("void", "nothing"),
    ("tcpsinfo_t *", "the connection, with its new state"),
    ("void", "nothing"),
    ("tcplsinfo_t *", "the old state"),
];
const ARGUMENTS: &[(&str, &str)] = &[
    ("pktinfo_t *", "no packet is told"),
    ("csinfo_t *", "the socket"),
    ("ipinfo_t *", "the connection's addresses"),
    ("tcpsinfo_t *", "the connection, with its new state"),
    ("tcpinfo_t *", "the connection's ports"),
    ("void", "nothing"),
];
const FIELDS: &[Field] = &[
    field("laddr", 3, "tcps_laddr"),
    field("lport", 3, "tcps_lport"),
    field("raddr", 3, "tcps_raddr"),
    field("rport", 3, "tcps_rport"),
    field("state", 3, "tcps_state"),
    field("oldstate", 6, "tcps_state"),
    field("socket", 1, "cs_addr"),
];

/// A change of a connection's state.
macro_rules! change {
    ($name:literal, $about:literal, $when:literal, $ip:ident, $tcp:ident) => {
        Row {
            provider: "tcp",
            name: $name,
            about: $about,
            arguments: ARGUMENTS,
            fields: FIELDS,
            places: &[&[Source {
                point: "rawtracepoint:inet_sock_set_state",
                when: concat!("args.sk->sk_protocol == 6 && ", $when),
                given: &[
                    Given::Object(&NO_PACKET, "args.sk"),
                    Given::Object(&SOCKET, "args.sk"),
                    Given::Object(&$ip, "args.sk"),
                    Given::Object(&CONNECTION, "args.sk"),
                    Given::Object(&$tcp, "args.sk"),
                    Given::Plain("void", "0"),
                    Given::Object(&OLD, "args.sk"),
                ],
            }]],
        }
    };
}

pub const ROWS: &[Row] = &[
    Row {
        provider: "tcp",
        name: "state-change",
        about: "A connection's state changes.",
        arguments: CHANGE_ARGUMENTS,
        fields: FIELDS,
        places: &[&[Source {
            point: "rawtracepoint:inet_sock_set_state",
            when: "args.sk->sk_protocol == 6",
            given: &[
                Given::Plain("void", "0"),
                Given::Object(&SOCKET, "args.sk"),
                Given::Plain("void", "0"),
                Given::Object(&CONNECTION, "args.sk"),
                Given::Plain("void", "0"),
                Given::Object(&OLD, "args.sk"),
                Given::Object(&OLD, "args.sk"),
            ],
        }]],
    },
    change!("connect-request", "A connection is asked for from here.", "args.newstate == 2", OUT, OUT_PORTS),
    change!(
        "connect-established",
        "A connection that was asked for from here stands.",
        "args.oldstate == 2 && args.newstate == 1",
        IN,
        IN_PORTS
    ),
    change!(
        "connect-refused",
        "A connection that was asked for from here is refused, or given up.",
        "args.oldstate == 2 && args.newstate == 7",
        IN,
        IN_PORTS
    ),
    change!(
        "accept-established",
        "A connection that was asked for from elsewhere stands.",
        "args.oldstate == 3 && args.newstate == 1",
        IN,
        IN_PORTS
    ),
];
