//! `ip`, `tcp` and `udp`: packets where devices get and deliver them, and what becomes of connections.
//!
//! A packet is told of at each device that it passes, headers and all: as one where the kernel splits or joins it for the
//! device. States of connections are the kernel's own tracepoint.

mod connections;
mod shapes;

use super::views::m;
use super::{Given, Row, Source, View};
use shapes::{IP_ARGUMENTS, IP_FIELDS, TCP_ARGUMENTS, TCP_FIELDS, UDP_ARGUMENTS, UDP_FIELDS};

pub(super) use connections::ROWS as CONNECTIONS;

/// The IP header of a packet whose places are known: one that is sent, or that a protocol has taken.
macro_rules! placed {
    ($r:literal) => {
        concat!("((struct iphdr *)(", $r, "->head + ", $r, "->network_header))")
    };
}
macro_rules! placed6 {
    ($r:literal) => {
        concat!("((struct ipv6hdr *)(", $r, "->head + ", $r, "->network_header))")
    };
}
/// The header behind it.
macro_rules! inner {
    ($header:literal, $r:literal) => {
        concat!("((struct ", $header, " *)(", $r, "->head + ", $r, "->transport_header))")
    };
}
/// The IP header of a packet that a device delivers: its data begin there.
macro_rules! fresh {
    ($r:literal) => {
        concat!("((struct iphdr *)", $r, "->data)")
    };
}
macro_rules! fresh6 {
    ($r:literal) => {
        concat!("((struct ipv6hdr *)", $r, "->data)")
    };
}
macro_rules! behind {
    ($header:literal, $r:literal) => {
        concat!(
            "((struct ",
            $header,
            " *)(",
            $r,
            "->data + (",
            fresh!($r),
            "->version == 4 ? ",
            fresh!($r),
            "->ihl * 4 : 40)))"
        )
    };
}
/// 16 bits in the network's order.
macro_rules! short {
    ($($e:expr),+) => {
        concat!("(((", $($e),+, ") & 0xff) << 8 | ((", $($e),+, ") >> 8) & 0xff)")
    };
}
use short;
/// 32 bits in the network's order.
macro_rules! word {
    ($($e:expr),+) => {
        concat!(
            "(((", $($e),+, ") & 0xff) << 24 | ((", $($e),+, ") & 0xff00) << 8 | ((", $($e),+,
            ") >> 8) & 0xff00 | ((", $($e),+, ") >> 24) & 0xff) & 0xffffffff"
        )
    };
}
macro_rules! address {
    ($four:expr, $six:expr, $member:literal) => {
        concat!(
            $four,
            "->version == 4 ? ntop(",
            $four,
            "->",
            $member,
            ") : ntop(",
            $six,
            "->",
            $member,
            ".in6_u.u6_addr8)"
        )
    };
}
macro_rules! protocol {
    ($four:expr, $six:expr, $number:literal) => {
        concat!(
            "(args.skb->protocol == 0x0008 && ",
            $four,
            "->protocol == ",
            $number,
            ") || (args.skb->protocol == 0xdd86 && ",
            $six,
            "->nexthdr == ",
            $number,
            ")"
        )
    };
}
/// The name of a protocol's number.
macro_rules! named {
    ($($e:expr),+) => {
        concat!(
            "(", $($e),+, ") == 6 ? \"TCP\" : (", $($e),+, ") == 17 ? \"UDP\" : (", $($e),+, ") == 1 ? \"ICMP\" : (",
            $($e),+, ") == 58 ? \"ICMPV6\" : (", $($e),+, ") == 2 ? \"IGMP\" : (", $($e),+, ") == 132 ? \"SCTP\" : \"<unknown>\""
        )
    };
}
const IS_IP: &str = "args.skb->protocol == 0x0008 || args.skb->protocol == 0xdd86";

