//! Which issue a branch is about, by its name: `ID`, `ID-slug`, `bd-ID/slug`, each also below a folder (`ann/ID-slug`). An
//! id counts if its tracker has it; titles are not looked at.

/// The issues among `ids` that the branch names; two that differ are both named.
pub fn candidates<'a>(branch: &str, ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let segments: Vec<&str> = branch.split('/').collect();
    let mut longest = vec![0; segments.len()];
    let mut named = Vec::new();
    for id in ids {
        for (index, segment) in segments.iter().enumerate() {
            if let Some(length) = names(segment, id) {
                longest[index] = length.max(longest[index]);
                named.push((id, index, length));
            }
        }
    }
    // Of two ids that begin alike, the longer one is meant.
    let meant = named.into_iter().filter(|(_, index, length)| *length == longest[*index]);
    let mut ids: Vec<&str> = meant.map(|(id, ..)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// How many bytes of the segment name the issue.
fn names(segment: &str, id: &str) -> Option<usize> {
    let begins = |text: &str, name: &str| {
        let rest = text
            .get(name.len()..)
            .filter(|_| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)))?;
        let ends = rest.chars().next().is_none_or(|c| c == '-' || c == '_');
        ends.then_some(name.len())
    };
    // An id as it is; or after `bd-`, as a whole or without its tracker's prefix.
    let after = segment.strip_prefix("bd-");
    let short = id.rsplit_once('-').map(|(_, short)| short).filter(|short| !short.is_empty());
    begins(segment, id)
        .or_else(|| after.and_then(|after| begins(after, id)).map(|length| length + 3))
        .or_else(|| after.zip(short).and_then(|(after, short)| begins(after, short)).map(|length| length + 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_names_its_issue() {
        let ids = ["bd-a1", "bd-a1.2", "bd-12", "tidepool-x9", "web-7", "web-71", "bd-a1-b"];
        let check = |branch: &str, expected: &[&str]| {
            assert_eq!(candidates(branch, ids.into_iter()), expected, "{branch}");
        };
        check("bd-a1/lists", &["bd-a1"]);
        check("bd-a1-lists", &["bd-a1"]);
        check("bd-a1", &["bd-a1"]);
        check("BD-A1/lists", &["bd-a1"]);
        check("bd-a1.2-lists", &["bd-a1.2"]);
        check("bd-a1-b-lists", &["bd-a1-b"]);
        check("ann/web-7-lists", &["web-7"]);
        check("web-71", &["web-71"]);
        check("bd-x9/lists", &["tidepool-x9"]);
        check("bd-tidepool-x9/lists", &["tidepool-x9"]);
        check("web-7/bd-12", &["bd-12", "web-7"]);
        for none in ["main", "web-700", "bd-a10/lists", "bd-", "x9", "x9-lists", "läuft", "bd-a1x"] {
            check(none, &[]);
        }
    }
}
