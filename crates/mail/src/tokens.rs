//! Agents' tokens for HTTP, where the kernel cannot identify the caller. The bearer of an agent's token acts as that
//! agent, in the worktree of the name's holder.
//!
//! One file per agent, which only its user can read. Start with [`Tokens::find`].

use parking_lot::Mutex;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use project::private;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::model::AgentName;

/// The random bytes of a token.
const BYTES: usize = 32;
/// The longest token file, in bytes.
const FILE_MAX: u64 = 16 * 1024;

/// A token and its rights.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// The agent that the bearer acts as.
    pub agent: AgentName,
    /// The worktree of the name's holder.
    pub worktree: PathBuf,
    /// The text to present: `NAME.` and 64 digits. A secret.
    pub secret: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Token { agent, worktree, .. } = self;
        f.debug_struct("Token").field("agent", agent).field("worktree", worktree).finish_non_exhaustive()
    }
}

/// The form of a token's file.
#[derive(Serialize, Deserialize)]
struct TokenFile {
    token: String,
    worktree: PathBuf,
}

/// The tokens of a project's agents.
#[derive(Debug)]
pub struct Tokens {
    dir: PathBuf,
    /// Held while a token is made, so that two concurrent callers get the same one.
    making: Mutex<()>,
}

impl Tokens {
    /// Returns the directory need not exist. It must be outside any checkout, since a checkout could bring its own
    /// tokens.
    pub fn new(dir: PathBuf) -> Tokens {
        Tokens { dir, making: Mutex::new(()) }
    }

    /// Returns the token with this text. Compared in constant time; the name in it is not secret.
    pub fn find(&self, said: &str) -> Option<Token> {
        let (name, _) = said.split_once('.')?;
        let token = self.read(&AgentName::new(name).ok()?).ok()??;
        bool::from(said.as_bytes().ct_eq(token.secret.as_bytes())).then_some(token)
    }

    /// Returns an agent's token, if it has one.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn read(&self, agent: &AgentName) -> io::Result<Option<Token>> {
        let Some(text) = private::read(&self.path(agent), FILE_MAX)? else { return Ok(None) };
        // A file of an unknown form holds no token.
        let Ok(TokenFile { token, worktree }) = serde_json::from_slice(&text) else { return Ok(None) };
        Ok(Some(Token { agent: agent.clone(), worktree, secret: token }))
    }

    /// Returns the agent's token for that worktree. A new token is made, and the former one revoked, if the agent has
    /// none, has one for another worktree, or `renew` is set.
    ///
    /// # Errors
    /// When the token's file cannot be written.
    pub fn make(&self, agent: &AgentName, worktree: &Path, renew: bool) -> io::Result<Token> {
        let _making = self.making.lock();
        if let Some(token) = self.read(agent)?
            && !renew
            && token.worktree == worktree
        {
            return Ok(token);
        }
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let token = Token { agent: agent.clone(), worktree: worktree.to_owned(), secret: format!("{agent}.{digits}") };
        self.write(&token)?;
        Ok(token)
    }

    /// Notes that the worktree of an agent's token was moved.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn follow(&self, agent: &AgentName, former: &Path, worktree: &Path) -> io::Result<()> {
        let _making = self.making.lock();
        match self.read(agent)?.filter(|token| token.worktree == former) {
            Some(token) => self.write(&Token { worktree: worktree.to_owned(), ..token }),
            None => Ok(()),
        }
    }

    /// Revokes the agent's token; returns whether there was one.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn revoke(&self, agent: &AgentName) -> io::Result<bool> {
        let _making = self.making.lock();
        match fs::remove_file(self.path(agent)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&self, token: &Token) -> io::Result<()> {
        let written = TokenFile { token: token.secret.clone(), worktree: token.worktree.clone() };
        private::replace(&self.path(&token.agent), &serde_json::to_vec(&written)?)
    }

    fn path(&self, agent: &AgentName) -> PathBuf {
        self.dir.join(format!("{agent}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_token_is_kept_private_and_stands_for_one_agent() {
        let temp = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(temp.path().join("tokens"));
        let (ann, bob) = (AgentName::new("ann").unwrap(), AgentName::new("bob").unwrap());
        let (here, there) = (Path::new("/here"), Path::new("/there"));
        let first = tokens.make(&ann, here, false).unwrap();
        let other = tokens.make(&bob, there, false).unwrap();
        assert_eq!(tokens.make(&ann, here, false).unwrap(), first, "asked again it is the same");
        assert_eq!(tokens.find(&first.secret), Some(first.clone()));
        assert_eq!(tokens.find(&other.secret).unwrap().agent, bob);
        assert!(!format!("{first:?}").contains(&first.secret));
        let file = temp.path().join("tokens/ann.json");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        let digits = first.secret.strip_prefix("ann.").unwrap();
        assert_eq!(digits.len(), 64);
        for wrong in [
            "",
            ".",
            "ann",
            "ann.",
            digits,
            &first.secret[..30],
            &format!("{}0", first.secret),
            &format!("bob.{digits}"),
            &format!("../ann.{digits}"),
            &format!("zoe.{digits}"),
            &format!("ANN.{digits}"),
            &first.secret.to_uppercase(),
        ] {
            assert_eq!(tokens.find(wrong), None, "{wrong}");
        }

        let second = tokens.make(&ann, here, true).unwrap();
        assert_eq!((tokens.find(&first.secret), tokens.find(&second.secret)), (None, Some(second.clone())));
        let moved = tokens.make(&ann, there, false).unwrap();
        assert_eq!(tokens.find(&second.secret), None, "the name is held elsewhere now");
        assert_eq!(tokens.find(&moved.secret).unwrap().worktree, there);
        tokens.follow(&ann, here, Path::new("/elsewhere")).unwrap();
        assert_eq!(tokens.find(&moved.secret).unwrap().worktree, there, "it did not stand there");
        tokens.follow(&ann, there, Path::new("/elsewhere")).unwrap();
        assert_eq!(tokens.find(&moved.secret).unwrap().worktree, Path::new("/elsewhere"));
        // A file that others could read or place there is not a token.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(tokens.find(&moved.secret), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(tokens.find(&moved.secret).is_some());
        std::os::unix::fs::symlink(&file, temp.path().join("tokens/zoe.json")).unwrap();
        assert_eq!(tokens.find(&moved.secret.replace("ann.", "zoe.")), None);
        assert!(tokens.revoke(&ann).unwrap() && !tokens.revoke(&ann).unwrap());
        assert_eq!(tokens.find(&moved.secret), None);
    }
}
