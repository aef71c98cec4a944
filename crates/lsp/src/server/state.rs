//! The states of a server, and the signals it sends while loading.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::profile::Signal;

/// State of a server. A state without a server is never reported as an empty list of uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// No program of this kind was found.
    Absent,
    /// Disabled in the settings.
    Disabled,
    /// It would run code of an untrusted project.
    NotTrusted,
    /// The program runs but has not completed `initialize`.
    Starting,
    Loading {
        percent: Option<u8>,
    },
    /// It reports that it is ready, and it answered the readiness probes correctly.
    Ready,
    /// It reports that it is ready, but it fails the readiness probes.
    Doubtful,
    /// Stopped to save memory. The next question starts it.
    Parked,
    /// It exited before it completed `initialize`, or failed to start; with the last lines of standard error. Treated as not installed.
    CannotStart {
        exit: Option<String>,
        stderr: Vec<String>,
    },
    /// The last lines of its standard error, and the time of the next restart; `None` if it is not restarted automatically.
    Crashed {
        exit: String,
        stderr: Vec<String>,
        retry_in: Option<Duration>,
    },
    /// It was killed because it neither answered nor used the processor.
    Hung {
        retry_in: Option<Duration>,
    },
    /// It alone needs more memory than the budget of all servers.
    OverBudget,
}

impl State {
    pub fn word(&self) -> &'static str {
        match self {
            State::Absent => "absent",
            State::Disabled => "disabled",
            State::NotTrusted => "not_trusted",
            State::Starting => "starting",
            State::Loading { .. } => "loading",
            State::Ready => "ready",
            State::Doubtful => "doubtful",
            State::Parked => "parked",
            State::CannotStart { .. } => "cannot_start",
            State::Crashed { .. } => "crashed",
            State::Hung { .. } => "hung",
            State::OverBudget => "over_budget",
        }
    }

    pub fn percent(&self) -> Option<u8> {
        match self {
            State::Loading { percent } => *percent,
            _ => None,
        }
    }

    /// True if waiting may change the state.
    pub fn may_pass(&self) -> bool {
        match self {
            State::Absent | State::Disabled | State::NotTrusted | State::OverBudget | State::CannotStart { .. } => {
                false
            }
            State::Starting | State::Loading { .. } | State::Ready | State::Doubtful | State::Parked => true,
            State::Crashed { retry_in, .. } | State::Hung { retry_in } => retry_in.is_some(),
        }
    }

    /// True if its program is running.
    pub fn is_up(&self) -> bool {
        matches!(self, State::Starting | State::Loading { .. } | State::Ready | State::Doubtful)
    }
}

/// Progress without reports for this long is discarded, because clangd never ends one for a file that was deleted. The
/// readiness probes then decide.
const FORGOTTEN: Duration = Duration::from_secs(5);

/// Joins the first lines of a message into one.
fn first_lines(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    project::visible(&lines.join(" / ").chars().take(300).collect::<String>())
}

/// The server's own reports about its loading.
#[derive(Debug)]
pub(super) struct Signals {
    of: Signal,
    /// Progress in flight, by token: the title and the percentage.
    running: HashMap<String, (String, Option<u8>)>,
    /// True if the awaited progress was seen to begin; and the time of its last report.
    began: bool,
    heard: Instant,
    said_ready: bool,
    trouble: Option<String>,
}

impl Signals {
    pub(super) fn new(of: &Signal) -> Signals {
        Signals {
            of: of.clone(),
            running: HashMap::new(),
            began: false,
            heard: Instant::now(),
            said_ready: false,
            trouble: None,
        }
    }

    /// Processes a notification. Returns true if it is relevant.
    pub(super) fn process_notification(&mut self, method: &str, params: &Value) -> bool {
        match method {
            "experimental/serverStatus" => {
                self.said_ready = params["quiescent"].as_bool().unwrap_or_default();
                let message = params["message"].as_str().map(first_lines);
                self.trouble = match params["health"].as_str() {
                    Some("error") => message.or_else(|| Some("it is in trouble".to_owned())),
                    Some("warning") => message,
                    _ => None,
                };
                true
            }
            "$/progress" => self.progress(params),
            _ => false,
        }
    }

    fn progress(&mut self, params: &Value) -> bool {
        let token = match &params["token"] {
            Value::String(token) => token.clone(),
            other => other.to_string(),
        };
        let value = &params["value"];
        let percent = value["percentage"].as_u64().and_then(|percent| u8::try_from(percent.min(100)).ok());
        self.heard = Instant::now();
        match value["kind"].as_str() {
            Some("begin") => {
                let title = value["title"].as_str().unwrap_or_default().to_owned();
                self.began |= self.is_meant(&token, &title);
                self.running.insert(token, (title, percent));
            }
            Some("report") => {
                if let Some((_, known)) = self.running.get_mut(&token) {
                    *known = percent.or(*known);
                }
            }
            Some("end") => {
                self.running.remove(&token);
            }
            _ => return false,
        }
        true
    }

    fn is_meant(&self, token: &str, title: &str) -> bool {
        matches!(&self.of, Signal::Progress(wanted) if wanted == token || wanted == title)
    }

    /// True if the server reports that it is ready, or reports nothing at all.
    pub(super) fn says_ready(&self) -> bool {
        match &self.of {
            Signal::None => true,
            Signal::Status => self.said_ready,
            Signal::Progress(_) => {
                let runs = self.running.iter().any(|(token, (title, _))| self.is_meant(token, title));
                !runs || self.heard.elapsed() >= FORGOTTEN
            }
        }
    }

    /// Returns the server's message about its failure to load the project.
    pub(super) fn load_failure(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// True if the awaited progress has begun, or the profile awaits none. In the latter case only the probes show readiness.
    pub(super) fn has_begun(&self) -> bool {
        self.began || self.said_ready
    }

    pub(super) fn percent(&self) -> Option<u8> {
        self.running.values().filter_map(|(_, percent)| *percent).min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_says_of_its_loading() {
        let mut status = Signals::new(&Signal::Status);
        assert!(!status.says_ready());
        status.process_notification("experimental/serverStatus", &json!({"health": "ok", "quiescent": true}));
        assert!(status.says_ready());
        status.process_notification("experimental/serverStatus", &json!({"health": "ok", "quiescent": false}));
        assert!(!status.says_ready() && status.load_failure().is_none());
        let failed = json!({"health": "error", "quiescent": true, "message": "Failed to load workspaces.\n\nno"});
        status.process_notification("experimental/serverStatus", &failed);
        assert_eq!(status.load_failure(), Some("Failed to load workspaces. / no"));

        let mut progress = Signals::new(&Signal::Progress("Setting up workspace".to_owned()));
        assert!(progress.says_ready() && !progress.has_begun());
        let say = |kind: &str, more: Value| {
            let mut value = json!({"kind": kind});
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"token": 7, "value": value})
        };
        progress.process_notification(
            "$/progress",
            &say("begin", json!({"title": "Setting up workspace", "percentage": 3})),
        );
        assert!(!progress.says_ready() && progress.percent() == Some(3));
        progress.process_notification("$/progress", &say("report", json!({"percentage": 40})));
        assert_eq!(progress.percent(), Some(40));
        progress.process_notification("$/progress", &say("end", json!({})));
        assert!(progress.says_ready() && progress.has_begun());
    }
}
