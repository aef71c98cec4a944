//! Haskell means the same in a session as in a file. Pieces of code are given to a session in one evaluation each, and
//! to GHC in separate files. `pieces.txt` holds hand-written pieces, `generate` makes more: `HOB_STRESS_PIECES` sets
//! their number, `HOB_STRESS_SEED` repeats a run.

mod generate;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::stress::{Random, count};
use super::*;
use crate::result::Status;

const KEPT: &str = include_str!("pieces.txt");

/// A piece with its marks, see the head of `pieces.txt`.
#[derive(Debug, Clone)]
struct Piece {
    name: String,
    extensions: Vec<String>,
    lines: Vec<String>,
}

/// The outcome of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Printed(String),
    /// Output, then an exception.
    Exception(String),
    Refused,
}

fn fixed_pieces() -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for line in KEPT.lines() {
        if let Some(head) = line.strip_prefix("== ") {
            let (name, extensions) = head.split_once(" [").unwrap_or((head, ""));
            let extensions = extensions.trim_end_matches(']').split(", ").filter(|name| !name.is_empty());
            let extensions = extensions.map(str::to_owned).collect();
            pieces.push(Piece { name: name.to_owned(), extensions, lines: Vec::new() });
        } else if let Some(piece) = pieces.last_mut() {
            piece.lines.push(line.to_owned());
        }
    }
    pieces
}

impl Piece {
    /// Returns the code for a session.
    fn code(&self) -> String {
        let bare = |line: &String| {
            let marked = ["? ", "| ", "> ", "% "].iter().find_map(|mark| line.strip_prefix(mark));
            marked.unwrap_or(line).to_owned()
        };
        self.lines.iter().map(bare).collect::<Vec<_>>().join("\n")
    }

    /// Returns the file for GHC.
    fn file(&self, module: &str) -> String {
        let mut head = String::new();
        for extension in &self.extensions {
            let _ = writeln!(head, "{{-# LANGUAGE {extension} #-}}");
        }
        let mut body = String::new();
        let mut run: Vec<String> = Vec::new();
        // An expression is shown once its last line was seen.
        let mut shown = false;
        for line in &self.lines {
            if shown && !line.starts_with("| ") {
                run.push("    )".to_owned());
                shown = false;
            }
            match line.split_at_checked(2) {
                Some(("% ", line)) => {
                    let _ = writeln!(head, "{line}");
                }
                Some(("? ", line)) => {
                    run.push("  print (".to_owned());
                    run.push(format!("      {line}"));
                    shown = true;
                }
                Some(("| ", line)) if shown => run.push(format!("      {line}")),
                Some(("> ", line)) => run.push(format!("  {line}")),
                _ => {
                    let _ = writeln!(body, "{line}");
                }
            }
        }
        if shown {
            run.push("    )".to_owned());
        }
        run.push("  return ()".to_owned());
        // Indented statements set the margin for all.
        let margin = run.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let first = run.first().map_or(0, |line| line.len() - line.trim_start().len());
        let last = run.pop().unwrap_or_default();
        run.push(format!("{}{}", " ".repeat(first - margin), last));
        // Bindings of the piece may have any indentation, and so may the rest.
        let only_comment = |line: &str| {
            let line = line.trim();
            line.is_empty() || line.starts_with("--") || line.starts_with("{-") && line.ends_with("-}")
        };
        let first = body.lines().find(|line| !only_comment(line));
        let comment = |line: &str| line.strip_prefix("{-").and_then(|line| line.find("-} ")).map_or(0, |end| end + 5);
        let body_margin = first.map_or(0, |line| comment(line).max(line.len() - line.trim_start_matches(' ').len()));
        let pad = " ".repeat(body_margin);
        let run: String = run.iter().map(|line| format!("{pad}{line}\n")).collect();
        format!("{head}module {module} where\n{body}\n{pad}pieceMain :: Prelude.IO ()\n{pad}pieceMain = do\n{run}")
    }
}

/// Compiles and runs all these files with GHC.
fn by_file(pieces: &[Piece], directory: &Path) -> Vec<Outcome> {
    let mut script = String::new();
    for (n, piece) in pieces.iter().enumerate() {
        let module = format!("Piece{n}");
        std::fs::write(directory.join(format!("{module}.hs")), piece.file(&module)).expect("written");
        let run = "Control.Exception.try pieceMain Prelude.>>= Prelude.either (\\e -> System.IO.putStrLn (\"<raised>\" \
                   Prelude.++ Prelude.show (e :: Control.Exception.SomeException))) Prelude.return";
        let _ = writeln!(script, ":load {module}.hs\n:! echo '<compiled {n}>'\n{run}\n:! echo '<ran {n}>'");
    }
    std::fs::write(directory.join("script"), script).expect("written");
    let all = Command::new("sh")
        .args(["-c", "ghci -v1 -w -ignore-dot-ghci <script 2>/dev/null"])
        .current_dir(directory)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("GHCi");
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    let mut rest = all.as_str();
    let mut outcomes = Vec::new();
    for n in 0..pieces.len() {
        let (compiled, after) = rest.split_once(&format!("<compiled {n}>\n")).expect("the marker");
        let (ran, after) = after.split_once(&format!("<ran {n}>\n")).expect("the marker");
        rest = after;
        let ran = ran.replace("ghci> ", "");
        outcomes.push(match ran.split_once("<raised>") {
            _ if !compiled.contains("Ok, one module loaded.") => Outcome::Refused,
            Some((printed, _)) => Outcome::Exception(printed.to_owned()),
            None => Outcome::Printed(ran),
        });
    }
    outcomes
}

