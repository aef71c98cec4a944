//! Runs the table of odd input. With `UPDATE_EXPECT=1` the in-memory run writes the output into the table.

use std::fmt::Write as _;
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;

use super::{ConnectionOptions, everything, example, serve_pieces};
use crate::transport::unix;

const TABLE: &str = include_str!("../odd_input.md");

/// Longer input is not cut at every byte, which would take too long.
const CUT: usize = 4096;

pub(crate) struct Case {
    /// The title in the table.
    pub about: String,
    pub input: Vec<u8>,
    pub output: String,
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut about = String::new();
    let mut blocks = TABLE.split("```text\n");
    let mut before = blocks.next().unwrap_or_default();
    for block in blocks {
        let (body, after) = block.split_once("```\n").expect("every block is closed");
        before.trim().lines().last().unwrap_or_default().clone_into(&mut about);
        let (mut input, mut output) = (Vec::new(), String::new());
        for line in body.lines() {
            match line.split_at(line.find(' ').unwrap_or(line.len())) {
                (">", text) => input.extend_from_slice(format!("{}\n", &text[1..]).as_bytes()),
                (">>", text) => input.extend(unescaped(&text[1..])),
                ("<", text) => output.extend([&text[1..], "\n"]),
                _ => panic!("not a line of a table: {line}"),
            }
        }
        cases.push(Case { about: about.clone(), input, output });
        before = after;
    }
    cases
}

fn unescaped(text: &str) -> Vec<u8> {
    let (text, times) = match text.rsplit_once(" * ") {
        Some((text, times)) => (text, times.parse().expect("a number")),
        None => (text, 1),
    };
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (byte, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => {
                rest = tail;
                let digits = [*high, *low];
                u8::from_str_radix(std::str::from_utf8(&digits).expect("ASCII"), 16).expect("two digits")
            }
            (b'\\', [b'n', tail @ ..]) => {
                rest = tail;
                b'\n'
            }
            (b'\\', [b'r', tail @ ..]) => {
                rest = tail;
                b'\r'
            }
            (b'\\', [b't', tail @ ..]) => {
                rest = tail;
                b'\t'
            }
            (b'\\', [b'\\', tail @ ..]) => {
                rest = tail;
                b'\\'
            }
            _ => *byte,
        });
    }
    bytes.repeat(times)
}

/// Replaces random ids.
pub(crate) fn settled(output: &str) -> String {
    let mut settled = String::new();
    let mut rest = output;
    while let Some((at, mark)) =
        ["(fault ", "\"fault\":\""].iter().filter_map(|mark| Some((rest.find(mark)?, mark))).min()
    {
        let (before, after) = rest.split_at(at + mark.len());
        settled.push_str(before);
        settled.push_str("FAULT");
        rest = &after[8..];
    }
    settled + rest
}

impl Case {
    /// Returns true if the case starts programs that print, which would be noise within the test's own process.
    pub(crate) fn prints(&self) -> bool {
        self.about.starts_with("What is printed")
    }
}

#[track_caller]
fn check(case: &Case, output: &str, how: &str) {
    let output = settled(output);
    assert!(output == case.output, "{} ({how})\nexpected:\n{}\ngot:\n{output}", case.about, case.output);
}

#[tokio::test(start_paused = true)]
async fn in_memory() {
    let server = everything();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut outputs = Vec::new();
        for case in cases() {
            outputs.push(serve_pieces(&server, vec![case.input], ConnectionOptions::default()).await);
        }
        update(&outputs);
        return;
    }
    for case in cases().into_iter().filter(|case| !case.prints()) {
        let output = serve_pieces(&server, vec![case.input.clone()], ConnectionOptions::default()).await;
        check(&case, &output, "in one piece");
    }
}

fn update(outputs: &[String]) {
    let mut table = String::new();
    let mut blocks = TABLE.split("```text\n");
    table.push_str(blocks.next().unwrap_or_default());
    for (block, output) in blocks.zip(outputs) {
        let (body, after) = block.split_once("```\n").expect("every block is closed");
        table.push_str("```text\n");
        body.lines().filter(|line| !line.starts_with('<')).for_each(|line| table.extend([line, "\n"]));
        settled(output).lines().for_each(|line| writeln!(table, "< {line}").expect("a string takes all"));
        table.extend(["```\n", after]);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/odd_input.md");
    std::fs::write(path, table).expect("the table is writable");
}

#[tokio::test(start_paused = true)]
async fn cut_at_every_byte_long_run() {
    let server = everything();
    for case in cases().iter().filter(|case| case.input.len() <= CUT && !case.prints()) {
        for at in 1..case.input.len() {
            let (head, tail) = case.input.split_at(at);
            let pieces = vec![head.to_vec(), tail.to_vec()];
            check(case, &serve_pieces(&server, pieces, ConnectionOptions::default()).await, &format!("cut at {at}"));
        }
        let bytes = case.input.chunks(1).map(<[u8]>::to_vec).collect();
        check(case, &serve_pieces(&server, bytes, ConnectionOptions::default()).await, "byte by byte");
    }
}

#[tokio::test]
async fn on_the_standard_streams_of_a_process() {
    for case in cases() {
        let mut child = Command::new(example("everything"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example runs");
        let (mut stdin, mut stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let input = case.input.clone();
        let writing = tokio::spawn(async move { stdin.write_all(&input).await });
        let mut output = String::new();
        stdout.read_to_string(&mut output).await.expect("output is UTF-8");
        writing.await.expect("no panic").expect("all input was read");
        check(&case, &output, "standard streams");
        assert!(child.wait().await.expect("it was ours").success());
    }
}

#[tokio::test]
async fn on_a_unix_socket() {
    for case in cases().into_iter().filter(|case| !case.prints()) {
        let (client, ours) = UnixStream::pair().expect("a socket pair");
        let server = everything();
        let served = tokio::spawn(async move { unix::serve(&server, ours, ConnectionOptions::default()).await });
        let (mut reader, mut writer) = client.into_split();
        let input = case.input.clone();
        let writing = tokio::spawn(async move { writer.write_all(&input).await });
        let mut output = String::new();
        reader.read_to_string(&mut output).await.expect("output is UTF-8");
        writing.await.expect("no panic").expect("all input was read");
        check(&case, &output, "Unix socket");
        served.await.expect("no panic");
    }
}