macro_rules! views {
    ($ip:ident, $ip4:ident, $ip6:ident, $tcp:ident, $udp:ident, $four:ident, $six:ident, $inner:ident) => {
        static $ip: View = View {
            name: "ipinfo_t",
            root: "sk_buff",
            members: &[&[
                m("ip_ver", "uint8_t", &[concat!($four!("R"), "->version")], "4 or 6"),
                m(
                    "ip_plength",
                    "uint32_t",
                    &[concat!(
                        $four!("R"),
                        "->version == 4 ? ",
                        short!($four!("R"), "->tot_len"),
                        " - ",
                        $four!("R"),
                        "->ihl * 4 : ",
                        short!($six!("R"), "->payload_len")
                    )],
                    "bytes behind the header",
                ),
                m("ip_saddr", "string", &[address!($four!("R"), $six!("R"), "saddr")], "who sent it"),
                m("ip_daddr", "string", &[address!($four!("R"), $six!("R"), "daddr")], "whom it is for"),
                m(
                    "ip_protocol",
                    "int",
                    &[concat!($four!("R"), "->version == 4 ? ", $four!("R"), "->protocol : ", $six!("R"), "->nexthdr")],
                    "the number of the protocol in it: 6 TCP, 17 UDP",
                ),
            ]],
        };
        static $ip4: View = View {
            name: "ipv4info_t",
            root: "sk_buff",
            members: &[&[
                m("ipv4_ver", "uint8_t", &[concat!($four!("R"), "->version")], "4"),
                m("ipv4_ihl", "uint8_t", &[concat!($four!("R"), "->ihl * 4")], "bytes of the header"),
                m("ipv4_tos", "uint8_t", &[concat!($four!("R"), "->tos")], "type of service"),
                m("ipv4_length", "uint16_t", &[short!($four!("R"), "->tot_len")], "bytes with the header"),
                m("ipv4_ident", "uint16_t", &[short!($four!("R"), "->id")], "identification"),
                m(
                    "ipv4_flags",
                    "uint8_t",
                    &[concat!("(", short!($four!("R"), "->frag_off"), ") >> 13")],
                    "1 more, 2 whole",
                ),
                m(
                    "ipv4_offset",
                    "uint16_t",
                    &[concat!("((", short!($four!("R"), "->frag_off"), ") & 0x1fff) * 8")],
                    "bytes",
                ),
                m("ipv4_ttl", "uint8_t", &[concat!($four!("R"), "->ttl")], "hops that are left"),
                m("ipv4_protocol", "uint8_t", &[concat!($four!("R"), "->protocol")], "protocol"),
                m("ipv4_protostr", "string", &[named!($four!("R"), "->protocol")], "the protocol's name"),
                m("ipv4_checksum", "uint16_t", &[short!($four!("R"), "->check")], "sum over the header"),
                m("ipv4_src", "uint32_t", &[concat!($four!("R"), "->saddr")], "who sent it, in the network's order"),
                m("ipv4_dst", "uint32_t", &[concat!($four!("R"), "->daddr")], "whom it is for, in the network's order"),
                m("ipv4_hdr", "uintptr_t", &[concat!("(unsigned long)", $four!("R"))], "where the header is"),
                m("ipv4_saddr", "string", &[concat!("ntop(", $four!("R"), "->saddr)")], "who sent it"),
                m("ipv4_daddr", "string", &[concat!("ntop(", $four!("R"), "->daddr)")], "whom it is for"),
            ]],
        };
        static $ip6: View = View {
            name: "ipv6info_t",
            root: "sk_buff",
            members: &[&[
                m("ipv6_ver", "uint8_t", &[concat!($four!("R"), "->version")], "6"),
                m("ipv6_plen", "uint16_t", &[short!($six!("R"), "->payload_len")], "bytes behind the header"),
                m(
                    "ipv6_tclass",
                    "uint8_t",
                    &[concat!("(", word!("*((unsigned int *)", $six!("R"), ")"), ") >> 20 & 0xff")],
                    "class",
                ),
                m(
                    "ipv6_flow",
                    "uint32_t",
                    &[concat!("(", word!("*((unsigned int *)", $six!("R"), ")"), ") & 0xfffff")],
                    "flow label",
                ),
                m("ipv6_nexthdr", "uint8_t", &[concat!($six!("R"), "->nexthdr")], "what follows the header"),
                m("ipv6_nextstr", "string", &[named!($six!("R"), "->nexthdr")], "its name"),
                m("ipv6_hdr", "uintptr_t", &[concat!("(unsigned long)", $six!("R"))], "where the header is"),
                m("ipv6_hlim", "uint8_t", &[concat!($six!("R"), "->hop_limit")], "hops that are left"),
                m("ipv6_saddr", "string", &[concat!("ntop(", $six!("R"), "->saddr.in6_u.u6_addr8)")], "who sent it"),
                m("ipv6_daddr", "string", &[concat!("ntop(", $six!("R"), "->daddr.in6_u.u6_addr8)")], "whom it is for"),
            ]],
        };
        static $tcp: View = View {
            name: "tcpinfo_t",
            root: "sk_buff",
            members: &[&[
                m("tcp_sport", "uint16_t", &[short!($inner!("tcphdr", "R"), "->source")], "the sender's port"),
                m("tcp_dport", "uint16_t", &[short!($inner!("tcphdr", "R"), "->dest")], "the receiver's port"),
                m("tcp_seq", "uint32_t", &[word!($inner!("tcphdr", "R"), "->seq")], "sequence number"),
                m("tcp_ack", "uint32_t", &[word!($inner!("tcphdr", "R"), "->ack_seq")], "acknowledged number"),
                m("tcp_offset", "uint8_t", &[concat!($inner!("tcphdr", "R"), "->doff * 4")], "bytes of the header"),
                m(
                    "tcp_flags",
                    "uint8_t",
                    &[concat!("*((unsigned char *)", $inner!("tcphdr", "R"), " + 13)")],
                    "1 FIN, 2 SYN, 4 RST, 8 PUSH, 0x10 ACK",
                ),
                m("tcp_window", "uint16_t", &[short!($inner!("tcphdr", "R"), "->window")], "window as it is sent"),
                m("tcp_checksum", "uint16_t", &[short!($inner!("tcphdr", "R"), "->check")], "sum over the segment"),
                m("tcp_urgent", "uint16_t", &[short!($inner!("tcphdr", "R"), "->urg_ptr")], "where urgent data end"),
                m("tcp_hdr", "uintptr_t", &[concat!("(unsigned long)", $inner!("tcphdr", "R"))], "where the header is"),
            ]],
        };
        static $udp: View = View {
            name: "udpinfo_t",
            root: "sk_buff",
            members: &[&[
                m("udp_sport", "uint16_t", &[short!($inner!("udphdr", "R"), "->source")], "the sender's port"),
                m("udp_dport", "uint16_t", &[short!($inner!("udphdr", "R"), "->dest")], "the receiver's port"),
                m("udp_length", "uint16_t", &[short!($inner!("udphdr", "R"), "->len")], "bytes with the header"),
                m("udp_checksum", "uint16_t", &[short!($inner!("udphdr", "R"), "->check")], "sum over the datagram"),
                m("udp_hdr", "uintptr_t", &[concat!("(unsigned long)", $inner!("udphdr", "R"))], "where the header is"),
            ]],
        };
    };
}
views!(SENT_IP, SENT_IP4, SENT_IP6, SENT_TCP, SENT_UDP, placed, placed6, inner);
views!(GOT_IP, GOT_IP4, GOT_IP6, GOT_TCP, GOT_UDP, fresh, fresh6, behind);

