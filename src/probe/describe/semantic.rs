//! Semantic probes: what they mean, and what their arguments are on this kernel.

use std::fmt::Write as _;

use super::{DocField, ProbeDoc, Shown, skeleton};
use crate::kernel::Kernel;
use crate::probe::providers::{Found, Given, Row, resolve};

pub(super) fn describe(row: &'static Row, kernel: &Kernel) -> ProbeDoc {
    let fields = fields(row, kernel);
    let point = row.point();
    let mut about = row.about.to_owned();
    let places = resolve(row, kernel);
    if let Ok(places) = &places {
        let points: Vec<&str> = places.iter().map(|place| place.source.point).collect();
        let _ = write!(about, " Here by {}.", points.join(", "));
    }
    if !row.arguments.is_empty() {
        let each = row.arguments.iter().enumerate();
        let each: Vec<String> = each.map(|(n, (ty, what))| format!("args[{n}] is {what} ({ty})")).collect();
        let _ = write!(about, " In D, {}.", each.join(", "));
    }
    ProbeDoc {
        name: point.as_str().into(),
        about,
        skeleton: skeleton::skeleton(&point, &fields),
        fields,
        absence: places.err(),
    }
}

/// The fields that this kernel tells; those of the row where the probe can't be had.
pub(super) fn fields(row: &'static Row, kernel: &Kernel) -> Vec<DocField> {
    let place = resolve(row, kernel).ok().and_then(|places| places.into_iter().next());
    row.fields.iter().filter_map(|field| describe_field(row, place.as_ref(), field.name)).collect()
}

/// The type of a field where the probe can't be had.
fn declared(row: &Row, name: &str) -> &'static str {
    let field = row.fields.iter().find(|f| f.name == name);
    let source = row.places.first().and_then(|list| list.first());
    match field.zip(source).and_then(|(field, source)| Some((source.given.get(field.argument)?, field.member))) {
        Some((Given::Plain(ty, _), _)) => ty,
        Some((Given::Since(_), _)) => "uint64_t",
        Some((Given::Object(view, _), member)) => view.member(member).map_or("", |m| m.ty),
        None => "",
    }
}

fn describe_field(row: &Row, place: Option<&Found>, name: &str) -> Option<DocField> {
    let ty = match place {
        Some(place) => place.field(name).ok()?.0,
        None => declared(row, name),
    };
    let shown = match ty {
        "string" => Shown::Text,
        "uint64_t" | "size_t" => Shown::Long,
        ty if ty == "uintptr_t" || ty.ends_with('*') => Shown::Pointer,
        _ => Shown::Int,
    };
    let declaration = format!("{ty} {name}").trim().to_owned();
    Some(DocField { declaration, access: format!("args.{name}"), ty: ty.to_owned(), shown })
}
