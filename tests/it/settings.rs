//! Settings: where they come from, which one beats which, and that none that is secret is ever printed.

use crate::commands::{commands, help};
use crate::program::{Ended, run, secchi as program};

/// A text that must be printed nowhere.
const SECRET: &str = "hush-hush-hush-hush-hush-hush-hush-hush";

#[test]
fn help_lists_every_setting_with_its_default() {
    let folder = tempfile::tempdir().unwrap();
    let text = help(folder.path(), &["serve".to_owned()], &[]).stdout();
    let settings = [
        ("SECCHI_DATABASE_URL", "sqlite://data/secchi.db"),
        ("SECCHI_REDIS_URL", ""),
        ("SECCHI_LISTEN", "127.0.0.1:8080"),
        ("SECCHI_METRICS_LISTEN", "127.0.0.1:9464"),
        ("SECCHI_PUBLIC_URL", "the listen address"),
        ("SECCHI_TRUSTED_PROXIES", ""),
        ("SECCHI_JWT_SECRET", "made once"),
        ("SECCHI_DATA_DIR", "./data"),
        ("SECCHI_MEDIA_URL", "in the data folder"),
        ("SECCHI_JUDGE_BASE_URL", ""),
        ("SECCHI_JUDGE_MODEL", "gpt-5.5"),
        ("SECCHI_JUDGE_API_KEY", ""),
        ("SECCHI_JUDGE_MAX_CONCURRENCY", "16"),
        ("SECCHI_JUDGE_TIMEOUT_S", "60"),
        ("SECCHI_JUDGE_PRICE_IN", "0"),
        ("SECCHI_JUDGE_PRICE_OUT", "0"),
        ("SECCHI_PROMPTS_DIR", ""),
        ("SECCHI_QUOTA_PER_DAY", "5"),
        ("SECCHI_QUOTA_TOTAL", "20"),
        ("SECCHI_QUOTA_VAL_PER_DAY", "20"),
        ("SECCHI_HTTP_RATE_PER_MINUTE", "600"),
        ("SECCHI_DRAIN_S", "0"),
        ("SECCHI_MAX_UPLOAD_BYTES", "67108864"),
        ("SECCHI_SIGNUP", "approval"),
        ("SECCHI_SMTP_URL", ""),
        ("SECCHI_SMTP_FROM", ""),
    ];
    for (variable, default) in settings {
        assert!(text.contains(&format!("[env: {variable}")), "{variable} in {text}");
        assert!(default.is_empty() || text.contains(default), "{variable}: {default} in {text}");
    }
}

#[test]
fn what_runs_several_of_everything_sets_only_what_is_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let known = help(folder.path(), &["serve".to_owned()], &[]).stdout();
    // Of the proxy.
    let others = ["SECCHI_SITE", "SECCHI_SERVERS"];
    for file in ["compose.yaml", ".env.example", "deploy/Caddyfile", "deploy/systemd/secchi-server.service"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(path).unwrap();
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for name in names.filter(|name| name.starts_with("SECCHI_") && !others.contains(name)) {
            assert!(known.contains(&format!("[env: {name}")), "{file}: `{name}` is no setting");
        }
    }
}

#[test]
fn a_log_filter_that_is_none_is_told_and_an_empty_one_is_one_that_is_not_set() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [vec!["openapi"], vec!["status", "--url", "http://127.0.0.1:9"]] {
        let said = |filter: &str| {
            let environment = [("SECCHI_LOG", filter), ("SECCHI_LISTN", "127.0.0.1:1")];
            run(program(folder.path(), &arguments).envs(environment)).stderr
        };
        for filter in ["", "secchi=loud"] {
            assert!(said(filter).contains("`SECCHI_LISTN` is no setting"), "{}", said(filter));
        }
        assert!(said("secchi=loud").contains("SECCHI_LOG is no log filter"), "{}", said("secchi=loud"));
    }
}