static PACKET: View = View {
    name: "pktinfo_t",
    root: "sk_buff",
    members: &[&[m("pkt_addr", "uintptr_t", &["(unsigned long)R"], "the kernel's sk_buff")]],
};
static SOCKET_OF_PACKET: View = View {
    name: "csinfo_t",
    root: "sk_buff",
    members: &[&[
        m("cs_addr", "uintptr_t", &["(unsigned long)R->sk"], "the kernel's sock, where it is known already"),
        m("cs_cid", "uint64_t", &["(unsigned long)R->sk"], "the same"),
    ]],
};
static DEVICE: View = View {
    name: "ifinfo_t",
    root: "sk_buff",
    members: &[&[
        m("if_name", "string", &["R->dev->name"], "the device"),
        m("if_local", "int", &["R->dev == 0"], "1 where there is none"),
        m("if_ipstack", "uintptr_t", &["(unsigned long)R->dev->nd_net.net"], "the network namespace"),
        m("if_addr", "uintptr_t", &["(unsigned long)R->dev"], "the kernel's net_device"),
    ]],
};

/// The ends of a packet's connection: this machine is where a packet that is sent comes from, and where one that is
/// received goes to.
macro_rules! ends {
    (sent $name:ident, $($what:tt),+; $($more:expr)?) => {
        ends!(@ $name, $($what),+, "saddr", "source", "daddr", "dest", "(unsigned long)R->sk" $(, $more)?);
    };
    (received $name:ident, $($what:tt),+) => {
        ends!(@ $name, $($what),+, "daddr", "dest", "saddr", "source", "0");
    };
    (@ $name:ident, $ty:literal, $prefix:literal, $header:literal, $four:ident, $six:ident, $inner:ident, $own:literal, $port:literal, $other:literal, $other_port:literal, $sock:literal $(, $more:expr)?) => {
        static $name: View = View {
            name: $ty,
            root: "sk_buff",
            members: &[&[
                m(concat!($prefix, "_addr"), "uintptr_t", &[$sock], "the kernel's sock, where it is known already"),
                m(concat!($prefix, "_lport"), "uint16_t", &[short!($inner!($header, "R"), "->", $port)], "the port here"),
                m(concat!($prefix, "_rport"), "uint16_t", &[short!($inner!($header, "R"), "->", $other_port)], "the port there"),
                m(concat!($prefix, "_laddr"), "string", &[address!($four!("R"), $six!("R"), $own)], "the address here"),
                m(concat!($prefix, "_raddr"), "string", &[address!($four!("R"), $six!("R"), $other)], "the address there"),
            ] $(, $more)?],
        };
    };
}
ends!(sent SENT_CONNECTION, "tcpsinfo_t", "tcps", "tcphdr", placed, placed6, inner; connections::OF_PACKET);
ends!(received GOT_CONNECTION, "tcpsinfo_t", "tcps", "tcphdr", fresh, fresh6, behind);
ends!(received TAKEN_CONNECTION, "tcpsinfo_t", "tcps", "tcphdr", placed, placed6, inner);
ends!(sent SENT_DATAGRAMS, "udpsinfo_t", "udps", "udphdr", placed, placed6, inner;);
ends!(received GOT_DATAGRAMS, "udpsinfo_t", "udps", "udphdr", fresh, fresh6, behind);

