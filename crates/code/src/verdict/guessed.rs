//! Objects whose class a judge guesses: what has no annotation, and begins with a default that others may put something else in the
//! place of (`def __init__(self, store=S3())`, `self.store = store or S3()`). That it is of one class refutes no other one.

use std::path::Path;
use std::time::Instant;

use super::requests::{hovered, spots_of};
use super::texts::{Sheets, Spot};
use crate::answer::{Found, Site};
use crate::blocking::blocking;
use crate::server::Session;
use crate::syntax::{Language, is_word, last_word, unclosed};

/// How many names are followed one after the other: an attribute, the parameter that it is given.
const DEEP: usize = 2;

/// Whether the object that a site reaches its name through may be of any class.
pub(super) async fn is_guessed(
    found: &Found,
    site: &Site,
    session: &Session,
    sheets: &mut Sheets,
    until: Instant,
) -> bool {
    let receiver = found.receiver(site);
    let name = last_word(receiver);
    if name.is_empty() || matches!(name, b"self" | b"cls" | b"this" | b"super") {
        return false;
    }
    let path = sheets.path(&site.path);
    // Without an answer nothing is known of it.
    let Some(mut open) = spots_of(&path, receiver.len() - name.len(), session, sheets, until).await else {
        return true;
    };
    for _ in 0..DEEP {
        let mut next = Vec::new();
        for spot in open {
            match blocking(|| given(&spot, sheets, site.language)) {
                Given::Default => return true,
                // A judge that is sure of both sides is sure.
                Given::Choice => return says_unknown(&path, receiver.len() - name.len(), session, sheets, until).await,
                Given::By(name) => match spots_of(&name.path, name.start, session, sheets, until).await {
                    Some(spots) => next.extend(spots),
                    None => return true,
                },
                Given::Else => {}
            }
        }
        open = next;
    }
    false
}

/// What a variable, a parameter or an attribute is given where it is declared.
enum Given {
    /// What somebody may put something else in the place of.
    Default,
    /// One thing or another.
    Choice,
    /// What has this name.
    By(Spot),
    Else,
}

fn given(spot: &Spot, sheets: &Sheets, language: Language) -> Given {
    let Some(sheet) = sheets.get(&spot.path) else { return Given::Else };
    let text = sheet.text.as_bytes();
    // ty gives an attribute with what holds it: `self.store`.
    let Some(end) = spot.end.checked_sub(sheet.skip).filter(|end| *end <= text.len()) else { return Given::Else };
    let start = end - last_word(&text[..end]).len();
    let Some(value) = text[end..].trim_ascii_start().strip_prefix(b"=").filter(|value| !value.starts_with(b"=")) else {
        return Given::Else;
    };
    let value = value.trim_ascii_start();
    if is_parameter(&text[..start], language) {
        return Given::Default;
    }
    let line = value.split(|byte| b"\n;".contains(byte)).next().unwrap_or_default().trim_ascii();
    let is_choice = [&b" or "[..], b" if "].iter().any(|choice| memchr::memmem::find(line, choice).is_some());
    if is_choice && language == Language::Python {
        return Given::Choice;
    }
    let is_name = !line.is_empty() && line.iter().all(|byte| is_word(*byte)) && !line[0].is_ascii_digit();
    if !is_name {
        return Given::Else;
    }
    let at = text.len() - value.len() + sheet.skip;
    Given::By(Spot { path: spot.path.clone(), start: at, end: at + line.len() })
}

/// Whether what is declared after a text is a parameter of a function.
fn is_parameter(before: &[u8], language: Language) -> bool {
    if !before.trim_ascii_end().last().is_some_and(|byte| b"(,*{".contains(byte)) {
        return false;
    }
    let Some(opened) = unclosed(before, b'(') else { return false };
    let head = before[..opened].trim_ascii_end();
    // `def save(`; in JavaScript a method has no word before its name.
    let before_name = head[..head.len() - last_word(head).len()].trim_ascii_end();
    language != Language::Python || last_word(before_name) == b"def"
}

/// Whether the judge knows the type of what stands there in part.
async fn says_unknown(path: &Path, at: usize, session: &Session, sheets: &Sheets, until: Instant) -> bool {
    // What it does not show it may not know.
    let shown = hovered(path, at, session, sheets, until).await;
    shown.is_empty() || shown.contains("Unknown")
}
