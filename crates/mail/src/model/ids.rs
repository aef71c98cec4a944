//! Names and ids as types. Only this file decides which are valid.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clock::Millis;

/// The longest name.
const MAX_NAME: usize = 64;

/// Names that no agent may take: they mean everybody, the system, or the user.
const RESERVED: &[&str] =
    &["all", "assistant", "broadcast", "daemon", "everyone", "hob", "human", "system", "thrum", "user"];

/// An invalid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid name {name:?} for {what}: {why}")]
pub struct NameError {
    /// The kind of name.
    pub what: &'static str,
    /// The name as given, cut to a readable length.
    pub name: String,
    /// The reason why the name is invalid.
    pub why: &'static str,
}

impl NameError {
    /// Returns the next step for the caller.
    pub(crate) fn hint(&self) -> String {
        let c = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
        let near: String = self.name.trim().chars().map(c).collect();
        let near = near.trim_matches('-');
        match self.what {
            "a message" => "check_messages and search_messages show ids.".to_owned(),
            "an agent" if AgentName::new(near).is_ok() => format!("Write {near}, for example."),
            "a group" | "a role" if check("", near).is_ok() => format!("Write {near}, for example."),
            _ => "Choose another name.".to_owned(),
        }
    }
}

fn check(what: &'static str, name: &str) -> Result<(), NameError> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME {
        "it is longer than 64 characters"
    } else if !name.chars().all(legal) {
        "only the letters a-z, digits, `_` and `-` are allowed"
    } else if name.starts_with('-') {
        "it begins with `-`, like a command-line option"
    } else {
        return Ok(());
    };
    Err(NameError { what, name: name.chars().take(80).collect(), why })
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns a value from a store, which was checked before it was stored.
            #[allow(dead_code)] // Not every kind of name is stored by itself.
            pub(crate) fn stored(text: impl Into<Arc<str>>) -> $name {
                $name(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_type! {
    /// An agent's name, which is its id: `[a-z0-9_][a-z0-9_-]*`, at most 64 characters, none of the reserved words.
    AgentName
}
text_type! {
    /// A group's name; the same letters as an agent's. `everyone` is the group that holds all agents.
    GroupName
}
text_type! {
    /// A role; the same letters as an agent's name.
    Role
}
text_type! {
    /// A message's id: `msg_` and 26 characters that sort by time of making, roughly. Only sequences order messages.
    MessageId
}
text_type! {
    /// A session of an agent: kept across daemon restarts, new for a restarted agent.
    SessionId
}
text_type! {
    /// Agents and messages that see each other.
    Space
}

/// The name of the person whom the agents work for.
pub(crate) const USER: &str = "user";

/// The built-in group of all agents.
pub const EVERYONE: &str = "everyone";

impl AgentName {
    /// Checks a name for an agent.
    pub fn new(name: &str) -> Result<AgentName, NameError> {
        check("an agent", name)?;
        if RESERVED.contains(&name) {
            return Err(NameError { what: "an agent", name: name.to_owned(), why: "the name is reserved" });
        }
        Ok(AgentName(name.into()))
    }

    /// Returns the author of reports about messages that could not be delivered. No agent can have this name.
    pub fn system() -> AgentName {
        AgentName("hob".into())
    }

    /// Returns true if this is the system's name, not an agent's.
    pub fn is_system(&self) -> bool {
        &*self.0 == "hob"
    }

    /// Returns the name of the person whom the agents work for. No agent can have this name.
    pub fn user() -> AgentName {
        AgentName(USER.into())
    }

    /// Returns true if this is the person's name, not an agent's.
    pub fn is_user(&self) -> bool {
        &*self.0 == USER
    }
}

impl GroupName {
    /// Checks a name for a group.
    pub fn new(name: &str) -> Result<GroupName, NameError> {
        check("a group", name)?;
        Ok(GroupName(name.into()))
    }

    /// Returns the group of all agents.
    pub fn everyone() -> GroupName {
        GroupName(EVERYONE.into())
    }

    pub fn is_everyone(&self) -> bool {
        &*self.0 == EVERYONE
    }
}

impl Role {
    /// Checks a role.
    pub fn new(name: &str) -> Result<Role, NameError> {
        check("a role", name)?;
        Ok(Role(name.into()))
    }
}

impl SessionId {
    /// Checks an id from a front-end: 1 to 80 visible ASCII characters.
    pub fn new(id: &str) -> Result<SessionId, NameError> {
        let why = if id.is_empty() || id.len() > 80 {
            "1 to 80 characters are allowed"
        } else if !id.chars().all(|c| c.is_ascii_graphic()) {
            "only visible ASCII characters are allowed"
        } else {
            return Ok(SessionId(id.into()));
        };
        Err(NameError { what: "a session", name: id.chars().take(80).collect(), why })
    }

    /// Returns the session of a run that its agent names itself. Sessions of other agents differ from it.
    pub fn from_run(agent: &AgentName, run: &[u8]) -> SessionId {
        let digest = Sha256::new().chain_update(agent.as_str()).chain_update([0]).chain_update(run).finalize();
        let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        SessionId(format!("said-{digits}").into())
    }

    /// Returns a new id, for callers whose front-end provides none.
    pub fn mint() -> SessionId {
        SessionId(format!("ses_{}", ulid(0)).into())
    }
}

impl MessageId {
    /// Returns a new id made at that time.
    pub fn mint(at: Millis) -> MessageId {
        MessageId(format!("msg_{}", ulid(at)).into())
    }

    /// Checks an id that a person or another system wrote. Texts show ids without quotes, so only letters, digits and a
    /// few signs are allowed.
    pub fn new(id: &str) -> Result<MessageId, NameError> {
        let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        if id.len() > 80 || !id.starts_with(|c: char| c.is_ascii_alphanumeric()) || !id.chars().all(is_legal) {
            let why = "an id is `msg_` and 26 characters; copy it from a message or a list";
            return Err(NameError { what: "a message", name: id.chars().take(80).collect(), why });
        }
        Ok(MessageId(id.into()))
    }
}

impl Space {
    /// Returns the space of a chosen name. The prefix is its own, so a chosen name never equals that of an origin or a
    /// path.
    pub fn named(name: &str) -> Space {
        Space(format!("n_{}", name.trim().chars().take(200).collect::<String>()).into())
    }

    /// Returns the space of all clones of a repository, whatever form of its address they were cloned by.
    pub fn of_origin(url: &str) -> Space {
        let digest = Sha256::digest(normal_origin(url).as_bytes());
        Space(format!("r_{}", &crockford(&digest)[..12]).into())
    }

    /// Returns the space of a project without an origin, derived from its machine, path and directory. The same path on
    /// another machine has another space. So has a directory created later at the path of a moved one.
    pub fn of_path(host: &str, root: &Path) -> Space {
        let directory = std::fs::metadata(root).map(|root| (root.dev(), root.ino())).unwrap_or_default();
        let mut digest = Sha256::new().chain_update(host).chain_update([0]);
        digest.update(root.as_os_str().as_encoded_bytes());
        digest.update(format!("\0{directory:?}"));
        Space(format!("p_{}", &crockford(&digest.finalize())[..12]).into())
    }

    /// Returns true if the space is that of a directory, and so of one project.
    pub fn is_of_path(&self) -> bool {
        self.0.starts_with("p_")
    }
}

/// `git@Host:a/b.git`, `ssh://git@host/a/b`, `https://user@HOST/a/b.git/` all become `https://host/a/b`.
fn normal_origin(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let url = url.strip_suffix(".git").unwrap_or(url);
    let rest = match url.split_once("://") {
        Some((_, rest)) => rest.to_owned(),
        // The short form of ssh; a plain path has no colon before its first slash.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => format!("{host}/{}", path.trim_start_matches('/')),
            _ => return url.to_owned(),
        },
    };
    let (host, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
    // The default ports of the schemes are left out.
    let host = [":22", ":443", ":80"].iter().find_map(|port| host.strip_suffix(port)).unwrap_or(&host).to_owned();
    format!("https://{host}/{}", path.trim_matches('/'))
}

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

fn crockford(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(CROCKFORD[(held >> bits) as usize & 31]));
        }
    }
    text
}

