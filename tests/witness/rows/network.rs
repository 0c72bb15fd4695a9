//! Bundled scripts about the network.

use crate::row::Claim::{Equal, Within};
use crate::row::{Row, Subject};

const ITSELF: &str = "the load's own counts";

pub const ROWS: &[Row] = &[
    Row::new(
        Subject::Script("dnslatency"),
        "dns",
        ITSELF,
        &[
            Equal(r"lines ^load-dns\s+\d+\s+\d+\s+0  localhost$", "lookups"),
            Equal(r"lines ^load-dns\s+\d+\s+\d+\s+-\d+  nosuch\.\.invalid$", "failed_lookups"),
            Within("@ms", "lookups+failed_lookups", "1e9"),
        ],
    ),
    Row::new(
        Subject::Script("netbytes"),
        "tcp",
        "/proc/net/dev",
        &[
            Within(
                "@sent[lo]",
                "inner:net.lo.tx_bytes+14*inner:net.lo.tx_packets",
                "outer:net.lo.tx_bytes+14*outer:net.lo.tx_packets",
            ),
            Within("@received[lo]", "inner:net.lo.rx_bytes", "outer:net.lo.rx_bytes"),
            Within("@sent_size[lo]", "inner:net.lo.tx_packets", "outer:net.lo.tx_packets"),
            Within("@received_size[lo]", "inner:net.lo.rx_packets", "outer:net.lo.rx_packets"),
        ],
    )
    .bound("The device counts others' packets, too: between what it counted during the load and during the trace. What is sent has its 14 bytes of Ethernet header, which the loopback device does not count."),
    Row::new(
        Subject::Script("tcpaccept"),
        "tcp",
        "the load's own counts; /proc/net/snmp",
        &[
            Equal("@accepted[{port_v4}]", "connections_v4"),
            Equal("@accepted[{port_v6}]", "connections_v6"),
            Equal("@accepted[{reset_port}]", "resets"),
            Equal(r"lines ^\d+\s+::1\s+\d+\s+{port_v6}$", "connections_v6"),
            Within("@accepted[*]", "inner:snmp.Tcp.PassiveOpens", "outer:snmp.Tcp.PassiveOpens"),
        ],
    ),
    Row::new(
        Subject::Script("tcpconnect"),
        "tcp",
        ITSELF,
        &[
            Equal(r"lines ^\d+\s+\d+\s+load-tcp\s+127\.0\.0\.1\s+{port_v4}$", "connections_v4"),
            Equal(r"lines ^\d+\s+\d+\s+load-tcp\s+::1\s+{port_v6}$", "connections_v6"),
            Equal(r"lines ^\d+\s+\d+\s+load-tcp\s+127\.0\.0\.1\s+{refused_port}$", "refused"),
            Equal(r"lines ^\d+\s+\d+\s+load-tcp\s+127\.0\.0\.1\s+{reset_port}$", "resets"),
        ],
    ),
    Row::new(
        Subject::Script("tcplife"),
        "tcp",
        ITSELF,
        &[
            Equal(r"lines ^load-tcp\s+\d+\s+127\.0\.0\.1\s+{port_v4}\s", "connections_v4"),
            Equal(r"lines ^load-tcp\s+\d+\s+::1\s+{port_v6}\s", "connections_v6"),
            Equal(r"lines ^load-tcp\s+\d+\s+127\.0\.0\.1\s+{refused_port}\s", "refused"),
            Within(
                r"sum ^load-tcp\s+\d+\s+\S+\s+(?:{port_v4}|{port_v6})\s+\d+\s+(\d+)",
                "answered_bytes+connections_v4+connections_v6-2",
                "answered_bytes+connections_v4+connections_v6",
            ),
            Equal(
                r"sum ^load-tcp\s+\d+\s+\S+\s+(?:{port_v4}|{port_v6})\s+\d+\s+\d+\s+(\d+)",
                "sent_bytes+2*connections_v4+2*connections_v6",
            ),
        ],
    )
    .bound("The end of a connection counts as a byte, but where both sides end at once."),
    Row::new(
        Subject::Script("tcpretrans"),
        "tcploss",
        "/proc/net/tcp; /proc/net/snmp",
        &[
            Within(r"lines ^\d+\s+::ffff:127\.0\.0\.1\s+\d+\s+::ffff:127\.0\.0\.1\s+{port}\s+SYN_SENT$", "retransmits", "retransmits+1"),
            Within("@retransmitted[*]", "inner:snmp.Tcp.RetransSegs", "outer:snmp.Tcp.RetransSegs"),
        ],
    )
    .bound("The load looks every 20 ms and may miss the last one; /proc/net/snmp counts others, too."),
    Row::new(Subject::Script("tlssniff"), "", "the texts that the program sends", &[])
        .elsewhere("tests/scripts/library/tlssniff.bt", "sends 8 bytes: a secret"),
];
