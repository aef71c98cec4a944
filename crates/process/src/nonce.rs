//! The unguessable name of one spawned session, carried in the environment of all its processes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that carries the nonce. A process that is started within a session and must outlive it,
/// such as another daemon, gets an environment without it.
pub const SESSION_VARIABLE: &str = "HOB_SESSION";

/// 128 random bits as 32 hexadecimal digits. The child has it as `HOB_SESSION` and passes it on to its children, so
/// that all processes of a session can be found. A program can print it: do not use it to mark output.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nonce(String);

impl Nonce {
    /// Returns a fresh nonce.
    pub fn random() -> Nonce {
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
        Nonce(format!("{:032x}", u128::from_ne_bytes(bytes)))
    }

    /// Returns the 32 digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the entry of the environment, `HOB_SESSION=…`.
    pub(crate) fn entry(&self) -> Vec<u8> {
        format!("{SESSION_VARIABLE}={}", self.0).into_bytes()
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({})", self.0)
    }
}

/// The error for a text that is not a nonce.
#[derive(Debug, thiserror::Error)]
#[error("a session nonce is 32 hexadecimal digits")]
pub struct NotANonce;

impl FromStr for Nonce {
    type Err = NotANonce;

    fn from_str(text: &str) -> Result<Nonce, NotANonce> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 32 && text.bytes().all(digit) { Ok(Nonce(text.to_owned())) } else { Err(NotANonce) }
    }
}

impl TryFrom<String> for Nonce {
    type Error = NotANonce;

    fn try_from(text: String) -> Result<Nonce, NotANonce> {
        text.parse()
    }
}

impl From<Nonce> for String {
    fn from(nonce: Nonce) -> String {
        nonce.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_form_is_read() {
        let nonce = Nonce::random();
        assert_eq!(nonce.as_str().parse::<Nonce>().unwrap(), nonce);
        assert_ne!(nonce, Nonce::random());
        for bad in
            ["", "../../etc", &nonce.as_str()[1..], &nonce.as_str().to_uppercase().replace(char::is_numeric, "G")]
        {
            assert!(bad.parse::<Nonce>().is_err(), "{bad}");
        }
    }
}
