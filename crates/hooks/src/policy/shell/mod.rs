//! The simple commands in a shell's text, as words: what a rule about a command is matched on.
//!
//! Commands are found wherever a shell would run them: in lists, pipes, loops, functions, substitutions, here-documents
//! for a shell, and behind programs that run others ([`wrappers`]). Nothing is run and no variable is known: what only
//! running could tell is a hole in a word, or makes the text opaque. Too much is found rather than too little.

mod expansion;
mod hob;
mod reader;
mod word;
mod wrappers;

pub(crate) use self::word::{Part, Word};

/// The most bytes of a text that are read, commands in it, and levels of nesting.
const TEXT_MAX: usize = 256 * 1024;
const COMMANDS_MAX: usize = 2000;
const DEPTH_MAX: usize = 24;
/// How often a part is read again that was taken for arithmetic.
const AGAIN_MAX: usize = 16;

/// What a text runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    pub(crate) commands: Vec<Simple>,
    /// Why there may be more than is found, if so.
    pub opaque: Option<&'static str>,
    read_again: usize,
}

/// A program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// The files that its redirections write.
    pub(crate) writes: Vec<Word>,
    /// What a here-document or here-string gives it.
    input: Option<Word>,
    /// Whether another command's output is its input.
    is_piped: bool,
}

/// Reads a shell's text.
pub fn script(text: &str) -> Script {
    let mut script = Script::default();
    script.read(text, 0);
    script
}

/// The commands of a program that is run with these arguments, without a shell.
pub fn program(words: &[String]) -> Script {
    let mut script = Script::default();
    let words = words.iter().map(|word| Word::known(word)).collect();
    script.add(Simple { words, ..Simple::default() }, 0);
    script
}

impl Script {
    fn read(&mut self, text: &str, depth: usize) {
        if text.len() > TEXT_MAX {
            return self.is_opaque("it is longer than what is looked at");
        }
        if depth > DEPTH_MAX {
            return self.is_opaque("it is nested deeper than what is looked at");
        }
        reader::Reader::new(text, depth, self).read();
    }

    /// Adds a command, and those that it runs.
    fn add(&mut self, simple: Simple, depth: usize) {
        if self.commands.len() >= COMMANDS_MAX {
            return self.is_opaque("it has more commands than are looked at");
        }
        let index = self.commands.len();
        self.commands.push(simple);
        wrappers::unwrap(self, index, depth);
    }

    fn is_opaque(&mut self, why: &'static str) {
        self.opaque.get_or_insert(why);
    }

    /// The commands as texts, a hole as `…`: for explanations.
    pub fn shown(&self) -> Vec<String> {
        self.commands.iter().map(Simple::shown).collect()
    }
}

impl Simple {
    pub(crate) fn shown(&self) -> String {
        self.words.iter().map(Word::shown).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
