//! `cargo xtask bench faces`: 2,000 calls a second and 100 MB of output while `hob top` and `hob page` are open. Measures how
//! soon both faces are current after the end, the daemon's memory, and the calls beside the faces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use taskkit::until;
use taskkit::workspace::KillOnDrop;

use super::echo::daemon_pid;
use super::procfs::Memory;
use super::report::{self, Figure, Target};
use super::{Bench, Samples, programs};
use crate::client::Client;

/// The calls of one beat, and the time until the next: 2,000 a second.
const BEAT: (usize, Duration) = (20, Duration::from_millis(10));
const SECONDS: usize = 10;
const OUTPUT_MB: usize = 100;

pub(super) fn run(is_quick: bool) -> Result<()> {
    let bench = Bench::new(programs()?, is_quick)?;
    let figures = measure(&bench);
    bench.stop()?;
    report::publish(&report::ALL, &figures?, false).map(drop)
}

fn measure(bench: &Bench) -> Result<Vec<Figure>> {
    let mut agent = Client::start(&mut bench.hob(&["mcp"]))?;
    agent.succeed("repl_start", json!({ "session": "loud", "profile": "bash", "wait_ms": 20_000 }))?;
    let (daemon, beats) = (daemon_pid(bench)?, bench.times(SECONDS) * 100);
    let alone = calls(&mut agent, beats)?;
    let top = Top::open(bench)?;
    let page = Page::open(bench)?;
    let activity = page.follow("activity")?;
    top.press(&["6"])?;
    // What the faces cost at all is not growth.
    calls(&mut agent, 100)?;
    let before = Memory::read(daemon)?.resident;
    let mut beside = calls(&mut agent, beats / 2)?;
    let halfway = Memory::read(daemon)?.resident;
    beside.0.extend(calls(&mut agent, beats / 2)?.0);
    let after_load = Memory::read(daemon)?.resident;
    agent.call("repl_read", json!({ "session": "mark-of-calls" }))?;
    let after_calls = current(&top, &activity, "mark-of-calls")?;
    let after_rush = Memory::read(daemon)?.resident;

    top.press(&["3", "Enter"])?;
    let rows = page.get("sessions")?;
    let (_, address) = rows.split_once("session?id=").context("the session is listed")?;
    let address = format!("session?id={}", address.split('#').next().unwrap_or_default());
    let session = page.follow(&address)?;
    let code = format!(
        "head -c {} /dev/zero | tr '\\0' x | fold -w 99; echo; echo mark-of-output",
        bench.times(OUTPUT_MB) * 1_000_000
    );
    let begun = Instant::now();
    agent.succeed("repl_eval", json!({ "session": "loud", "code": code, "wait_ms": 100_000 }))?;
    let took = begun.elapsed();
    let after_output = current(&top, &session, "mark-of-output")?;
    let after_all = Memory::read(daemon)?.resident;
    agent.finish()?;

    let figure = |what: &str, unit, value, floor, target| Figure { what: what.to_owned(), unit, value, floor, target };
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let second = Some(Target::Max(1000.0));
    Ok(vec![
        figure("`hob top` is current after the last of 2,000 calls a second", "ms", ms(after_calls[0]), None, second),
        figure("`hob page` is current after the last of 2,000 calls a second", "ms", ms(after_calls[1]), None, second),
        figure("`hob top` is current after the output", "ms", ms(after_output[0]), None, second),
        figure("`hob page` is current after the output", "ms", ms(after_output[1]), None, second),
        figure("time for the output itself", "ms", ms(took), None, None),
        figure(
            "20 calls beside two faces, p50",
            "µs",
            beside.percentile(50),
            Some(("alone", alone.percentile(50))),
            Some(Target::MaxTimesFloor(1.5)),
        ),
        figure("the daemon's memory before the calls", "MiB", before, None, None),
        figure("the daemon's memory after half of the calls", "MiB", halfway, None, None),
        figure("the daemon's memory after all calls", "MiB", after_load, None, None),
        figure(
            "the daemon grew in the second half of the calls",
            "MiB",
            after_load - halfway,
            None,
            Some(Target::Max(2.0)),
        ),
        figure("the daemon grew during the calls", "MiB", after_rush - before, None, Some(Target::Max(8.0))),
        figure("the daemon grew during calls and output", "MiB", after_all - before, None, Some(Target::Max(32.0))),
    ])
}

