//! A real Erlang VM for tests: one per test process, kept running, which receives modules as bytes. It loads and runs
//! them, reads their chunks, disassembles them and validates their assembly, many in one request. Start with
//! [`Otp::start`].

use parking_lot::Mutex;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use crate::has_program;

/// The VM. Dropping it stops the VM.
#[derive(Debug)]
pub struct Otp {
    pipes: Mutex<(ChildStdin, ChildStdout)>,
    child: Mutex<Child>,
    _directory: TempDir,
}

/// A program to run.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The modules: names and BEAM files. A module already loaded with the same bytes is not loaded again.
    pub modules: &'a [(String, Vec<u8>)],
    /// The module of the function to call.
    pub module: &'a str,
    /// The function to call, which takes no arguments.
    pub function: &'a str,
    /// The program's standard input, line by line.
    pub input: &'a str,
}

/// The result of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The value, or the reason of the error, as Erlang prints it on one line. A module that does not load and a
    /// program that does not terminate are errors too.
    pub result: Result<String, String>,
    pub output: String,
}

/// The timeout of a program, in milliseconds.
const PATIENCE: u32 = 60_000;

impl Otp {
    /// Starts the VM. Returns `None` if Erlang is not installed; the test is then reported as skipped.
    pub fn start() -> Option<Otp> {
        if !has_program("erl") {
            return None;
        }
        let directory = TempDir::new().expect("a directory for the driver");
        let driver = directory.path().join("driver.erl");
        std::fs::write(&driver, include_str!("driver.erl")).expect("the driver is written");
        let compile = format!(
            "{{ok, M, B}} = compile:file({:?}, [binary, report]), {{module, M}} = code:load_binary(M, \"driver\", B), M:start().",
            driver.display().to_string()
        );
        let mut child = Command::new("erl")
            // One scheduler: programs run one after the other, and timers fire in the order of their deadlines.
            .args(["+S", "1:1", "-noshell", "-noinput", "-kernel", "logger_level", "none", "-eval", &compile])
            .current_dir(directory.path())
            .env("ERL_CRASH_DUMP_SECONDS", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("erl starts");
        let pipes = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Some(Otp { pipes: Mutex::new(pipes), child: Mutex::new(child), _directory: directory })
    }

    /// Runs a function that takes no arguments.
    pub fn run(&self, modules: &[(String, Vec<u8>)], module: &str, function: &str) -> Outcome {
        let job = Job { modules, module, function, input: "" };
        self.run_all(&[job]).remove(0)
    }

    /// Runs several programs, one after the other.
    pub fn run_all(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        let mut request = Request::new(b'r', jobs.len());
        for job in jobs {
            request.number(job.modules.len() as u32);
            for (name, beam) in job.modules {
                request.bytes(name.as_bytes());
                request.bytes(beam);
            }
            request.number(PATIENCE);
            [job.module, job.function, job.input].into_iter().for_each(|text| request.bytes(text.as_bytes()));
        }
        let outcome = |(status, result, output): (u8, String, String)| Outcome {
            result: match status {
                0 => Ok(result),
                2 => Err(format!("not loaded: {result}")),
                _ => Err(result),
            },
            output,
        };
        self.answers(request, jobs.len()).into_iter().map(outcome).collect()
    }

    /// Validates texts of assembly with Erlang's validator.
    pub fn validate(&self, assembly: &[&str]) -> Vec<Result<(), String>> {
        let mut request = Request::new(b'v', assembly.len());
        assembly.iter().for_each(|text| request.bytes(text.as_bytes()));
        let verdict = |(status, said, _): (u8, String, String)| if status == 0 { Ok(()) } else { Err(said) };
        self.answers(request, assembly.len()).into_iter().map(verdict).collect()
    }

    /// Reads every chunk of BEAM files with `beam_lib`; returns their names.
    pub fn chunks(&self, files: &[&[u8]]) -> Vec<Result<String, String>> {
        let mut request = Request::new(b'c', files.len());
        files.iter().for_each(|file| request.bytes(file));
        let verdict = |(status, said, _): (u8, String, String)| if status == 0 { Ok(said) } else { Err(said) };
        self.answers(request, files.len()).into_iter().map(verdict).collect()
    }

    /// Disassembles BEAM files with `beam_disasm`: a line for each instruction, below a line `name/arity:`.
    pub fn disassemble(&self, files: &[&[u8]]) -> Vec<Result<String, String>> {
        let mut request = Request::new(b'd', files.len());
        files.iter().for_each(|file| request.bytes(file));
        let verdict = |(status, said, _): (u8, String, String)| if status == 0 { Ok(said) } else { Err(said) };
        self.answers(request, files.len()).into_iter().map(verdict).collect()
    }

    fn answers(&self, request: Request, count: usize) -> Vec<(u8, String, String)> {
        let mut pipes = self.pipes.lock();
        let (input, output) = &mut *pipes;
        let size = (request.0.len() as u32).to_be_bytes();
        input.write_all(&size).and_then(|()| input.write_all(&request.0)).expect("the VM takes the request");
        input.flush().expect("the VM takes the request");
        let mut size = [0; 4];
        output.read_exact(&mut size).expect("the VM answers");
        let mut answer = vec![0; u32::from_be_bytes(size) as usize];
        output.read_exact(&mut answer).expect("the VM answers");
        let mut rest = &answer[..];
        let text = |rest: &mut &[u8]| {
            let size = u32::from_be_bytes(rest[..4].try_into().expect("four bytes")) as usize;
            let text = String::from_utf8_lossy(&rest[4..4 + size]).into_owned();
            *rest = &rest[4 + size..];
            text
        };
        let mut one = |_| {
            let status = rest[0];
            rest = &rest[1..];
            (status, text(&mut rest), text(&mut rest))
        };
        (0..count).map(&mut one).collect()
    }
}

impl Drop for Otp {
    fn drop(&mut self) {
        let mut child = self.child.lock();
        // The VM exits when its input closes, but a program of a failed test may still run.
        let _ = child.kill();
        let _ = child.wait();
    }
}

struct Request(Vec<u8>);

impl Request {
    fn new(kind: u8, count: usize) -> Request {
        let mut request = Request(vec![kind]);
        request.number(count as u32);
        request
    }

    fn number(&mut self, number: u32) {
        self.0.extend(number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.0.extend(bytes);
    }
}
