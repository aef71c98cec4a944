//! Events of hooks that failed open because no daemon decided on them. The next daemon moves them from a small file to the journal.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use project::{Project, private};
use serde::{Deserialize, Serialize};

use crate::Event;
use crate::agents::{Agent, Rendered, Verdict};
use crate::journal::{Line, Raw};
use crate::policy::Facts;

/// The file in the project's state, its maximum size in bytes, and that of a payload in it.
const FILE: &str = "hooks-missed.jsonl";
const BYTES_MAX: u64 = 256 * 1024;
const RAW_MAX: usize = 16 * 1024;

/// A missed event.
#[derive(Debug, Serialize, Deserialize)]
pub struct Missed {
    at_ms: u64,
    agent: String,
    named: String,
    cwd: PathBuf,
    raw: Raw,
    why: String,
}

/// Records an event if there is room. A project without state gets none.
pub fn note(project: &Project, agent: Agent, named: &str, cwd: &Path, raw: &[u8], why: &str) -> io::Result<()> {
    if !project.state_dir().is_dir() {
        return Ok(());
    }
    let raw = if raw.len() <= RAW_MAX { raw.to_vec() } else { Vec::new() };
    let missed = Missed {
        at_ms: project::journal::now(),
        agent: agent.name().to_owned(),
        named: named.to_owned(),
        cwd: cwd.to_owned(),
        raw: Raw::new(raw),
        why: why.to_owned(),
    };
    let mut text = serde_json::to_vec(&missed)?;
    text.push(b'\n');
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let path = project.state_dir().join(FILE);
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(nofollow).open(path)?;
    if file.metadata()?.len() + text.len() as u64 <= BYTES_MAX { file.write_all(&text) } else { Ok(()) }
}

/// Removes and returns the recorded events.
pub(crate) fn take(project: &Project) -> Vec<Missed> {
    let path = project.state_dir().join(FILE);
    if path.symlink_metadata().is_err() {
        return Vec::new();
    }
    let text = private::read(&path, BYTES_MAX).ok().flatten().unwrap_or_default();
    // An event between the read and the removal is lost, like one without room.
    let _ = fs::remove_file(&path);
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

impl Missed {
    /// Converts it to a line of the journal.
    pub(crate) fn line(self, worktree: &Path) -> Line {
        let agent = Agent::named(&self.agent).unwrap_or(Agent::Claude);
        let event: Event = crate::read(agent, &self.named, &self.raw.bytes().unwrap_or_default());
        Line {
            number: 0,
            at_ms: self.at_ms,
            agent: self.agent,
            event: event.name,
            kind: event.kind,
            named: self.named,
            session: event.session,
            cwd: self.cwd,
            worktree: worktree.to_owned(),
            raw: self.raw,
            facts: Facts::new(),
            policy: String::new(),
            matched: Vec::new(),
            verdict: Verdict::Pass,
            rule: None,
            answer: Rendered::default(),
            added: Vec::new(),
            outcome: None,
            missed: Some(self.why),
            micros: 0,
        }
    }
}