/// Evaluates one piece in a session.
async fn by_session(session: &Handle, piece: &Piece) -> (Outcome, EvalResult) {
    let set = |sign: &str| piece.extensions.iter().map(|name| format!(" -X{sign}{name}")).collect::<String>();
    if !piece.extensions.is_empty() {
        eval(session, &format!(":set{}", set(""))).await;
    }
    let request = EvalRequest { wait: LONG, ..EvalRequest::new(piece.code()) };
    let result = session.eval(request).await.unwrap_or_else(|error| panic!("{}: {error}", piece.name));
    let printed = unfolded(&result.stdout);
    let outcome = match result.status {
        Status::Done => Outcome::Printed(printed),
        Status::Error if result.exception.is_some() => Outcome::Exception(printed),
        Status::Error => Outcome::Refused,
        other => panic!("{}: {}", piece.name, other.name()),
    };
    let pragmas = "LambdaCase TupleSections MultiWayIf BinaryLiterals BangPatterns";
    let pragmas = pragmas.split(' ').map(|name| format!(" -XNo{name}"));
    eval(session, &format!(":set{}{}\n:load", set("No"), pragmas.collect::<String>())).await;
    (outcome, result)
}

/// Restores the output before equal lines were folded for the answer.
fn unfolded(stdout: &str) -> String {
    let mut text = String::new();
    let mut last = "";
    for line in stdout.split_inclusive('\n') {
        let times = line.strip_prefix("[the line above ").and_then(|rest| rest.strip_suffix(" more times]\n"));
        match times.and_then(|times| times.parse().ok()) {
            Some(times) => text.push_str(&last.repeat(times)),
            None => text.push_str(line),
        }
        last = line;
    }
    text
}

/// Describes the pieces whose meaning differs in a session.
async fn differences(pieces: &[Piece]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let expected = by_file(pieces, directory.path());
    let session = ghci();
    let mut wrong = Vec::new();
    for (piece, expected) in pieces.iter().zip(expected) {
        let (found, result) = by_session(&session, piece).await;
        // If a file is rejected, a session has run the code before the error.
        if found != expected {
            wrong.push(format!(
                "== {}\n{}\n-- in a file: {expected:?}\n-- in a session: {found:?}\n{}",
                piece.name,
                piece.code(),
                result.stderr
            ));
        }
    }
    session.stop("the test is over").await;
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kept_pieces_mean_what_they_mean_in_a_file() {
    let pieces = fixed_pieces();
    assert!(pieces.len() >= 300, "{}", pieces.len());
    let wrong = differences(&pieces).await;
    println!("{} pieces, {} differ", pieces.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_pieces_mean_what_they_mean_in_a_file_long_run() {
    let mut random = Random::seeded();
    let count = count("HOB_STRESS_PIECES", 60);
    let pieces: Vec<Piece> = (0..count).map(|n| generate::piece(&mut random, n)).collect();
    let wrong = differences(&pieces).await;
    println!("{count} pieces, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks odd pieces against the status that GHCi shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_pieces_have_the_status_that_ghci_shows() {
    let pieces: Vec<(&str, &str, String)> = include_str!("odd.txt")
        .split("\n== ")
        .skip(1)
        .map(|piece| {
            let (head, code) = piece.split_once('\n').expect("a head");
            let (status, words) = head.split_once(' ').expect("a status");
            (status, words, code.trim_end_matches('\n').to_owned())
        })
        .collect();
    assert!(pieces.len() >= 75, "{}", pieces.len());
    let session = ghci();
    let mut wrong = Vec::new();
    for (status, words, code) in &pieces {
        let result = eval(&session, code).await;
        let said = format!("{}{}{}", result.stdout, result.stderr, result.exception.clone().unwrap_or_default());
        let says = words.split('|').any(|word| said.to_lowercase().contains(&word.replace("\\n", "\n").to_lowercase()));
        if result.status.name() != *status || !says || (*status == "done" && result.exception.is_some()) {
            wrong.push(format!("{code}\n-- expected {status} {words}\n-- {}", line(&result)));
        }
        let next = eval(&session, "System.IO.hPutStrLn System.IO.stderr \"err\" >> return 7").await;
        // Warnings may be on.
        if (next.status, next.stdout.as_str()) != (Status::Done, "7\n") || !next.stderr.ends_with("err\n") {
            wrong.push(format!("after {code}: {}", line(&next)));
        }
        eval(&session, ":set -XNoTemplateHaskell -XNoUnboxedTuples -XNoLambdaCase -Wno-all\n:load").await;
    }
    println!("{} odd pieces, {} differ", pieces.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    session.stop("the test is over").await;
}
