//! Loads objects into the running kernel and runs their programs.

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use probescope::codegen::backend::{SourceLines, build};
use probescope::codegen::ir::{Function, Isa, Module, Section};

/// A module of one function and one section of global data.
pub fn module(functions: Vec<Function>, globals: usize) -> Module {
    Module {
        functions,
        sections: vec![Section { name: ".bss.test".into(), size: globals as u32, data: Vec::new(), read_only: false }],
        license: "GPL".into(),
        isa: Isa::of(facts()),
        ..Module::default()
    }
}

/// Compiles and loads; the error says what the kernel said.
pub fn load(module: &Module) -> Result<Object, String> {
    let built = build(module, &SourceLines::none()).map_err(|e| e.to_string())?;
    load_bytes(&built.object)
}

pub fn load_bytes(object: &[u8]) -> Result<Object, String> {
    let open = ObjectBuilder::default().open_memory(object).map_err(|e| format!("open: {e:#}"))?;
    open.load().map_err(|e| format!("load: {e:#}"))
}

/// Runs the first program; its return value.
pub fn run(object: &mut Object, context: &[u64]) -> Result<u32, String> {
    let mut bytes: Vec<u8> = context.iter().flat_map(|w| w.to_le_bytes()).collect();
    let program = object.progs_mut().next().ok_or_else(|| "no program".to_owned())?;
    let input = ProgramInput { context_in: Some(&mut bytes), ..ProgramInput::default() };
    program.test_run(input).map(|out| out.return_value).map_err(|e| format!("run: {e:#}"))
}

/// The contents of the global data.
pub fn globals(object: &Object) -> Vec<u8> {
    let map = object.maps().find(|m| m.name().to_string_lossy().contains("bss")).expect("global data map");
    map.lookup(&0u32.to_le_bytes(), MapFlags::ANY).expect("lookup").expect("element 0")
}

/// Says why and gives true when this kernel or user can't load programs at all.
pub fn unavailable() -> bool {
    let mut b = probescope::codegen::builder::FunctionBuilder::new(
        "nothing",
        probescope::codegen::ir::Linkage::Program {
            kind: probescope::codegen::artifact::ProgramKind::TestRun,
            section: "socket".into(),
        },
        1,
    );
    b.ret(0);
    if rustix::process::geteuid().is_root() {
        return false;
    }
    match load(&module(vec![b.finish()], 8)) {
        Ok(_) => false,
        Err(why) => {
            crate::skip::skip(&format!("BPF programs can't be loaded here (not root): {why}"));
            true
        }
    }
}

/// What the running kernel has.
pub fn facts() -> &'static probescope::kernel::target::TargetFacts {
    static FACTS: std::sync::OnceLock<probescope::kernel::target::TargetFacts> = std::sync::OnceLock::new();
    FACTS.get_or_init(|| {
        let roots = probescope::kernel::Roots::running();
        std::sync::Arc::new(probescope::kernel::Kernel::new(roots)).target_facts(None, 0)
    })
}

/// Says why a test is skipped on a kernel that lacks something.
pub fn lacks(what: &str, there: bool) -> bool {
    if !there {
        crate::skip::skip(&format!("this kernel has no {what}"));
    }
    !there
}