/// What is told of a packet; the device is for fields only.
macro_rules! packet {
    ($ip:ident, $ends:ident, $last:ident) => {
        &[
            Given::Object(&PACKET, "args.skb"),
            Given::Object(&SOCKET_OF_PACKET, "args.skb"),
            Given::Object(&$ip, "args.skb"),
            Given::Object(&$ends, "args.skb"),
            Given::Object(&$last, "args.skb"),
            Given::Plain("void", "0"),
            Given::Object(&DEVICE, "args.skb"),
        ]
    };
}
const SEND: &str = "rawtracepoint:net_dev_queue";
const RECEIVE: &str = "rawtracepoint:netif_receive_skb";

/// A packet that asks for a connection: SYN, without ACK.
const ASKS: &str = concat!("(*((unsigned char *)", inner!("tcphdr", "args.skb"), " + 13) & 0x12) == 2");
const REFUSED: &[Given] = packet!(SENT_IP, TAKEN_CONNECTION, SENT_TCP);

pub(super) const ROWS: &[Row] = &[
    Row {
        provider: "ip",
        name: "send",
        about: "A packet is given to a device, once for each that it passes.",
        arguments: IP_ARGUMENTS,
        fields: IP_FIELDS,
        places: &[&[Source {
            point: SEND,
            when: IS_IP,
            given: &[
                Given::Object(&PACKET, "args.skb"),
                Given::Object(&SOCKET_OF_PACKET, "args.skb"),
                Given::Object(&SENT_IP, "args.skb"),
                Given::Object(&DEVICE, "args.skb"),
                Given::Object(&SENT_IP4, "args.skb"),
                Given::Object(&SENT_IP6, "args.skb"),
            ],
        }]],
    },
    Row {
        provider: "ip",
        name: "receive",
        about: "A device delivers a packet, for this machine or to be sent on.",
        arguments: IP_ARGUMENTS,
        fields: IP_FIELDS,
        places: &[&[Source {
            point: RECEIVE,
            when: IS_IP,
            given: &[
                Given::Object(&PACKET, "args.skb"),
                Given::Object(&SOCKET_OF_PACKET, "args.skb"),
                Given::Object(&GOT_IP, "args.skb"),
                Given::Object(&DEVICE, "args.skb"),
                Given::Object(&GOT_IP4, "args.skb"),
                Given::Object(&GOT_IP6, "args.skb"),
            ],
        }]],
    },
    Row {
        provider: "tcp",
        name: "send",
        about: "A packet of a connection is given to a device.",
        arguments: TCP_ARGUMENTS,
        fields: TCP_FIELDS,
        places: &[&[Source {
            point: SEND,
            when: protocol!(placed!("args.skb"), placed6!("args.skb"), "6"),
            given: packet!(SENT_IP, SENT_CONNECTION, SENT_TCP),
        }]],
    },
    Row {
        provider: "tcp",
        name: "receive",
        about: "A device delivers a packet of a connection.",
        arguments: TCP_ARGUMENTS,
        fields: TCP_FIELDS,
        places: &[&[Source {
            point: RECEIVE,
            when: protocol!(fresh!("args.skb"), fresh6!("args.skb"), "6"),
            given: packet!(GOT_IP, GOT_CONNECTION, GOT_TCP),
        }]],
    },
    Row {
        provider: "tcp",
        name: "accept-refused",
        about: "A connection that was asked for from elsewhere is refused: the packet that asks for it is told.",
        arguments: TCP_ARGUMENTS,
        fields: TCP_FIELDS,
        places: &[&[
            Source { point: "rawtracepoint:tcp_send_reset", when: ASKS, given: REFUSED },
            Source { point: "fentry:vmlinux:tcp_v4_send_reset", when: ASKS, given: REFUSED },
        ]],
    },
    Row {
        provider: "udp",
        name: "send",
        about: "A datagram is given to a device.",
        arguments: UDP_ARGUMENTS,
        fields: UDP_FIELDS,
        places: &[&[Source {
            point: SEND,
            when: protocol!(placed!("args.skb"), placed6!("args.skb"), "17"),
            given: packet!(SENT_IP, SENT_DATAGRAMS, SENT_UDP),
        }]],
    },
    Row {
        provider: "udp",
        name: "receive",
        about: "A device delivers a datagram.",
        arguments: UDP_ARGUMENTS,
        fields: UDP_FIELDS,
        places: &[&[Source {
            point: RECEIVE,
            when: protocol!(fresh!("args.skb"), fresh6!("args.skb"), "17"),
            given: packet!(GOT_IP, GOT_DATAGRAMS, GOT_UDP),
        }]],
    },
];

