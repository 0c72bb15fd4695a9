use super::*;
use crate::model::budget::Budget;

fn parsed(text: &str) -> Result<(Config, Vec<Remap>), ConfigError> {
    Config::parse("config.toml", text)
}

#[test]
fn what_config_init_writes_is_read_again_with_and_without_its_comments() {
    let text = default_text();
    let (config, choices) = parsed(&text).unwrap();
    assert!(config.workbench.theme.is_none() && choices.is_empty(), "all of it is commented out");
    // Options and headings are taken in, what explains them is not.
    let option =
        |line: &str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
    let taken: String = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| option(rest)).unwrap_or(""))
        .map(|line| format!("{line}\n"))
        .collect();
    let (config, choices) = parsed(&taken).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((config.workbench.theme.as_deref(), config.workbench.mouse), (Some("dark"), Some(true)));
    assert_eq!((config.trace.allow_unsafe, config.trace.brake), (Some(false), Some(true)));
    assert_eq!(config.trace.budget, Some(Limit(Some(Budget::DEFAULT))));
    assert_eq!(config.settings(), [("max_map_keys".to_owned(), "4096".to_owned())]);
    assert_eq!(choices.len(), keys::all().count(), "every command is there");
}

#[test]
fn mistakes_are_told_with_line_and_column() {
    let place = |text: &str| match parsed(text) {
        Err(ConfigError::Wrong { mistakes }) if mistakes.len() == 1 => {
            let Mistake { line, column, message, excerpt, .. } = mistakes.into_iter().next().unwrap();
            (line, column, message, excerpt)
        }
        other => panic!("{other:?}"),
    };
    let (line, column, message, excerpt) = place("[workbench]\ntheme = \"dark\"\nmouze = true\n");
    assert_eq!((line, column), (3, 1));
    assert!(message.contains("mouze") && excerpt.contains("3 | mouze = true\n  | ^"), "{message}\n{excerpt}");
    assert_eq!(place("[workbench\n").0, 1);
    let (line, column, message, _) = place("[keys]\nrun = [\"F5\", \"F99\"]\n");
    assert_eq!((line, column), (2, 14));
    assert!(message.contains("F99"), "{message}");
    let (line, _, message, _) = place("[keys.panes]\nrun = \"F5\"\nrunn = \"F6\"\n");
    assert_eq!((line, message.contains("runn")), (3, true), "{message}");
    let (line, _, message, _) = place("[script]\nstack_mode = [1]\n");
    assert_eq!((line, message.contains("stack_mode")), (2, true), "{message}");
    let (line, _, message, _) = place("[trace]\nbudget = \"0%\"\n");
    assert!(line == 2 && message.contains("leaves no probe any time"), "{message}");
    assert!(place("[keys.nowhere]\nrun = \"F5\"\n").2.contains("nowhere"));
}

#[test]
fn settings_of_scripts_are_checked_as_a_scripts_own() {
    let text = "[script]\nmax_map_keys = 0\nmax_strlen = -1\nstack_mode = \"loud\"\nmax_map_kees = 7\n\
                max_cat_bytes = 1_0\nperf_rb_pages = 0x40\nlicense = \"mine\"\ncpp_demangle = \"maybe\"\n\
                print_maps_on_exit = false\nlog_size = [1]\nMAX_PROBES = true\nbtf = 1\n";
    let Err(ConfigError::Wrong { mistakes }) = parsed(text) else { panic!("it was taken") };
    let told: Vec<_> = mistakes.iter().map(|m| (m.line, m.column, &*m.message)).collect();
    assert_eq!(
        told,
        [
            (2, 16, "max_map_keys: 0 is no number from 1 to 67108864"),
            (3, 14, "max_strlen: expecting a number from 1 to 1048576, got -1"),
            (4, 14, "stack_mode: Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id."),
            (5, 1, "max_map_kees: not a known configuration option: did you mean `max_map_keys`?"),
            (8, 11, told[4].2),
            (9, 16, "cpp_demangle: Invalid bool value: valid values are true, false, 1 or 0."),
            (11, 12, "log_size is a number, a text, true or false, and not of the type array"),
            (13, 1, "btf: can only be set as an environment variable"),
        ]
    );
    assert!(told[4].2.starts_with("Invalid value for license. Found: mine. Valid values: "), "{told:?}");
    let (config, _) = parsed("[script]\nMAX_STRLEN = 64\nunstable_tseries = true\nstr_trunc_trailer = \"\"\n").unwrap();
    assert_eq!(config.settings().len(), 3);
}

#[test]
fn no_file_is_as_good_as_an_empty_one_unless_it_was_asked_for() {
    let world = World { home: Some("/nonexistent".into()), ..World::default() };
    assert!(read(&world).is_ok());
    let asked = World { config_file: Some("/nonexistent/x.toml".into()), ..World::default() };
    assert!(matches!(read(&asked), Err(ConfigError::Read { .. })));
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "[workbench]\ntheme = 7\nmouze = true\n[trace]\nbrake = \"yes\"\nunsafe = true\n[script]\nstack_mode = [1]\n\
                [keys]\nrun = [\"F5\", \"F99\", \"F98\"]\nrunn = \"F6\"\nnothing = \"F7\"\n";
    let Err(error @ ConfigError::Wrong { .. }) = parsed(text) else { panic!("it was taken") };
    let told = error.to_string();
    let lines: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("config.toml:")).collect();
    let numbers: Vec<&str> = lines.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(numbers, ["2", "3", "5", "8", "10", "10", "11", "12"], "{told}");
    // Whatever else it is, it ends.
    for text in ["[", "= =\n= =", "[a]\n[a]\n[a]", "x = \"\"\"\n\n", "\u{e9} = [\n1,\n"] {
        assert!(parsed(text).is_err(), "{text}");
    }
}

#[test]
fn what_values_name_is_looked_for() {
    let told = |text: &str| {
        let mistakes = names::unknown(&World::default(), "config.toml", text);
        mistakes.iter().map(|m| (m.line, m.column, m.message.clone())).collect::<Vec<_>>()
    };
    let text = "[workbench]\ntheme = \"drak\"\n[trace]\ndebuginfo = [\"/\", \"/nonexistent\"]\n";
    let found = told(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].0 == 2 && found[0].1 == 9 && found[0].2.contains("did you mean dark?"), "{found:?}");
    assert_eq!(found[1], (4, 19, "there is no folder /nonexistent".to_owned()));
    assert!(told("[workbench]\ntheme = \"/nonexistent/a.toml\"\n")[0].2.contains("nonexistent"));
    assert!(told("[workbench]\ntheme = \"nord\"\n").is_empty() && told("").is_empty());
}
