//! Queries, and what `trace-cmd sqlhist` 3.3 makes of them but for the names of variables.

use super::*;

fn find(name: &str) -> Option<Arc<TracepointFormat>> {
    let (category, event, fields) = match name.rsplit('.').next()? {
        "sched_waking" => ("sched", "sched_waking", "char comm[16]|8|16|0,pid_t pid|24|4|1,int prio|28|4|1"),
        "sched_switch" => (
            "sched",
            "sched_switch",
            "char prev_comm[16]|8|16|0,pid_t prev_pid|24|4|1,int prev_prio|28|4|1,char next_comm[16]|40|16|0,pid_t next_pid|56|4|1,int next_prio|60|4|1",
        ),
        "kmalloc" => {
            ("kmem", "kmalloc", "unsigned long call_site|8|8|0,size_t bytes_req|24|8|0,size_t bytes_alloc|32|8|0")
        }
        "sys_enter" => ("raw_syscalls", "sys_enter", "int common_pid|4|4|1,long id|8|8|1"),
        _ => return None,
    };
    let mut text = format!("name: {event}\nID: 1\n");
    for field in fields.split(',') {
        let parts: Vec<&str> = field.split('|').collect();
        text.push_str(&format!(
            "\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n",
            parts[0], parts[1], parts[2], parts[3]
        ));
    }
    TracepointFormat::parse(category, event, &text).ok().map(Arc::new)
}

fn triggers(query: &str) -> Vec<String> {
    let recipe = plan(query, &find).unwrap_or_else(|wrong| panic!("{wrong}"));
    let synthetic = recipe.synthetic.iter().map(|(_, fields)| format!("s: {fields}"));
    let joined = !recipe.synthetic.is_empty();
    let triggers = recipe.triggers.iter().take(if joined { 2 } else { 1 });
    synthetic.chain(triggers.map(|(event, trigger)| format!("{event} {trigger}"))).collect()
}

#[test]
fn queries_of_one_event() {
    let of = |query: &str| triggers(query).concat();
    assert_eq!(of("SELECT prev_pid FROM sched_switch"), "sched:sched_switch hist:keys=prev_pid");
    assert_eq!(of("SELECT CAST(bytes_req AS LOG2) FROM kmem.kmalloc"), "kmem:kmalloc hist:keys=bytes_req.log2");
    assert_eq!(
        of("select CAST(common_pid AS comm), CAST(id AS syscall) from sys_enter"),
        "raw_syscalls:sys_enter hist:keys=common_pid.execname,id.syscall"
    );
    assert_eq!(
        of(
            "SELECT CAST(call_site AS SYM), CAST(bytes_req AS _COUNTER_) FROM kmalloc WHERE bytes_req > 10 AND bytes_alloc = 5"
        ),
        "kmem:kmalloc hist:keys=call_site.sym:vals=bytes_req if bytes_req > 10 && bytes_alloc == 5"
    );
}

#[test]
fn joined_events_are_as_sqlhist_writes_them() {
    let lat = triggers(
        "SELECT start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid",
    );
    assert_eq!(
        lat,
        [
            "s: pid_t pid; u64 lat;",
            "sched:sched_waking hist:keys=pid:__arg_1=pid,__arg_3=common_timestamp.usecs",
            "sched:sched_switch hist:keys=next_pid:__pid_2=$__arg_1,__lat_4=common_timestamp.usecs-$__arg_3:onmatch(sched.sched_waking).psc_query($__pid_2,$__lat_4)",
        ]
    );
    let filtered = triggers(
        "SELECT end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid WHERE start.prio < 100 && end.prev_prio < 50",
    );
    assert_eq!(
        filtered,
        [
            "s: char comm[16]; u64 lat;",
            "sched:sched_waking hist:keys=pid:__arg_2=common_timestamp.usecs if prio < 100",
            "sched:sched_switch hist:keys=next_pid:__comm_1=next_comm,__lat_3=common_timestamp.usecs-$__arg_2:onmatch(sched.sched_waking).psc_query($__comm_1,$__lat_3) if prev_prio < 50",
        ]
    );
    let plain = triggers(
        "SELECT start.pid, start.prio FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid",
    );
    assert_eq!(plain[0], "s: pid_t pid; s32 prio;");
}

#[test]
fn what_is_wrong_is_shown_at_its_column() {
    let wrong = |query: &str| plan(query, &find).unwrap_err().to_string();
    let said = wrong("SELECT nope FROM sched_switch");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("sched:sched_switch has no field nope; it has prev_comm"), "{said}");
    assert_eq!(lines[1].find("nope"), lines[2].find('^'));
    for query in [
        "",
        "SELECT",
        "SELECT a",
        "SELECT a FROM nowhere",
        "SELECT prev_pid FROM sched_switch junk",
        "SELECT (prev_pid FROM sched_switch",
        "SELECT CAST(prev_pid AS nothing) FROM sched_switch",
        "SELECT pid FROM sched_waking AS a JOIN sched_switch AS b ON a.pid = b.next_pid",
        "SELECT 'x FROM y",
        "SELECT \u{20ac} FROM kmalloc",
    ] {
        assert!(wrong(query).contains('^'), "{query}");
    }
}
