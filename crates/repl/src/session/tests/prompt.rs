//! Profiles that are data alone, and `hob repl check`, on the real programs.

use std::path::Path;
use std::sync::Arc;

use super::soak::{Kind, Program, interrupts, plain, program};
use super::*;
use crate::check::{self, Row};
use crate::profile::{Origin, Profile, Profiles};
use crate::result::Status;

/// The built-in profiles that need a package of their language, and the one that has no program of its own.
const NOT_CHECKED: [&str; 3] = ["cabal", "stack", "terminal"];

fn spec(profile: &Profile) -> SessionSpec {
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let launch = profile.launch(vec![keep("PATH"), keep("HOME")], "/".into(), 8 << 30).expect("it is installed");
    SessionSpec { launch, ..setup(&["unused"], Path::new("/"), Arc::new(Ghci)) }
}

fn session(profile: &Profile) -> Handle {
    start(spec(profile), log()).expect("it starts")
}

fn builtin(name: &str) -> Handle {
    session(Profiles::builtin().get(name).expect("built in"))
}

/// A program of a user, whose prompt cannot be set: it adds numbers, and talks about its prompt.
const ODD: &str = r##"
import sys, signal
def stop(*_): raise KeyboardInterrupt
signal.signal(signal.SIGINT, stop)
print("Adder 1.5 of me")
while True:
    try:
        print("odd (1)> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line: break
        word, _, rest = line.strip().partition(" ")
        if word == "add": print(sum(map(int, rest.split())))
        elif word == "say": print(rest)
        elif word == "like": print("odd (1)> not yet", end="odd (1)> ", flush=True); import time; time.sleep(0.1); print()
        elif word == "part": print(rest, end="")
        elif word == "warn": print(rest, file=sys.stderr)
        elif word == "ask": print(f"<{sys.stdin.readline().strip()}>")
        elif word == "spin":
            while True: pass
        elif word == "bye": sys.exit(3)
        else: print("odd: no", word, file=sys.stderr)
    except KeyboardInterrupt: print("odd: stopped", file=sys.stderr)
"##;

fn odd_profile() -> Profile {
    let text = format!(
        r#"
driver = "prompt"
command = ["python3", "-c", '''{ODD}''']
[prompt]
text = "odd (1)> "
show = "say {{text}}"
error = ["odd: no "]
interrupted = ["odd: stopped"]
quit = "bye"
version = "Adder "
[check]
value = ["add 40 2", "42"]
lines = ["say a\nsay b", "a\nb"]
partial = ["part abc", "abc"]
stderr = ["warn oops", "oops"]
error = "nowhere"
input = ["ask", "<hob>"]
endless = ["spin"]
exit = "bye"
"#
    );
    let mut profiles = Profiles::builtin();
    profiles.add("odd", &text, "hob.toml", Origin::User).expect("a profile");
    profiles.get("odd").expect("added").clone()
}

fn failures(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.held != Some(true)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_built_in_profiles_pass_their_check() {
    // At once, since most of the time is spent waiting for the programs.
    let mut checks = tokio::task::JoinSet::new();
    for profile in Profiles::builtin().iter().filter(|profile| !NOT_CHECKED.contains(&profile.name.as_str())) {
        let profile = profile.clone();
        checks.spawn(async move {
            let samples = profile.check.as_ref().expect("samples");
            let outcome = check::run(spec(&profile), samples, 5).await;
            (profile.name, outcome)
        });
    }
    while let Some(checked) = checks.join_next().await {
        let (name, (version, rows)) = checked.expect("it was checked");
        let failed: Vec<&Row> = rows.iter().filter(|row| row.held == Some(false)).collect();
        assert!(failed.is_empty() && rows.len() == 9, "{name} {version:?}: {failed:#?}");
        assert!(version.is_some(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_an_odd_prompt_passes_too_and_a_wrong_profile_does_not() {
    let mut profile = odd_profile();
    let samples = profile.check.clone().expect("samples");
    let (version, rows) = check::run(spec(&profile), &samples, 5).await;
    assert_eq!((version.as_deref(), failures(&rows)), (Some("1.5"), Vec::new()));
    // A table that says nothing about errors, and expects another sum.
    profile.prompt.as_mut().expect("a table").error.clear();
    let mut wrong = samples;
    wrong.value = Some(["add 1 1".to_owned(), "3".to_owned()]);
    let (_, rows) = check::run(spec(&profile), &wrong, 1).await;
    let failed: Vec<&str> = failures(&rows).iter().map(|row| row.what).collect();
    assert_eq!(failed, ["value", "error", "interrupt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_like_a_fixed_prompt_is_output_unless_the_program_waits() {
    let session = session(&odd_profile());
    assert_eq!(line(&eval(&session, "like").await), r#"done | "odd (1)> not yetodd (1)> \n" | """#);
    assert_eq!(line(&eval(&session, "add 1 2").await), r#"done | "3\n" | """#);
    // The first error ends the code.
    let failed = eval(&session, "say a\nnowhere\nsay b").await;
    assert_eq!(line(&failed), r#"error | "a\n" | "odd: no nowhere\n""#);
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_tells_errors_and_keeps_its_prompt_secret() {
    let session = builtin("sqlite3");
    let failed = eval(&session, "select 1;\nselect * from nowhere;\nselect 2;").await;
    assert_eq!((failed.status, failed.stdout.as_str()), (Status::Error, "1\n2\n"), "{failed:?}");
    assert!(failed.exception.as_deref().is_some_and(|text| text.contains("no such table: nowhere")), "{failed:?}");
    assert_eq!(line(&eval(&session, "select 'λ', '\t';").await), "done | \"λ|\\t\\n\" | \"\"");
    session.stop("done").await;
}

const SQLITE: &[Program] = &[
    plain("with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r;"),
    plain("with recursive r(n) as (select 1 union all select n + 1 from r limit MS * 2000) select count(*) from r;"),
    plain("with recursive r(n) as (select 1 union all select n + 1 from r) select n from r;"),
    plain("select 1;"),
];

const RUBY: &[Program] = &[
    plain("loop {}"),
    plain("puts 'flood' while true"),
    plain("$stdin.gets"),
    plain("sleep"),
    plain("sleep SEC"),
    plain("(MS * 20000).times { }"),
    plain("system('sleep 1000')"),
    program(Kind::Cleans, "begin\n  puts 'begun'\n  sleep\nensure\n  sleep SEC\n  puts 'cleaned'\nend"),
    program(Kind::Deaf, "MS.times { begin; sleep 0.001; rescue Interrupt; end }\nputs 'end'"),
];

const LUA: &[Program] = &[
    plain("while true do end"),
    plain("while true do print('flood') end"),
    plain("io.read()"),
    plain("for i = 1, MS * 20000 do end"),
    plain("os.execute('sleep 1000')"),
    plain("os.execute('sleep SEC')"),
];

const R: &[Program] = &[
    plain("repeat {}"),
    plain("repeat cat('flood\n')"),
    plain("readline()"),
    plain("Sys.sleep(1000)"),
    plain("Sys.sleep(SEC)"),
    plain("sum(as.numeric(seq_len(MS * 10000)))"),
    plain("system('sleep 1000')"),
    program(
        Kind::Cleans,
        "tryCatch({ cat('begun\n'); Sys.sleep(1000) }, finally = { Sys.sleep(SEC); cat('cleaned\n') })",
    ),
    program(Kind::Deaf, "for (i in 1:MS) tryCatch(Sys.sleep(0.001), interrupt = function(c) NULL)\ncat('end\n')"),
];

/// Interrupts the programs of a profile.
async fn at_random(name: &str, programs: &[Program], first: &str, next: impl Fn(u64) -> (String, String)) {
    let session = builtin(name);
    eval(&session, first).await;
    interrupts(name, session, programs, next).await;
}

/// Returns the result of code that prints to both streams.
fn both_streams(n: u64) -> String {
    format!("done | \"out{n}\\n\" | \"err{n}\\n\"")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_at_random_long_run() {
    at_random("r", R, "1", |n| (format!("cat('out{n}\\n'); message('err{n}')"), both_streams(n))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lua_at_random_long_run() {
    at_random("lua", LUA, "1", |n| (format!("print('out{n}') io.stderr:write('err{n}\\n')"), both_streams(n))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_at_random_long_run() {
    at_random("sqlite3", SQLITE, "select 1;", |n| {
        (format!("select 'out{n}';\n.shell echo err{n} >&2"), both_streams(n))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ruby_at_random_long_run() {
    at_random("ruby", RUBY, "1", |n| (format!("puts 'out{n}'; warn 'err{n}'"), both_streams(n))).await;
}
