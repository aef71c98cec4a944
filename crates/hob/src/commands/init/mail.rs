//! How agents are notified of mail. By default, with the results of hob's tools. On request, Claude Code gets a listener for
//! the background of each session, and instructions in CLAUDE.md.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;

use super::allow::{can_ask, confirmed};
use super::paths::InitPaths;
use crate::agents::{Edits, Entry, Links};
use crate::exit::Failure;
use crate::terminal;

// Doc comments on the variants would lengthen the help of all options.
/// A background sub-agent of each Claude Code session; hints with the results of hob's tools; or no mail tools at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    Listener,
    Hints,
    Off,
}

const LISTENER: &str = include_str!("listener.md");
const BLOCK: &str = include_str!("claude.md");
const BEGIN: &str = "<!-- hob mail: begin";
const END: &str = "<!-- hob mail: end -->\n";

/// The owner of the edit of CLAUDE.md.
pub(super) const CLAUDE_MD: &str = "CLAUDE.md";
/// The owner of the listener's file.
const LISTENER_FILE: &str = "message-listener";
const LISTENER_AT: &str = ".claude/agents/message-listener.md";

/// A person's request to change how agents are notified of mail.
pub(super) struct Change {
    pub(super) mode: Mode,
    /// True if an entry that names no toolsets serves mail.
    pub(super) has_mail: bool,
    /// The entry for `--mail off`.
    pub(super) without_mail: Entry,
}

impl Change {
    /// True if an entry has to be rewritten. An entry with a person's own choice of toolsets gets no mail.
    pub(super) fn concerns(&self, present: &Entry) -> bool {
        match self.mode {
            Mode::Off => present.serves_mail(self.has_mail),
            Mode::Hints | Mode::Listener => self.has_mail && present.args == self.without_mail.args,
        }
    }
}

/// Sets up Claude Code's listener if a person requested it and the entry serves mail. Removes it if a person requested
/// another mode.
pub(super) fn listen(
    place: &InitPaths,
    edits: &mut Edits,
    mode: Option<Mode>,
    serves_mail: bool,
) -> Result<(), Failure> {
    let root = place.base();
    if matches!(mode, Some(Mode::Hints | Mode::Off)) {
        return take_back(place, edits);
    }
    let wants = match mode {
        _ if !serves_mail => {
            if mode == Some(Mode::Listener) {
                terminal::line("Claude Code: no listener, because its entry does not include the mail tools.");
            }
            false
        }
        Some(mode) => mode == Mode::Listener,
        None if edits.read(&root.join(LISTENER_AT))?.is_some() => false,
        None => can_ask() && confirmed("Run a listener for other agents' mail in each Claude Code session here?"),
    };
    if wants {
        set_up(root, edits)?.iter().for_each(terminal::line);
    }
    Ok(())
}

/// The files of the listener, with the owners of their edits.
const FILES: [(&str, &str); 2] = [(CLAUDE_MD, CLAUDE_MD), (LISTENER_AT, LISTENER_FILE)];

/// Returns the existing files of the listener.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    let is_ours = |file: &PathBuf| {
        let text = Edits::read_below(root, file, Links::Refuse).ok().flatten().unwrap_or_default();
        text == LISTENER || text.contains(BEGIN)
    };
    FILES.map(|(file, _)| root.join(file)).into_iter().filter(is_ours).collect()
}

/// Reverts what [`set_up`] wrote.
fn take_back(place: &InitPaths, edits: &mut Edits) -> Result<(), Failure> {
    let files = FILES.map(|(file, owner)| (place.base().join(file), owner));
    for (file, owner) in &files {
        let without = |text: &str| if *owner == CLAUDE_MD { without_block(text) } else { None };
        if edits.has(file, owner)
            && let Some(undone) = edits.take_back(file, owner, without)?
        {
            super::show_undone(place, file, &undone);
        }
    }
    Ok(())
}

/// Writes both files unless they exist. Returns the messages to show.
fn set_up(root: &Path, edits: &mut Edits) -> Result<Vec<String>> {
    let mut said = Vec::new();
    let listener = root.join(LISTENER_AT);
    match edits.read(&listener)? {
        Some(text) if text == LISTENER => {}
        Some(_) => said.push(format!("Claude Code: {LISTENER_AT} was not written by hob, and was not changed.")),
        None => {
            edits.write(&listener, LISTENER_FILE, LISTENER)?;
            said.push(format!("Claude Code: wrote a listener for messages, {LISTENER_AT}."));
        }
    }
    let page = root.join(CLAUDE_MD);
    let text = edits.read(&page)?.unwrap_or_default();
    if !text.contains(BEGIN) {
        edits.write(&page, CLAUDE_MD, &with_block(&text))?;
        said.push("Claude Code: CLAUDE.md now explains how agents exchange messages.".to_owned());
    }
    Ok(said)
}

/// Returns the text with our block at its end.
fn with_block(text: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{BLOCK}")
}

/// Returns the text without our block, for a file that was changed since; `None` if there is no block.
pub(super) fn without_block(text: &str) -> Option<String> {
    let begin = text.find(BEGIN)?;
    let end = begin + text[begin..].find(END)? + END.len();
    let before = text[..begin].strip_suffix('\n').filter(|before| before.ends_with('\n')).unwrap_or(&text[..begin]);
    Some(format!("{before}{}", &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_goes_in_and_out() {
        for text in ["", "# Mine\n", "# Mine\n\nwith\r\nodd ends\n"] {
            let with = with_block(text);
            assert!(with.starts_with(text) && with.ends_with(END));
            assert_eq!(without_block(&with).as_deref(), Some(text));
            assert_eq!(without_block(&format!("{with}\nmore\n")).as_deref(), Some(&*format!("{text}\nmore\n")));
        }
        assert_eq!(without_block("# Mine\n"), None);
    }

    #[test]
    fn the_calls_are_named() {
        for name in [
            "send_message",
            "check_messages",
            "wait_for_message",
            "list_agents",
            "broadcast_message",
            "groups",
            "register_agent",
        ] {
            assert!(BLOCK.contains(&format!("`{name}`")), "{name}");
        }
        for word in ["MESSAGES_RECEIVED", "NO_MESSAGES_TIMEOUT", "FROM:", "PRIORITY:", "CONTENT:", "TIMESTAMP:", "300"]
        {
            assert!(LISTENER.contains(word), "{word}");
        }
    }
}