/// A counter of packets of a protocol.
macro_rules! counted {
    ($name:literal, $about:literal, $point:ident, $placed:ident, $placed6:ident, $number:literal) => {
        Row {
            provider: "mib",
            name: $name,
            about: $about,
            arguments: super::counters::ARGUMENT,
            fields: super::counters::FIELDS,
            places: &[&[Source {
                point: $point,
                when: protocol!($placed!("args.skb"), $placed6!("args.skb"), $number),
                given: super::counters::ONE,
            }]],
        }
    };
}

/// Packets that count up what `mib` counts of datagrams and messages.
pub(super) const COUNTED: &[Row] = &[
    counted!("udpOutDatagrams", "A datagram is given to a device.", SEND, placed, placed6, "17"),
    counted!("udpInDatagrams", "A device delivers a datagram.", RECEIVE, fresh, fresh6, "17"),
    counted!("icmpOutMsgs", "A message of ICMP is given to a device.", SEND, placed, placed6, "1"),
    counted!("icmpInMsgs", "A device delivers a message of ICMP.", RECEIVE, fresh, fresh6, "1"),
    counted!("icmp6OutMsgs", "A message of ICMPv6 is given to a device.", SEND, placed, placed6, "58"),
    counted!("icmp6InMsgs", "A device delivers a message of ICMPv6.", RECEIVE, fresh, fresh6, "58"),
];
