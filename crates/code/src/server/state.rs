//! How a server is: one closed set of states, and what its own signals say.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::profile::Signal;

/// How a server is. None of these is ever an empty list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// No program of this kind was found.
    Absent,
    /// Switched off by a setting.
    Disabled,
    /// It would run code of a project that the person does not trust.
    NotTrusted,
    /// The program is up and has not said hello.
    Starting,
    Loading {
        percent: Option<u8>,
    },
    /// Its own signal says so, and it answered what is known.
    Ready,
    /// Its own signal says so, and what is known it does not answer.
    Doubtful,
    /// Ended to save memory; the next question starts it.
    Parked,
    /// It ended before it said hello, or was not started at all: with the lines of its standard error. Treated as not installed.
    CannotStart {
        exit: Option<String>,
        stderr: Vec<String>,
    },
    /// The last lines of its standard error, and when it is started again; never by itself if that is `None`.
    Crashed {
        exit: String,
        stderr: Vec<String>,
        retry_in: Option<Duration>,
    },
    /// It was killed, as it neither answered nor computed.
    Hung {
        retry_in: Option<Duration>,
    },
    /// It needs more memory alone than all servers may have.
    OverBudget,
}

impl State {
    pub(crate) fn word(&self) -> &'static str {
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

    pub(crate) fn percent(&self) -> Option<u8> {
        match self {
            State::Loading { percent } => *percent,
            _ => None,
        }
    }

    /// Whether waiting may change it.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            State::Absent | State::Disabled | State::NotTrusted | State::OverBudget | State::CannotStart { .. } => {
                false
            }
            State::Starting | State::Loading { .. } | State::Ready | State::Doubtful | State::Parked => true,
            State::Crashed { retry_in, .. } | State::Hung { retry_in } => retry_in.is_some(),
        }
    }
}

/// Whether its program is up.
impl State {
    pub(crate) fn is_up(&self) -> bool {
        matches!(self, State::Starting | State::Loading { .. } | State::Ready | State::Doubtful)
    }
}

/// A progress of which nothing was heard for this long is forgotten: clangd never ends one if a file is deleted meanwhile. What
/// is known for certain decides then.
const FORGOTTEN: Duration = Duration::from_secs(5);

/// The first lines of a message, in one.
fn first_lines(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    project::visible(&lines.join(" / ").chars().take(300).collect::<String>())
}

/// What the server itself says of its loading.
#[derive(Debug)]
pub(crate) struct Signals {
    of: Signal,
    /// The progress that runs, by token: the title, and how far it is.
    running: HashMap<String, (String, Option<u8>)>,
    /// Whether what the profile waits for was seen to begin, and when it was last heard of.
    began: bool,
    heard: Instant,
    said_ready: bool,
    trouble: Option<String>,
}

impl Signals {
    pub(crate) fn new(of: &Signal) -> Signals {
        Signals {
            of: of.clone(),
            running: HashMap::new(),
            began: false,
            heard: Instant::now(),
            said_ready: false,
            trouble: None,
        }
    }

    /// Hears a notification; whether it matters.
    pub(crate) fn hear(&mut self, method: &str, params: &Value) -> bool {
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

    /// Whether it says that it is ready, as far as it says anything.
    pub(crate) fn says_ready(&self) -> bool {
        match &self.of {
            Signal::None => true,
            Signal::Status => self.said_ready,
            Signal::Progress(_) => {
                let runs = self.running.iter().any(|(token, (title, _))| self.is_meant(token, title));
                !runs || self.heard.elapsed() >= FORGOTTEN
            }
        }
    }

    /// What it says that it could not load, if anything.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether it has nothing to report that the profile waits for: then only what is known tells.
    pub(crate) fn has_begun(&self) -> bool {
        self.began || self.said_ready
    }

    pub(crate) fn percent(&self) -> Option<u8> {
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
        status.hear("experimental/serverStatus", &json!({"health": "ok", "quiescent": true}));
        assert!(status.says_ready());
        status.hear("experimental/serverStatus", &json!({"health": "ok", "quiescent": false}));
        assert!(!status.says_ready() && status.trouble().is_none());
        let failed = json!({"health": "error", "quiescent": true, "message": "Failed to load workspaces.\n\nno"});
        status.hear("experimental/serverStatus", &failed);
        assert_eq!(status.trouble(), Some("Failed to load workspaces. / no"));

        let mut progress = Signals::new(&Signal::Progress("Setting up workspace".to_owned()));
        assert!(progress.says_ready() && !progress.has_begun());
        let say = |kind: &str, more: Value| {
            let mut value = json!({"kind": kind});
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"token": 7, "value": value})
        };
        progress.hear("$/progress", &say("begin", json!({"title": "Setting up workspace", "percentage": 3})));
        assert!(!progress.says_ready() && progress.percent() == Some(3));
        progress.hear("$/progress", &say("report", json!({"percentage": 40})));
        assert_eq!(progress.percent(), Some(40));
        progress.hear("$/progress", &say("end", json!({})));
        assert!(progress.says_ready() && progress.has_begun());
    }
}
