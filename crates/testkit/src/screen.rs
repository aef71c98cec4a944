//! A terminal for tests: runs a program in tmux, presses keys and reads the screen.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{TestProject, until};

/// A program in a separate terminal, 80 columns wide and 24 lines high. Dropping it closes the terminal.
pub struct Screen<'a> {
    project: &'a TestProject,
    socket: PathBuf,
}

impl<'a> Screen<'a> {
    /// Runs a shell command line in a terminal. Its output stays on the screen.
    ///
    /// # Panics
    /// If tmux cannot be started.
    pub fn run(project: &'a TestProject, line: &str) -> Screen<'a> {
        static SCREENS: AtomicUsize = AtomicUsize::new(0);
        let number = SCREENS.fetch_add(1, Ordering::Relaxed);
        let socket = project.top().join(format!("tmux-{number}"));
        let screen = Screen { project, socket };
        // The shell outlives a Ctrl-C that is meant for the program.
        let line = format!("trap : INT; {line}; echo \"ended with $?\"; exec cat");
        // `--norc`-like isolation: a shell would read the user's startup files.
        let started = screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", &line]);
        assert!(started.0, "tmux starts: {}", started.1);
        screen
    }

    /// Presses keys, as tmux names them: `y`, `Enter`, `Tab`, `C-s`.
    pub fn press(&self, keys: &[&str]) {
        let pressed = self.tmux(&[&["send-keys", "-t", ":0"], keys].concat());
        assert!(pressed.0, "keys: {}", pressed.1);
    }

    /// Types a text.
    pub fn type_text(&self, text: &str) {
        self.press(&["-l", text]);
    }

    /// Returns the current text of the screen.
    pub fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", ":0"]).1
    }

    /// Waits until the screen shows a text, and returns the whole screen.
    pub fn until(&self, shown: &str) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(shown, || {
                last = self.text();
                last.contains(shown).then_some(())
            });
        }));
        assert!(found.is_ok(), "{shown:?} did not come; the screen shows:\n{last}");
        last
    }

    fn tmux(&self, args: &[&str]) -> (bool, String) {
        let mut tmux: Command = self.project.command("tmux");
        tmux.env("TERM", "xterm").env_remove("NO_COLOR").stdin(Stdio::null());
        let ran = tmux.arg("-S").arg(&self.socket).args(args).output();
        let ran = ran.unwrap_or_else(|error| panic!("tmux: {error}"));
        let text = [ran.stdout, ran.stderr].concat();
        (ran.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}
