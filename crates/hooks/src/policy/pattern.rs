//! Patterns for commands, such as `git push --force*`, and their match with the words of a command.
//!
//! - The first word is the program: the last part of its path, or its whole path if the pattern has a `/`.
//! - A word with a `-` is an option, anywhere before a `--`. It matches every known name of the option, abbreviations, and
//!   letters in clusters. `--force` is also `--force=…`.
//! - Other words are the first operands, in order. A lone `*` matches any number of operands; in a word, `*` matches any text.
//!
//! A rule that allows uses [`Pattern::covers`]: the pattern must spell out every argument.

use super::glob::{glob, intersects};
use super::options::{self, Argument, Arguments, GivenOption};
use super::shell::{Part, Simple, Word, name_of};

/// The result of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    No,
    /// The match depends on text that is known only at run time.
    Maybe,
    Yes,
}

/// A pattern for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    program: String,
    has_path: bool,
    has_glob: bool,
    options: Vec<String>,
    operands: Vec<Operand>,
    has_dashes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operand {
    Word(String),
    Any,
}

/// The maximum number of operands that are tried as the program of a pattern.
const PLACES_MAX: usize = 16;
/// Git options that change only its output.
const HARMLESS: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];
/// Options that are complete even if other options have them as a prefix.
const COMPLETE: &[&str] = &[
    "--all",
    "--debug",
    "--delete",
    "--dry-run",
    "--force",
    "--global",
    "--help",
    "--local",
    "--name",
    "--no",
    "--output",
    "--quiet",
    "--recursive",
    "--release",
    "--tag",
    "--test",
    "--verbose",
    "--version",
    "--yes",
];

impl Pattern {
    /// Parses a pattern. Returns an error text for an invalid one.
    pub(crate) fn parse(text: &str) -> Result<Pattern, &'static str> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("it is empty: write a program, and words of its arguments")?.to_owned();
        if program.starts_with('-') {
            return Err("it starts with an option: write the program before it, or `*` for any");
        }
        let (has_path, has_glob) = (program.contains('/'), program.contains('*'));
        let (options, operands) = (Vec::new(), Vec::new());
        let mut pattern = Pattern { program, has_path, has_glob, options, operands, has_dashes: false };
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

    /// Matches a command, and the commands that it may run.
    pub(crate) fn matches(&self, simple: &Simple) -> Match {
        let found = self.matches_words(&simple.words);
        if found > Match::No {
            return if simple.is_doubtful { Match::Maybe } else { found };
        }
        let Some(from) = simple.may_run_from.filter(|_| !self.program.starts_with('*')) else { return Match::No };
        let is_program = |at: &usize| simple.words[*at].text().is_some_and(|text| self.is_program(text));
        let places: Vec<usize> = (from..simple.words.len()).filter(is_program).take(PLACES_MAX).collect();
        let may_run = |at: &usize| self.matches_words(&simple.words[*at..]) > Match::No;
        if places.len() == PLACES_MAX || places.iter().any(may_run) { Match::Maybe } else { Match::No }
    }

    fn matches_words(&self, words: &[Word]) -> Match {
        let Some(program) = words.first() else { return Match::No };
        let by_name = match program.text() {
            Some(text) if self.is_program(text) => Match::Yes,
            Some(_) => return Match::No,
            None if self.can_be_program(program) => Match::Maybe,
            None => return Match::No,
        };
        if program.is_several() {
            // The hole may expand to the program and its first arguments.
            let all: Vec<Word> = std::iter::once(Word::hole()).chain(words[1..].iter().cloned()).collect();
            let arguments = options::read(None, &all, false, false);
            return if self.matches_with(&arguments, Match::Maybe) { Match::Maybe } else { Match::No };
        }
        let name = name_of(words).unwrap_or(&self.program);
        let (options, at) = options::options_of(name, &words[1..]);
        let arguments = options::read(options, &words[1 + at..], false, options::has_single_dash(name));
        if self.matches_with(&arguments, Match::Yes) {
            by_name
        } else if self.matches_with(&arguments, Match::Maybe) {
            Match::Maybe
        } else {
            Match::No
        }
    }

    /// Returns true if the pattern is about the program that this word names. Every rule asks this of every command.
    fn is_program(&self, word: &str) -> bool {
        if self.has_glob {
            return glob(&self.program, self.part_of(word));
        }
        match word.strip_suffix(self.program.as_str()) {
            Some(directory) => directory.is_empty() || !self.has_path && directory.ends_with('/'),
            None => false,
        }
    }

