//! The ticket of a delegated call. It is sealed with the project's key, so it stays valid after a restart. It is bound to one
//! version of a node, one input and one caller.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, Mac};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The length of a ticket's content in bytes.
const LENGTH: usize = 36;

/// The content of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ticket {
    /// The id of the call.
    pub id: [u8; 12],
    /// The expiry in seconds since 1970.
    pub expires: u64,
    /// The hash of the node's version.
    pub node: [u8; 8],
    /// The hash of the input.
    pub input: [u8; 8],
}

impl Ticket {
    pub(super) fn id(&self) -> String {
        hex::encode(self.id)
    }

    /// Returns the hash of this caller's task, which all its tickets share.
    pub(super) fn task(&self, principal: &str) -> String {
        let digest = Sha256::new().chain_update(self.node).chain_update(self.input).chain_update(principal).finalize();
        hex::encode(&digest[..16])
    }

    /// Returns the sealed text for this caller.
    pub(super) fn seal(&self, key: &[u8; 32], principal: &str) -> String {
        let body = [&self.id[..], &self.expires.to_be_bytes(), &self.node, &self.input].concat();
        let seal = mac(key, &body, principal).finalize().into_bytes();
        format!("{}.{}", BASE64.encode(body), BASE64.encode(seal))
    }

    /// Opens a text that was sealed for this caller; `None` for any other text.
    pub(super) fn open(sealed: &str, key: &[u8; 32], principal: &str) -> Option<Ticket> {
        let (body, seal) = sealed.trim().split_once('.')?;
        let (body, seal) = (BASE64.decode(body).ok()?, BASE64.decode(seal).ok()?);
        mac(key, &body, principal).verify_slice(&seal).ok()?;
        let body: [u8; LENGTH] = body.try_into().ok()?;
        Some(Ticket {
            id: body[..12].try_into().ok()?,
            expires: u64::from_be_bytes(body[12..20].try_into().ok()?),
            node: body[20..28].try_into().ok()?,
            input: body[28..].try_into().ok()?,
        })
    }
}

/// Returns a hash of an input or a value. The field order matters.
pub(super) fn digest(input: &impl Serialize) -> [u8; 8] {
    let text = serde_json::to_string(input).unwrap_or_default();
    let mut digest = [0; 8];
    digest.copy_from_slice(&Sha256::digest(text.as_bytes())[..8]);
    digest
}

fn mac(key: &[u8; 32], body: &[u8], principal: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    // The length prevents one part from being read as another.
    mac.update(format!("node ticket {}\n", body.len()).as_bytes());
    mac.update(body);
    mac.update(principal.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_caller_that_it_was_sealed_for_opens_it() {
        let ticket = Ticket { id: [1; 12], expires: 7, node: [2; 8], input: [3; 8] };
        let sealed = ticket.seal(&[4; 32], "me");
        assert_eq!(sealed.len(), 92);
        assert_eq!(Ticket::open(&sealed, &[4; 32], "me"), Some(ticket));
        assert_eq!(Ticket::open(&sealed, &[4; 32], "you"), None);
        assert_eq!(Ticket::open(&sealed, &[5; 32], "me"), None, "another key");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(Ticket::open(&changed, &[4; 32], "me"), None, "{at}");
        }
        for text in ["", ".", "a.b", "AAAA.AAAA"] {
            assert_eq!(Ticket::open(text, &[4; 32], "me"), None, "{text}");
        }
    }
}