/// 48 bits of time and 80 random bits in 26 characters (the ULID form).
fn ulid(at: Millis) -> String {
    let mut random = [0u8; 10];
    getrandom::fill(&mut random).expect("the system has random numbers");
    let mut value = u128::from(at & 0xFFFF_FFFF_FFFF) << 80;
    for (index, byte) in random.iter().enumerate() {
        value |= u128::from(*byte) << (8 * index);
    }
    (0..26).rev().map(|place| char::from(CROCKFORD[(value >> (5 * place)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "planner", "a-b_9", &"x".repeat(64)] {
            AgentName::new(good).unwrap();
        }
        for bad in [
            "",
            "-",
            "-a",
            "--help",
            "A",
            "ä",
            "a b",
            "a/b",
            "@a",
            "hob",
            "everyone",
            "all",
            "user",
            "human",
            &"x".repeat(65),
            "a\n",
        ] {
            AgentName::new(bad).unwrap_err();
        }
        GroupName::new("everyone").unwrap();
    }

    #[test]
    fn a_wrong_name_comes_with_one_that_is_near() {
        let hint = |name: &str| AgentName::new(name).unwrap_err().hint();
        assert_eq!(hint("Plan B!"), "Write plan-b, for example.");
        assert_eq!(hint("User"), "Choose another name.");
        assert_eq!(hint("日本"), "Choose another name.");
        assert_eq!(Role::new("Lead").unwrap_err().hint(), "Write lead, for example.");
        assert_eq!(MessageId::new("<1>").unwrap_err().hint(), "check_messages and search_messages show ids.");
    }

    #[test]
    fn an_id_cannot_pass_for_anything_else() {
        for good in ["msg_01JD0000000000000000000000", "1", "a:b.c-d"] {
            MessageId::new(good).unwrap();
        }
        for bad in ["", "<<0000", "msg 1", "msg_1>>", "\"", "-", "_x", "msg_1\n", "ä", &"x".repeat(81)] {
            MessageId::new(bad).unwrap_err();
        }
    }

    #[test]
    fn clones_share_a_space_however_they_were_cloned() {
        let forms = [
            "git@GitHub.com:acme/tool.git",
            "ssh://git@github.com/acme/tool",
            "ssh://git@github.com:22/acme/tool.git/",
            "https://github.com/acme/tool.git",
            "https://token@github.com/acme/tool/",
        ];
        for form in forms {
            assert_eq!(Space::of_origin(form), Space::of_origin(forms[0]), "{form}");
        }
        assert_ne!(Space::of_origin("https://github.com/acme/other"), Space::of_origin(forms[0]));
        assert_ne!(Space::of_origin("/srv/git/tool"), Space::of_origin("/srv/git/other"));
    }

    #[test]
    fn no_space_can_pass_for_one_of_another_kind() {
        let here = tempfile::tempdir().unwrap();
        let (origin, path) = (Space::of_origin("https://github.com/acme/tool"), Space::of_path("host", here.path()));
        for other in [&origin, &path, &Space::named("team")] {
            let chosen = Space::named(other.as_str());
            assert_ne!(&chosen, other, "whoever chooses a name chooses no other kind of space");
        }
        assert!(path.is_of_path() && !origin.is_of_path() && !Space::named("p_x").is_of_path());
    }

    #[test]
    fn a_path_is_one_directory_of_one_machine() {
        let top = tempfile::tempdir().unwrap();
        let (root, moved) = (top.path().join("tool"), top.path().join("moved"));
        std::fs::create_dir(&root).unwrap();
        let space = Space::of_path("here", &root);
        assert_eq!(space, Space::of_path("here", &root));
        assert_ne!(space, Space::of_path("there", &root));
        std::fs::rename(&root, &moved).unwrap();
        std::fs::create_dir(&root).unwrap();
        assert_ne!(space, Space::of_path("here", &root), "another directory of the same path");
    }

    #[test]
    fn ids_sort_by_time_and_differ() {
        assert!(MessageId::mint(1) < MessageId::mint(2));
        assert!(MessageId::mint(1_700_000_000_000) < MessageId::mint(1_800_000_000_000));
        assert_ne!(MessageId::mint(5), MessageId::mint(5));
        assert_eq!(MessageId::mint(5).as_str().len(), 30);
    }
}
