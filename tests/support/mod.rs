//! Script cases: what they say, what they need, how they are run and compared. Shared by the tests
//! on this kernel (`scripts`) and in guests (`kernels`).

pub mod case;
pub mod needs;
pub mod run;
pub mod workload;
