//! An agent in its own terminal: tmux, keys sent to it, and its screen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use taskkit::until;

use super::stage::Stage;

/// Timeout for the effect of a key.
const AGAIN: Duration = Duration::from_secs(2);
/// Columns and lines, large enough for a form with every kind of field.
const SIZE: [&str; 4] = ["-x", "100", "-y", "50"];

/// A program in a terminal, which is killed when this is dropped.
pub(super) struct Terminal<'a> {
    stage: &'a Stage<'a>,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Starts the program with its arguments and environment.
    pub(super) fn start(stage: &'a Stage<'a>, program: &Command) -> Result<Self> {
        let terminal = Self { stage, socket: stage.home().join("tmux") };
        let mut tmux = terminal.tmux()?;
        tmux.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // The terminal of tmux itself; programs inside have tmux's own type.
        tmux.env("TERM", "xterm");
        tmux.args(["-f", "/dev/null", "new-session", "-d"]).args(SIZE).arg("--");
        tmux.arg(program.get_program()).args(program.get_args());
        let started = tmux.output().context("could not start tmux")?;
        if !started.status.success() {
            bail!("tmux: {}", String::from_utf8_lossy(&started.stderr));
        }
        Ok(terminal)
    }

    /// Presses a key by its tmux name, and waits until the text is shown. A program may read two quick keys as another key.
    pub(super) fn press(&self, key: &str, shown: &str) -> Result<()> {
        self.send(&[key])?;
        self.until(shown).map(drop).with_context(|| format!("after {key}"))
    }

    /// Presses a key until the text is no longer shown.
    pub(super) fn press_away(&self, key: &str, shown: &str) -> Result<()> {
        self.press_while(key, |screen| screen.contains(shown))
    }

    /// Presses a key while the screen matches. A screen that was just drawn may not accept keys yet.
    pub(super) fn press_while(&self, key: &str, is_there: impl Fn(&str) -> bool) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        let gone = until(&format!("what {key} ends"), || {
            if !is_there(&self.text()?) {
                return Ok(Some(()));
            }
            if pressed.is_none_or(|at| at.elapsed() > AGAIN) {
                self.send(&[key])?;
                pressed = Some(Instant::now());
            }
            Ok(None)
        });
        gone.with_context(|| format!("the screen shows {:?}", self.text()))
    }

    /// Types a text, and waits until the other text is shown.
    pub(super) fn enter(&self, text: &str, shown: &str) -> Result<()> {
        self.send(&["-l", text])?;
        self.until(shown).map(drop).with_context(|| format!("after {text:?}"))
    }

    /// Waits until the text is shown. Returns the screen.
    pub(super) fn until(&self, shown: &str) -> Result<String> {
        let mut last = String::new();
        let found = until(&format!("{shown:?}"), || {
            last = self.text()?;
            Ok(last.contains(shown).then_some(()))
        });
        found.with_context(|| format!("the screen shows {:?}", last.trim_end()))?;
        Ok(last)
    }

    /// Returns the text of the screen.
    pub(super) fn text(&self) -> Result<String> {
        let shown = self.tmux()?.args(["capture-pane", "-p"]).output().context("could not ask tmux")?;
        Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    fn send(&self, keys: &[&str]) -> Result<()> {
        let sent = self.tmux()?.arg("send-keys").args(keys).status().context("could not start tmux")?;
        if sent.success() { Ok(()) } else { bail!("the program at the terminal has ended") }
    }

    fn tmux(&self) -> Result<Command> {
        let mut tmux = self.stage.command(Path::new("tmux"))?;
        tmux.stdin(Stdio::null()).arg("-S").arg(&self.socket);
        Ok(tmux)
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        if let Ok(mut tmux) = self.tmux() {
            let _ = tmux.arg("kill-server").output();
        }
    }
}
