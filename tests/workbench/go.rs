//! A program in Go, whose stacks grow while its functions' returns are probed: a return probe of the kernel's would crash
//! it (the runtime finds an address on the stack that it does not know).

use std::process::Command;

use crate::{root, skip};

/// 201 calls of `grow` in each goroutine, whose stack grows several times meanwhile. 5,000 of them, a million returns, pass too.
const GOROUTINES: u64 = 500;
const SOURCE: &str = "package main

import \"fmt\"

//go:noinline
func grow(n int) int {
	var pad [128]int
	pad[n%128] = n
	if n == 0 {
		return pad[0]
	}
	return grow(n-1) + pad[n%128] - n + 1
}

func main() {
	total := 0
	for i := 0; i < GOROUTINES; i++ {
		done := make(chan int)
		go func() { done <- grow(200) }()
		total += <-done
	}
	fmt.Println(total)
}
";

#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_in_go_lives_through_its_returns() {
    if root::missing() {
        return;
    }
    if !Command::new("go").arg("version").output().is_ok_and(|out| out.status.success()) {
        return skip::skip("no go is installed");
    }
    let folder = std::env::temp_dir().join(format!("probescope-go-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("main.go"), SOURCE.replace("GOROUTINES", &GOROUTINES.to_string())).unwrap();
    let mut go = Command::new("go");
    go.args(["build", "-o", "grow", "main.go"]).current_dir(&folder).env("GO111MODULE", "off");
    let built = go.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let program = folder.join("grow");
    let path = program.display();
    let script = format!(
        "uprobe:{path}:main.grow {{ @entries = count(); }} uretprobe:{path}:main.grow {{ @returns = count(); @most = max(retval); }}"
    );
    let mut run = Command::new(env!("CARGO_BIN_EXE_probescope"));
    let out = run.args(["run", "-e", &script, "-c", &path.to_string()]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    std::fs::remove_dir_all(&folder).unwrap();
    let calls = GOROUTINES * 201;
    assert!(text.contains(&format!("{}\n", GOROUTINES * 200)), "it came to its end: {text}");
    assert!(text.contains(&format!("@entries: {calls}\n")), "{text}");
    assert!(text.contains(&format!("@returns: {calls}\n")) && text.contains("@most: 200\n"), "{text}");
}