#[test]
fn no_secret_is_printed_wherever_it_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("postgres://secchi:{SECRET}@127.0.0.1:1/secchi");
    let redis = format!("redis://:{SECRET}@127.0.0.1:1/");
    let mail = format!("smtps://secchi:{SECRET}@127.0.0.1:1");
    let settings = [
        ("DATABASE_URL", database.as_str()),
        ("REDIS_URL", redis.as_str()),
        ("JWT_SECRET", SECRET),
        ("JUDGE_API_KEY", SECRET),
        ("API_KEY", SECRET),
        ("SMTP_URL", mail.as_str()),
    ];
    let variables: Vec<String> = settings.iter().map(|(name, _)| format!("SECCHI_{name}")).collect();
    let environment: Vec<(&str, &str)> =
        variables.iter().map(String::as_str).zip(settings.iter().map(|(_, value)| *value)).collect();
    let quiet = |what: &str, ended: &Ended| {
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!printed.contains("hush"), "{what}: {printed}");
    };
    let commands = commands(folder.path());
    for command in &commands {
        quiet("the environment", &help(folder.path(), command, &environment));
    }
    // What cannot be reached or is no setting is named without its secret part.
    for (arguments, code) in [
        (vec!["serve"], 1),
        (vec!["team", "list"], 1),
        (vec!["status", "--url", "http://127.0.0.1:9"], 4),
        (vec!["serve", "--database-url", "sqlite:memory"], 1),
    ] {
        let ended = run(program(folder.path(), &arguments).envs(environment.iter().copied()));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        quiet("a failing command", &ended);
    }
    let wrong = format!("mysql://root:{SECRET}@db/secchi");
    quiet("a wrong address", &run(&mut program(folder.path(), &["migrate", "--database-url", &wrong])));
    let file: String =
        settings.iter().map(|(name, value)| format!("{} = \"{value}\"\n", name.to_lowercase())).collect();
    std::fs::write(folder.path().join("secchi.toml"), file).unwrap();
    for command in &commands {
        let ended = help(folder.path(), command, &[]);
        quiet("the file", &ended);
        assert_eq!(ended.code, Some(0));
    }
    std::fs::write(folder.path().join("secchi.toml"), format!("jwt_secret = [\"{SECRET}\", 7]\n")).unwrap();
    quiet("a faulty file", &run(&mut program(folder.path(), &["serve"])));
    std::fs::write(folder.path().join("secchi.toml"), format!("jwt_secret = \"{SECRET}\n")).unwrap();
    quiet("a broken file", &run(&mut program(folder.path(), &["serve"])));
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    let made = |name: &str| folder.path().join(name).exists();
    let migrate = |arguments: &[&str], environment: Option<&str>| {
        let mut command = program(folder.path(), &[&["migrate"], arguments].concat());
        command.envs(environment.map(|url| ("SECCHI_DATABASE_URL", url)));
        run(&mut command).stdout()
    };
    migrate(&[], None);
    assert!(made("data/secchi.db"), "the default");
    std::fs::write(folder.path().join("secchi.toml"), format!("database_url = \"{}\"\n", place("file.db")))
        .unwrap();
    migrate(&[], None);
    assert!(made("file.db") && !made("env.db"));
    migrate(&[], Some(&place("env.db")));
    assert!(made("env.db") && !made("flag.db"));
    migrate(&["--database-url", &place("flag.db")], Some(&place("env2.db")));
    assert!(made("flag.db") && !made("env2.db"));
    let other = folder.path().join("other.toml");
    std::fs::write(&other, format!("database_url = \"{}\"\n", place("other.db"))).unwrap();
    migrate(&["--config", other.to_str().unwrap()], None);
    assert!(made("other.db"));
}

#[test]
fn a_variable_that_is_set_to_nothing_is_not_set() {
    let folder = tempfile::tempdir().unwrap();
    let known = help(folder.path(), &["serve".to_owned()], &[]).stdout();
    let names: Vec<&str> =
        known.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next()).collect();
    assert!(names.len() > 25, "{names:?}");
    let mut command = program(folder.path(), &["judge", "check"]);
    for name in names {
        command.env(name, "");
    }
    let said = run(&mut command).stdout();
    assert!(said.contains("`offline`") && folder.path().join("data/secchi.db").is_file(), "{said}");
}

#[test]
fn what_is_wrong_with_the_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("secchi.toml"), text).unwrap();
        let ended = run(&mut program(folder.path(), &["team", "list"]));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{word}: {ended:?}");
        }
    };
    refused("lisen = \"127.0.0.1:1\"\n", &["secchi.toml", "`lisen`", "no setting"]);
    refused("[judge]\nmodel = \"x\"\n", &["`judge`"]);
    refused("listen = \n", &["secchi.toml", "line 1"]);
    let ended = run(&mut program(folder.path(), &["team", "list", "--config", "none.toml"]));
    assert!(ended.code == Some(1) && ended.stderr.contains("none.toml"), "{ended:?}");
}

#[test]
fn limits_of_the_judge_that_nothing_can_keep_are_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str], words: &[&str]| {
        let judge =
            ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--judge-base-url"];
        let ended =
            run(&mut program(folder.path(), &[&judge[..], &["http://127.0.0.1:9/v1"], flags].concat()));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        for word in words {
            assert!(ended.stderr.contains(word), "{word}: {ended:?}");
        }
    };
    refused(&["--judge-budget-usd-per-day", "5"], &["SECCHI_JUDGE_PRICE_IN", "SECCHI_JUDGE_PRICE_OUT"]);
    refused(&["--judge-tpm", "2000"], &["SECCHI_JUDGE_TPM is 2000", "raise it"]);
}
