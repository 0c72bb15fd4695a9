//! What the probes of packets are given, and the names that scripts have for its parts.

use crate::probe::providers::{Field, field};

pub(super) const IP_ARGUMENTS: &[(&str, &str)] = &[
    ("pktinfo_t *", "the packet"),
    ("csinfo_t *", "its socket"),
    ("ipinfo_t *", "its addresses"),
    ("ifinfo_t *", "the device"),
    ("ipv4info_t *", "the header of IPv4"),
    ("ipv6info_t *", "the header of IPv6"),
];
pub(super) const IP_FIELDS: &[Field] = &[
    field("saddr", 2, "ip_saddr"),
    field("daddr", 2, "ip_daddr"),
    field("length", 2, "ip_plength"),
    field("protocol", 2, "ip_protocol"),
    field("version", 2, "ip_ver"),
    field("device", 3, "if_name"),
];
pub(super) const TCP_ARGUMENTS: &[(&str, &str)] = &[
    ("pktinfo_t *", "the packet"),
    ("csinfo_t *", "its socket"),
    ("ipinfo_t *", "its addresses"),
    ("tcpsinfo_t *", "its connection"),
    ("tcpinfo_t *", "the header of TCP"),
    ("void", "nothing"),
];
pub(super) const TCP_FIELDS: &[Field] = &[
    field("saddr", 2, "ip_saddr"),
    field("sport", 4, "tcp_sport"),
    field("daddr", 2, "ip_daddr"),
    field("dport", 4, "tcp_dport"),
    field("length", 2, "ip_plength"),
    field("flags", 4, "tcp_flags"),
    field("seq", 4, "tcp_seq"),
    field("ack", 4, "tcp_ack"),
    field("device", 6, "if_name"),
];
pub(super) const UDP_ARGUMENTS: &[(&str, &str)] = &[
    ("pktinfo_t *", "the packet"),
    ("csinfo_t *", "its socket"),
    ("ipinfo_t *", "its addresses"),
    ("udpsinfo_t *", "its ends"),
    ("udpinfo_t *", "the header of UDP"),
];
pub(super) const UDP_FIELDS: &[Field] = &[
    field("saddr", 2, "ip_saddr"),
    field("sport", 4, "udp_sport"),
    field("daddr", 2, "ip_daddr"),
    field("dport", 4, "udp_dport"),
    field("length", 4, "udp_length"),
    field("device", 6, "if_name"),
];
