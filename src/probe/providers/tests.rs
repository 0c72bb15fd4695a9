use super::*;

#[test]
fn members_of_arguments_and_fields_are_there() {
    for row in rows() {
        for source in row.places.iter().flat_map(|list| list.iter()) {
            assert!(point::parse(source.point).is_ok(), "{}", source.point);
            assert!(source.given.len() >= row.arguments.len(), "{}", row.point());
            for field in row.fields {
                let given = &source.given[field.argument];
                match given {
                    Given::Plain(..) | Given::Since(_) => {
                        assert!(field.member.is_empty(), "{} {}", row.point(), field.name);
                    }
                    Given::Object(view, _) => {
                        assert!(view.member(field.member).is_some(), "{} {}", row.point(), field.name);
                    }
                }
            }
            for (given, (ty, _)) in source.given.iter().zip(row.arguments) {
                assert_eq!(*ty, given.d_type(), "{}", row.point());
            }
        }
    }
}

#[test]
fn the_object_is_put_in_for_its_letter_alone() {
    assert_eq!(requirements::with_base("R->a ? 1 - R->b : Rest", "args.rq"), "args.rq->a ? 1 - args.rq->b : Rest");
}
