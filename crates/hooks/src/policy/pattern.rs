//! A rule's pattern for commands, such as `git push --force*`, and how it is matched on the words of a command.
//!
//! - The first word is the program, by the last part of its path, or by its whole path if the pattern has a `/`.
//! - A word with a `-` is an option, wherever it stands before a `--`. `--force` is also `--force=…`; `-rf` is any spelling
//!   in which both letters are given.
//! - Other words are the first operands, in order. The value of an option may be taken for one, or passed over. A `*` alone
//!   is any number of operands; in a word, `*` is any text.

use super::shell::{Part, Simple, Word};

/// Whether a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    No,
    /// It may, which only running could tell.
    Maybe,
    Yes,
}

/// A pattern for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    program: String,
    options: Vec<String>,
    operands: Vec<Operand>,
    has_dashes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operand {
    Word(String),
    Any,
}

/// An operand of a command.
struct Given<'a> {
    word: &'a Word,
    /// Whether it may be the value of the option before it.
    is_maybe_value: bool,
}

/// Git's options before its command that take a value as the next word.
const GIT_VALUES: &[&str] = &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

impl Pattern {
    /// Reads a pattern; why it is none.
    pub(crate) fn parse(text: &str) -> Result<Pattern, &'static str> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("it is empty: write a program, and words that its arguments have")?.to_owned();
        if program.starts_with('-') {
            return Err("it begins with an option: write the program before it, or `*` for any");
        }
        let mut pattern = Pattern { program, options: Vec::new(), operands: Vec::new(), has_dashes: false };
        for word in words {
            match word {
                "--" => pattern.has_dashes = true,
                "*" => pattern.operands.push(Operand::Any),
                _ if word.starts_with('-') && word.len() > 1 && !pattern.has_dashes => {
                    pattern.options.push(word.to_owned())
                }
                _ => pattern.operands.push(Operand::Word(word.to_owned())),
            }
        }
        Ok(pattern)
    }

    /// Whether a command is one of these.
    pub(crate) fn matches(&self, simple: &Simple) -> Match {
        let Some(program) = simple.words.first() else { return Match::No };
        let by_name = match program.text() {
            Some(text) => {
                let name = if self.program.contains('/') { text } else { text.rsplit('/').next().unwrap_or(text) };
                // A name with a pattern for files in it may become any.
                match (glob(&self.program, name), program.is_glob) {
                    (true, false) => Match::Yes,
                    (false, false) => return Match::No,
                    (_, true) => Match::Maybe,
                }
            }
            None if self.can_be_program(program) => Match::Maybe,
            None => return Match::No,
        };
        if program.is_several() {
            // The program and its first arguments may come out of it.
            let arguments: Vec<Word> = std::iter::once(Word::hole()).chain(simple.words[1..].iter().cloned()).collect();
            return if self.matches_with(&arguments, true) { Match::Maybe } else { Match::No };
        }
        let is_git = program.text().is_none_or(|name| name.rsplit('/').next() == Some("git"));
        let arguments = if is_git { after_git_options(&simple.words[1..]) } else { &simple.words[1..] };
        let certain = self.matches_with(arguments, false);
        match (certain, certain || self.matches_with(arguments, true)) {
            (true, _) => by_name,
            (false, true) => Match::Maybe,
            (false, false) => Match::No,
        }
    }

    /// Whether a name with holes can be the program.
    fn can_be_program(&self, word: &Word) -> bool {
        let last = match word.parts.last() {
            Some(Part::Text(text)) => text.rsplit('/').next().unwrap_or(text),
            _ => "",
        };
        let has_slash = matches!(word.parts.last(), Some(Part::Text(text)) if text.contains('/'));
        if has_slash && !self.program.contains('/') {
            // The last part of the path is known.
            return glob(&self.program, last);
        }
        let start = word.start();
        let start = if self.program.contains('/') { start } else { start.rsplit('/').next().unwrap_or(start) };
        intersects(&self.program, &format!("{start}*{last}"))
    }

    /// Whether the arguments match, where a hole is anything or nothing.
    fn matches_with(&self, arguments: &[Word], holes_are_wild: bool) -> bool {
        let dashes = arguments.iter().position(|word| word.text() == Some("--"));
        if self.has_dashes && dashes.is_none() && !(holes_are_wild && arguments.iter().any(Word::is_several)) {
            return false;
        }
        let before = &arguments[..dashes.unwrap_or(arguments.len())];
        let has = |option: &String| {
            before.iter().any(|word| is_option(option, word) || holes_are_wild && word_may_be(option, word))
                || letters(option).is_some_and(|letters| {
                    letters.chars().all(|letter| before.iter().any(|word| has_letter(word, letter)))
                })
        };
        if !self.options.iter().all(has) {
            return false;
        }
        let mut given = Vec::new();
        let mut after_option = false;
        for word in before {
            let is_option = word.start().starts_with('-') && word.start().len() > 1;
            if !is_option {
                given.push(Given { word, is_maybe_value: after_option });
            }
            after_option = is_option && !word.start().contains('=');
        }
        if let Some(dashes) = dashes {
            given.extend(arguments[dashes + 1..].iter().map(|word| Given { word, is_maybe_value: false }));
        }
        operands(&self.operands, &given, holes_are_wild)
    }
}

