//! How agents hear of mail. With the results of hob's tools, unless a person wants more: for Claude Code, a listener for the
//! background of each session, and what to know of it in CLAUDE.md.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use super::allow::{can_ask, confirmed};
use crate::agents::Edits;
use crate::exit::Failure;
use crate::terminal;

// Documentation of the variants would make the help of all options longer.
/// By a sub-agent of each Claude Code that waits in the background; with the results of hob's tools; not at all, as the
/// entry leaves the tools for it out.
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

/// Sets Claude Code's listener up, if a person wants one and the entry serves mail.
pub(super) fn listen(root: &Path, edits: &mut Edits, mode: Option<Mode>, serves_mail: bool) -> Result<(), Failure> {
    let wants = match mode {
        _ if !serves_mail => {
            if mode == Some(Mode::Listener) {
                terminal::line("Claude Code: no listener, since its entry serves no mail.");
            }
            false
        }
        Some(mode) => mode == Mode::Listener,
        None if edits.read(&root.join(LISTENER_AT))?.is_some() => false,
        None => can_ask() && confirmed("Shall each Claude Code here keep a listener for other agents' mail running?"),
    };
    if wants {
        set_up(root, edits)?.iter().for_each(terminal::line);
    }
    Ok(())
}

/// Writes both unless they exist. Returns the messages to show.
fn set_up(root: &Path, edits: &mut Edits) -> Result<Vec<String>> {
    let mut said = Vec::new();
    let listener = root.join(LISTENER_AT);
    match edits.read(&listener)? {
        Some(text) if text == LISTENER => {}
        Some(_) => said.push(format!("Claude Code: {LISTENER_AT} is somebody's own, and was left alone.")),
        None => {
            edits.write(&listener, LISTENER_FILE, LISTENER)?;
            said.push(format!("Claude Code: wrote a listener for messages, {LISTENER_AT}."));
        }
    }
    let page = root.join(CLAUDE_MD);
    let text = edits.read(&page)?.unwrap_or_default();
    if !text.contains(BEGIN) {
        edits.write(&page, CLAUDE_MD, &with_block(&text))?;
        said.push("Claude Code: CLAUDE.md says how agents write to each other.".to_owned());
    }
    Ok(said)
}

/// The text with our block at its end.
fn with_block(text: &str) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{BLOCK}")
}

/// The text without our block, for a file that was changed since; `None` if it has none.
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
