//! What `-h` prints, and what follows a mistaken command line.

/// The flags, in bpftrace's order and under its headings.
pub const TEXT: &str = "\
bpftrace - scripts in the bpftrace language, run by probescope

USAGE:
    bpftrace [options] filename
    bpftrace [options] - <stdin input>
    bpftrace [options] -e 'program'
    parameters follow the script; named ones follow a --

OPTIONS:
    -e 'program'   run this program
    -l, --list [search|filename]
                   list the kernel's probes, or those of a script
    -v, --verbose  say more; with -l, also show the arguments of probes
    -h, --help     show this text
    -V, --version  show the version
    --info         show what this kernel offers

    -p, --pid PID  trace this process only
    -c, --cmd CMD  run CMD and trace until it ends
    --usdt-file-activation
                   taken and not needed: semaphores are always raised by file

    -o, --output FILE
                   write the script's output to FILE
    -f FORMAT      form of the output ('text', 'json')
    -B MODE        buffering of the output ('line', 'full', 'none')
    -q, --quiet    nothing but the script's output
    -k, --warnings say which reads failed
    --no-warnings  no warnings

    -I DIR, --include FILE
                   taken for scripts that name C headers: types come from BTF
    --debuginfo DIR[:DIR]
                   also look for separate debug files there
    --unsafe       allow what changes the traced system
    --no-feature FEATURE[,FEATURE]
                   taken and not needed

DEVELOPER OPTIONS:
    --mode MODE    'codegen', 'bench', 'test' or 'format'
    --test         run the test: probes (same as --mode test)
    --bench        run the bench: probes (same as --mode bench)
    --probe-filter REGEX
                   only the tests or benchmarks whose names match
    --fmt          print the script as the formatter writes it

TROUBLESHOOTING OPTIONS:
    --dry-run      attach everything, then end
    --no-brake     never turn a probe off whose loops take a CPU away
    -d, --debug STAGE
                   show stages of the compiler and end
                   ('all', 'ast', 'types', 'codegen', 'codegen-opt', 'dis', 'libbpf', 'verifier')
    --emit-elf FILE
                   also write the compiled BPF object to FILE

CONFIGURATION:
    settings of the config block may be given as BPFTRACE_NAME in the environment

EXAMPLES:
    bpftrace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
        count system calls by program
    bpftrace -e 'profile:hz:99 { @[kstack] = count(); }'
        sample kernel stacks
    bpftrace -l '*sleep*'
        list probes with \"sleep\" in their names
";