/// Makes calls in beats, and returns how long each beat took. A late beat does not delay the next.
fn calls(agent: &mut Client, beats: usize) -> Result<Samples> {
    let (mut samples, begun) = (Samples::default(), Instant::now());
    for beat in 0..beats {
        std::thread::sleep((begun + BEAT.1 * beat as u32).saturating_duration_since(Instant::now()));
        let at = Instant::now();
        let ids: Vec<u64> = (0..BEAT.0).map(|_| agent.begin_call("repl_list", json!({}))).collect::<Result<_>>()?;
        for id in ids {
            agent.answer(id)?;
        }
        samples.push(at.elapsed());
    }
    Ok(samples)
}

/// Waits until both faces show a text, and returns how long each took.
fn current(top: &Top, page: &Mutex<String>, text: &str) -> Result<[Duration; 2]> {
    let (begun, mut times) = (Instant::now(), [None, None]);
    until(text, || {
        let shows = [top.text()?.contains(text), page.lock().is_ok_and(|page| page.contains(text))];
        for (time, shows) in times.iter_mut().zip(shows) {
            *time = time.or(shows.then(|| begun.elapsed()));
        }
        Ok(if let [Some(top), Some(page)] = times { Some([top, page]) } else { None })
    })
}

/// `hob top` in a terminal of tmux.
struct Top(std::path::PathBuf);

impl Top {
    fn open(bench: &Bench) -> Result<Top> {
        let top = Top(bench.dir().join("tmux"));
        let (dir, hob) = (bench.dir().display().to_string(), bench.programs.join("hob").display().to_string());
        top.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "140",
            "-y",
            "40",
            "-c",
            &dir,
            &format!("'{hob}' top"),
        ])?;
        until("hob top", || Ok(top.text()?.contains("q quits").then_some(())))?;
        Ok(top)
    }

    fn press(&self, keys: &[&str]) -> Result<()> {
        self.tmux(&[&["send-keys"], keys].concat()).map(drop)
    }

    fn text(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    fn tmux(&self, args: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        let output =
            tmux.env("TERM", "xterm").arg("-S").arg(&self.0).args(args).output().context("tmux is not installed")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// `hob page`, and a browser that opened it.
struct Page {
    _process: KillOnDrop,
    host: String,
    folder: String,
    cookie: String,
}

impl Page {
    fn open(bench: &Bench) -> Result<Page> {
        let (process, _, stdout) = KillOnDrop::piped(&mut bench.hob(&["page"]))?;
        let mut link = String::new();
        BufReader::new(stdout).read_line(&mut link)?;
        let (host, path) = link.trim().trim_start_matches("http://").split_once('/').context("a link")?;
        let mut page = Page { _process: process, host: host.to_owned(), folder: "/".to_owned(), cookie: String::new() };
        let head = page.get(path)?;
        let header =
            |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned).context("a header");
        (page.folder, page.cookie) = (header("location: ")?, header("set-cookie: ")?);
        Ok(page)
    }

    fn request(&self, address: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        let cookie = self.cookie.split(';').next().unwrap_or_default();
        write!(
            stream,
            "GET {}{address} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
            self.folder, self.host
        )?;
        Ok(stream)
    }

    fn get(&self, address: &str) -> Result<String> {
        let mut text = String::new();
        self.request(address)?.read_to_string(&mut text)?;
        if text.is_empty() { bail!("no answer for {address}") } else { Ok(text) }
    }

    /// Follows the changes of a page, and keeps the latest.
    fn follow(&self, address: &str) -> Result<Arc<Mutex<String>>> {
        let escaped: String = address.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let (stream, latest) = (self.request(&format!("live?of={escaped}"))?, Arc::<Mutex<String>>::default());
        let kept = latest.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with("data: ")) {
                if let Ok(mut kept) = kept.lock() {
                    *kept = line;
                }
            }
        });
        Ok(latest)
    }
}
