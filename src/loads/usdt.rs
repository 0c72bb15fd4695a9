//! Static probes of this program itself (`usdt:PROGRAM:probescope_load:request` and `…:reply`).

mod places;

use super::{Load, LoadError, Plan, Truth};

pub const LOAD: Load = Load {
    name: "usdt",
    about: "Passes its own static probes, usdt:PROGRAM:probescope_load:request and :reply.",
    truth: &[
        ("requests", "firings of request(number, text)"),
        ("replies", "firings of reply(number, bytes)"),
        ("reply_bytes", "the sum of the second argument; every third is negative, an error"),
        ("last_text", "the text of the last request"),
    ],
    run,
};

fn run(plan: &Plan) -> Result<Truth, LoadError> {
    if !places::KNOWN {
        let reason = "nobody wrote any for this processor".to_owned();
        return Err(LoadError::Absent { what: "a static probe", reason });
    }
    let mut random = plan.random();
    let wanted = random.between(50, 200);
    let (mut requests, mut replies, mut bytes, mut last) = (0_u64, 0_u64, 0_i64, String::new());
    while requests < wanted && plan.has_time() {
        last = format!("request {requests}");
        // No byte of the text is 0.
        let text = std::ffi::CString::new(last.clone()).unwrap_or_default();
        places::request(requests, &text);
        requests += 1;
        if random.between(0, 4) > 0 {
            let size = random.between(1, 1 << 33) as i64;
            let result = if requests % 3 == 0 { -size } else { size };
            places::reply(requests, result);
            bytes += result;
            replies += 1;
        }
    }
    Ok(Truth::new()
        .with("requests", requests)
        .with("replies", replies)
        .with("reply_bytes", bytes)
        .with("last_text", last))
}
