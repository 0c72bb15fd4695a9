//! TODO text.rs

use crate::lang::types::Aggregation;

/// The name of an aggregation's function.
pub fn aggregation_text(agg: Aggregation) -> &'static str {
    match agg {
        Aggregation::Count => "count",
        Aggregation::Sum { .. } => "sum",
        Aggregation::Min { .. } => "min",
        Aggregation::Max { .. } => "max",
        Aggregation::Avg { .. } => "avg",
        Aggregation::Stats { .. } => "stats",
        Aggregation::Hist { .. } => "hist",
        Aggregation::LHist { .. } => "lhist",
        Aggregation::LogLinear(_) => "llquantize",
        Aggregation::Quantize => "quantize",
        Aggregation::StdDev => "stddev",
        Aggregation::TSeries { .. } => "tseries",
    }
}