    /// Returns the part of a program's path that the pattern compares.
    fn part_of<'a>(&self, path: &'a str) -> &'a str {
        if self.has_path { path } else { path.rsplit('/').next().unwrap_or(path) }
    }

    /// Returns true if a word with holes can be the program.
    fn can_be_program(&self, word: &Word) -> bool {
        if let Some(Part::Text(text)) = word.parts.last()
            && text.contains('/')
            && !self.has_path
        {
            // The last part of the path is known.
            return glob(&self.program, self.part_of(text));
        }
        intersects(&self.program, self.part_of(&word.as_pattern()))
    }

    /// Returns true if the arguments match with at least this certainty.
    fn matches_with(&self, arguments: &Arguments, least: Match) -> bool {
        let before = &arguments.list[..arguments.dashes.unwrap_or(arguments.list.len())];
        let is_several = |argument: &Argument| matches!(argument, Argument::Operand { word, .. } if word.is_several());
        if self.has_dashes && arguments.dashes.is_none() && (least == Match::Yes || !before.iter().any(is_several)) {
            return false;
        }
        if !self.options.iter().all(|option| is_given(option, before, least)) {
            return false;
        }
        let mut operands: Vec<(&Word, bool)> = Vec::new();
        for argument in &arguments.list {
            match argument {
                Argument::Operand { word, may_be_value } => operands.push((word, *may_be_value)),
                // `curl -X DELETE` names the value of an option.
                Argument::Option(given) => {
                    let is_named = || self.options.iter().any(|option| gives(option, argument) > Match::No);
                    operands.extend(given.value.as_ref().filter(|_| is_named()).map(|value| (value, true)));
                }
            }
        }
        begin(&self.operands, &operands, least)
    }

    /// Returns true if the pattern spells out the whole command: its program by name, every option and every operand. An option
    /// with a `*` stands for any number of options that match it, with their values.
    pub(crate) fn covers(&self, simple: &Simple) -> bool {
        if simple.is_doubtful {
            return true;
        }
        let Some(program) = simple.words.first().and_then(Word::text) else { return false };
        if !glob(&self.program, program) || program.contains('/') && !self.has_path {
            return false;
        }
        let words = &simple.words[1..];
        let (options, at) = options::options_of(program, words);
        if !words[..at].iter().all(|word| word.text().is_some_and(|text| HARMLESS.contains(&text))) {
            return false;
        }
        let arguments = options::read(options, &words[at..], false, options::has_single_dash(program));
        let takes_any_option = self.options.iter().any(|option| option.starts_with("-*"));
        let mut operands = Vec::new();
        for (index, argument) in arguments.list.iter().enumerate() {
            match argument {
                Argument::Operand { word, .. } => {
                    let is_after_dashes = self.has_dashes && arguments.dashes.is_some_and(|dashes| index >= dashes);
                    let may_be_option = word.may_be_option() && !is_after_dashes && !takes_any_option;
                    // A remote such as `ext::sh -c id` is a program.
                    let is_helper = program == "git" && word.render().contains("::");
                    operands.push((word, word.is_several() || may_be_option || is_helper));
                }
                Argument::Option(given) => {
                    if given.open.is_some() {
                        return false;
                    }
                    let full = given.value.as_ref().and_then(Word::text).map(|value| format!("{}={value}", given.name));
                    let is_whole =
                        |option: &&String| full.as_ref().is_some_and(|full| option.contains('=') && glob(option, full));
                    let is_named =
                        |option: &&String| names(given).any(|name| glob(option, &name) || has_letter(option, &name));
                    match self.options.iter().find(|option| is_whole(option) || is_named(option)) {
                        Some(option) if option.contains(['*', '=']) => {}
                        Some(_) => operands.extend(given.value.as_ref().map(|value| (value, value.text().is_none()))),
                        // A word of letters is in the list as a whole, and so is each of its letters.
                        None if given.is_cluster => {}
                        None => return false,
                    }
                }
            }
        }
        (!self.has_dashes || arguments.dashes.is_some())
            && self.options.iter().all(|option| option.contains('*') || is_given(option, &arguments.list, Match::Yes))
            && spell_out(&self.operands, &operands)
    }
}

/// Returns true if the arguments contain an option, or all its letters, with at least this certainty.
fn is_given(option: &str, arguments: &[Argument], least: Match) -> bool {
    let has = |option: &str| arguments.iter().any(|argument| gives(option, argument) >= least);
    has(option) || letters(option).is_some_and(|letters| letters.chars().all(|letter| has(&format!("-{letter}"))))
}

/// Returns the names of a given option: the written one and all names that the program has for it.
fn names(given: &GivenOption) -> impl Iterator<Item = String> {
    let known = given.entry.unwrap_or_default().trim_end_matches([':', '?']).split('|').filter(|name| !name.is_empty());
    let known = known.map(|name| if name.chars().count() == 1 { format!("-{name}") } else { format!("--{name}") });
    std::iter::once(given.name.clone()).chain(known)
}

