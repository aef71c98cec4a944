//! Finds the issue that a branch name refers to: `ID`, `ID-slug`, `bd-ID/slug`, each also below a folder (`ann/ID-slug`),
//! and the configured patterns. An id counts only if its tracker has it; titles are not compared.

/// A pattern of the setting `work.branches`: `{id}` matches the issue, `*` at either end matches anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    after: String,
}

impl Pattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// Returns a description of the syntax if the pattern is invalid.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        match text.split_once("{id}") {
            Some((before, after)) if !after.contains("{id}") => {
                Ok(Pattern { before: before.to_owned(), after: after.to_owned() })
            }
            _ => Err(format!("{text:?} must contain {{id}} exactly once, as in \"feature/{{id}}-*\"")),
        }
    }

    /// Returns the text after each occurrence of the fixed beginning.
    fn texts_after_prefix<'a>(&'a self, branch: &'a str) -> impl Iterator<Item = &'a str> {
        let any = self.before.strip_prefix('*');
        let fixed = branch.strip_prefix(&self.before).filter(|_| any.is_none());
        let found = any.into_iter().flat_map(move |before| {
            let starts = branch.char_indices().map(|(at, _)| &branch[at..]);
            starts.filter_map(move |rest| rest.strip_prefix(before))
        });
        fixed.into_iter().chain(found)
    }

    fn ends(&self, rest: &str) -> bool {
        self.after.strip_suffix('*').map_or_else(|| rest == self.after, |after| rest.starts_with(after))
    }

    fn names(&self, branch: &str, id: &str) -> bool {
        self.texts_after_prefix(branch).filter_map(|rest| rest.strip_prefix(id)).any(|rest| self.ends(rest))
    }

    fn number(&self, branch: &str) -> Option<u64> {
        let number = |rest: &str| {
            let (number, rest) = leading_number(rest)?;
            self.ends(rest).then_some(number)
        };
        self.texts_after_prefix(branch).find_map(number)
    }
}

/// Returns the GitHub issue numbers in a branch name: `gh-12`, `issue-12`, `12-slug`, each also below a folder.
pub fn numbers(branch: &str, patterns: &[Pattern]) -> Vec<u64> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['-', '_']);
    let of_segment = |segment: &str| {
        let lower = segment.to_ascii_lowercase();
        let marked = ["gh-", "issue-", "issue/"].iter().find_map(|mark| lower.strip_prefix(mark));
        let (number, rest) = leading_number(marked.unwrap_or(&lower))?;
        let is_named = if marked.is_some() { ends(rest) } else { rest.len() > 1 && ends(rest) };
        is_named.then_some(number)
    };
    let by_segment = branch.split('/').filter_map(of_segment);
    let mut numbers: Vec<u64> =
        by_segment.chain(patterns.iter().filter_map(|pattern| pattern.number(branch))).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Parses a leading number. An issue number never begins with 0.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|_| !text.starts_with('0'))?;
    Some((number, &text[end..]))
}

/// Returns the issues among `ids` that the branch names. If two different issues match, both are returned.
pub fn candidates<'a>(branch: &str, patterns: &[Pattern], ids: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let segments: Vec<&str> = branch.split('/').collect();
    let mut longest = vec![0; segments.len()];
    let mut named = Vec::new();
    let mut by_pattern = Vec::new();
    for id in ids {
        if patterns.iter().any(|pattern| pattern.names(branch, id)) {
            by_pattern.push(id);
        }
        for (index, segment) in segments.iter().enumerate() {
            if let Some(length) = names(segment, id) {
                longest[index] = length.max(longest[index]);
                named.push((id, index, length));
            }
        }
    }
    // If one id is a prefix of another, the longer match wins.
    let meant = named.into_iter().filter(|(_, index, length)| *length == longest[*index]);
    let mut ids: Vec<&str> = meant.map(|(id, ..)| id).chain(by_pattern).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns the length of the part of the segment that names the issue, in bytes.
fn names(segment: &str, id: &str) -> Option<usize> {
    let begins = |text: &str, name: &str| {
        let rest = text
            .get(name.len()..)
            .filter(|_| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name)))?;
        let ends = rest.chars().next().is_none_or(|c| c == '-' || c == '_');
        ends.then_some(name.len())
    };
    // Accept the id itself, or `bd-` followed by the id with or without its prefix.
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
            assert_eq!(candidates(branch, &[], ids.into_iter()), expected, "{branch}");
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
    #[test]
    fn a_branch_names_a_number() {
        let check = |branch: &str, expected: &[u64]| assert_eq!(numbers(branch, &[]), expected, "{branch}");
        check("gh-12/lists", &[12]);
        check("issue-12", &[12]);
        check("12-lists", &[12]);
        check("ann/12-lists", &[12]);
        check("GH-12-lists", &[12]);
        check("gh-12/7-lists", &[7, 12]);
        for none in [
            "main",
            "12",
            "1.2-fix",
            "v12-x",
            "gh-12x",
            "gh-",
            "issue-",
            "012-x",
            "bd-12/x",
            "12-",
            "99999999999999999999-x",
        ] {
            check(none, &[]);
        }
    }

    #[test]
    fn patterns_of_the_settings() {
        let of = |text| Pattern::parse(text).unwrap();
        let patterns = [of("wip/{id}/*"), of("*JIRA_{id}")];
        assert_eq!(numbers("wip/7/x", &patterns), [7]);
        assert_eq!(numbers("a/JIRA_8", &patterns), [8]);
        assert_eq!(numbers("wip/7", &patterns), [0u64; 0]);
        assert_eq!(candidates("läuft/JIRA_x.9", &patterns, ["x.9", "x"].into_iter()), ["x.9"]);
        for none in ["", "wip/*", "{id}{id}"] {
            assert!(Pattern::parse(none).unwrap_err().contains("once"));
        }
    }
}