/// Whether the given operands begin with the wanted ones. Bounded by the product of both.
fn operands(wanted: &[Operand], given: &[Given<'_>], holes_are_wild: bool) -> bool {
    // fits[at]: whether what is wanted so far can be met by the first `at` operands.
    let mut fits = vec![false; given.len() + 1];
    let passed_over = |fits: &mut Vec<bool>| {
        for (at, one) in given.iter().enumerate() {
            let is_nothing = one.is_maybe_value || holes_are_wild && one.word.is_several();
            fits[at + 1] |= fits[at] && is_nothing;
        }
    };
    fits[0] = true;
    passed_over(&mut fits);
    for want in wanted {
        let mut next = vec![false; given.len() + 1];
        match want {
            Operand::Any => {
                let mut reached = false;
                for (at, fit) in fits.iter().enumerate() {
                    reached |= fit;
                    next[at] = reached;
                }
            }
            Operand::Word(pattern) => {
                for (at, one) in given.iter().enumerate() {
                    let is_it = match one.word.text() {
                        Some(text) => glob(pattern, text),
                        None => holes_are_wild && word_may_be(pattern, one.word),
                    };
                    next[at + 1] |= fits[at] && is_it;
                    // A hole may be several words, the wanted one among them.
                    next[at] |= fits[at] && holes_are_wild && one.word.is_several() && is_it;
                }
            }
        }
        fits = next;
        passed_over(&mut fits);
    }
    fits.contains(&true)
}

/// Whether a word gives an option for certain.
fn is_option(option: &str, word: &Word) -> bool {
    let Some(text) = word.text().filter(|text| text.starts_with('-')) else {
        // `--force=$x` is given, whatever its value.
        return !option.contains('=') && word.start().split_once('=').is_some_and(|(name, _)| glob(option, name));
    };
    glob(option, text) || !option.contains('=') && text.split_once('=').is_some_and(|(name, _)| glob(option, name))
}

/// The letters of an option such as `-rf`.
fn letters(option: &str) -> Option<&str> {
    let letters = option.strip_prefix('-')?;
    ((1..=3).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_alphabetic())).then_some(letters)
}

/// Whether a word of single letters has this one.
fn has_letter(word: &Word, letter: char) -> bool {
    let Some(given) = word.text().and_then(|text| text.strip_prefix('-')) else { return false };
    (1..=6).contains(&given.len()) && given.chars().all(|c| c.is_ascii_alphabetic()) && given.contains(letter)
}

/// Whether a word with holes can become one that the pattern matches.
fn word_may_be(pattern: &str, word: &Word) -> bool {
    if word.is_several() {
        // One of the words that it becomes can be any.
        return true;
    }
    let text: String = word
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Hole { .. } => "*",
        })
        .collect();
    let is_glob_option = word.is_glob && word.start().starts_with('-');
    (word.has_hole() || is_glob_option) && intersects(pattern, &text.replace(['?', '['], "*"))
}

/// Git's arguments from its command on.
fn after_git_options(arguments: &[Word]) -> &[Word] {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let start = word.start();
        if !start.starts_with('-') || start.len() < 2 {
            break;
        }
        at += 1 + usize::from(word.text().is_some_and(|word| GIT_VALUES.contains(&word)));
    }
    arguments.get(at..).unwrap_or_default()
}

/// Whether a text matches a pattern in which `*` is any text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    left.len() >= last.len() && left.ends_with(last)
}

/// Whether any text matches both patterns.
fn intersects(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().take(200).collect(), other.chars().take(200).collect());
    // meets[b]: whether the rest of `one` from `a` on and the rest of `other` from `b` on have a text in common.
    let ends = |rest: &[char]| rest.iter().all(|c| *c == '*');
    let mut meets: Vec<bool> = (0..=other.len()).map(|b| ends(&other[b..])).collect();
    for a in (0..one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        row[other.len()] = ends(&one[a..]);
        for b in (0..other.len()).rev() {
            row[b] = match (one[a], other[b]) {
                // A star is nothing, or takes what stands opposite.
                ('*', _) | (_, '*') => meets[b] || row[b + 1],
                (x, y) => x == y && meets[b + 1],
            };
        }
        meets = row;
    }
    meets[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_patterns() {
        for (pattern, text, expected) in [
            ("--force*", "--force-with-lease", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
            ("+*", "+main", true),
            ("git", "gitk", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_that_have_a_text_in_common() {
        for (one, other, expected) in [
            ("git", "*", true),
            ("git", "g*t", true),
            ("git", "s*", false),
            ("--force*", "--f*", true),
            ("--force*", "--verbose*", false),
            ("a*c", "*b*", true),
            ("abc", "abc", true),
            ("ab", "abc", false),
            ("", "*", true),
        ] {
            assert_eq!((intersects(one, other), intersects(other, one)), (expected, expected), "{one} {other}");
        }
    }
}