/// Matches an argument against an option of the pattern.
fn gives(option: &str, argument: &Argument) -> Match {
    let may_be = |word: &Word| {
        if word.is_several() || intersects(option, &word.as_pattern()) { Match::Maybe } else { Match::No }
    };
    let given = match argument {
        Argument::Option(given) => given,
        Argument::Operand { word, .. } => return if word.has_hole() { may_be(word) } else { Match::No },
    };
    if let Some(word) = &given.open {
        return may_be(word);
    }
    if names(given).any(|name| glob(option, &name)) {
        return if given.is_doubtful { Match::Maybe } else { Match::Yes };
    }
    if let Some((name, wanted)) = option.split_once('=')
        && let Some(value) = &given.value
        && names(given).any(|given| given == name)
    {
        return is_operand(wanted, value);
    }
    // An option that is unknown for the program may be an abbreviation.
    let is_beginning = given.entry.is_none()
        && given.name.len() > 3
        && given.name.starts_with("--")
        && option.trim_end_matches('*').starts_with(&given.name)
        && !COMPLETE.contains(&given.name.as_str());
    if is_beginning { Match::Maybe } else { Match::No }
}

/// Returns the letters of an option such as `-rf`.
fn letters(option: &str) -> Option<&str> {
    let letters = option.strip_prefix('-')?;
    ((2..=3).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_alphabetic())).then_some(letters)
}

/// Returns true if an option of several letters contains the letter of this one.
fn has_letter(option: &str, name: &str) -> bool {
    name.len() == 2 && letters(option).is_some_and(|letters| letters.contains(&name[1..]))
}

/// Matches a word against an operand of the pattern.
fn is_operand(pattern: &str, word: &Word) -> Match {
    if let Some(text) = word.text() {
        return if glob(pattern, text) || glob(pattern, &plain(text)) { Match::Yes } else { Match::No };
    }
    let shown = word.as_pattern();
    // A glob that begins with `*` does not match the name of a hidden file.
    let is_hidden = pattern.starts_with('.') && matches!(word.parts.first(), Some(Part::Glob(_)));
    let may_be =
        word.is_several() || !is_hidden && (intersects(pattern, &shown) || intersects(pattern, &plain(&shown)));
    if may_be { Match::Maybe } else { Match::No }
}

/// Normalizes a path: removes `./`, `//`, `dir/..` and a trailing slash.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." && !last.contains('*') => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Returns true if the given operands begin with the wanted ones. A possible value of an option may be skipped.
fn begin(wanted: &[Operand], given: &[(&Word, bool)], least: Match) -> bool {
    let holes_are_wild = least == Match::Maybe;
    // fits[at]: true if the wanted operands so far can match the first `at` given ones.
    let mut fits = vec![false; given.len() + 1];
    let pass_over = |fits: &mut Vec<bool>| {
        for (at, (word, may_be_value)) in given.iter().enumerate() {
            fits[at + 1] |= fits[at] && (*may_be_value || holes_are_wild && word.is_several());
        }
    };
    fits[0] = true;
    pass_over(&mut fits);
    for want in wanted {
        let mut next = vec![false; given.len() + 1];
        match want {
            Operand::Any => {
                let mut is_reached = false;
                for (at, fit) in fits.iter().enumerate() {
                    is_reached |= fit;
                    next[at] = is_reached;
                }
            }
            Operand::Word(pattern) => {
                for (at, (word, _)) in given.iter().enumerate() {
                    let is_it = is_operand(pattern, word) >= least;
                    next[at + 1] |= fits[at] && is_it;
                    // A hole may expand to several words, including the wanted one.
                    next[at] |= fits[at] && holes_are_wild && word.is_several() && is_it;
                }
            }
        }
        fits = next;
        pass_over(&mut fits);
    }
    fits.contains(&true)
}

/// Returns true if the wanted operands match all given ones. A `*` does not match a marked operand.
fn spell_out(wanted: &[Operand], given: &[(&Word, bool)]) -> bool {
    let mut fits = vec![false; given.len() + 1];
    fits[0] = true;
    for want in wanted {
        let mut next = vec![false; given.len() + 1];
        for at in 0..=given.len() {
            next[at] = match want {
                Operand::Any => fits[at] || at > 0 && next[at - 1] && !given[at - 1].1,
                Operand::Word(pattern) => {
                    at > 0 && fits[at - 1] && given[at - 1].0.text().is_some_and(|text| glob(pattern, text))
                }
            }
        }
        fits = next;
    }
    fits[given.len()]
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
