//! Extracts the simple commands of a shell's text as words, for rules about commands.
//!
//! The text is parsed with the grammar of Bash and walked ([`tree`]); words are read from their raw text ([`quoting`]).
//! Commands are found wherever a shell would run them, and as arguments of other programs ([`wrappers`]). Nothing is run, and
//! variables are unknown. Text known only at run time is a hole in a word, or makes the whole text opaque. So does text that
//! hob does not understand.

mod evaluation;
mod gaps;
mod grammar;
mod hob;
mod programs;
mod quoting;
mod redirection;
mod tree;
mod word;
mod wrappers;

use self::tree::Context;

pub(crate) use self::tree::UNREADABLE;
pub(crate) use self::word::{Part, Word};

/// The maximum size of a text in bytes, including all texts that it runs.
const TEXT_MAX: usize = 256 * 1024;
const ALL_TEXTS_MAX: usize = 512 * 1024;
const COMMANDS_MAX: usize = 2000;
const DEPTH_MAX: usize = 12;
const STEPS_MAX: usize = 32;
/// Files that do not store the data written to them.
pub(crate) const DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
/// Reserved words. As the name of a command they show that the grammar and a shell disagree.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "case", "esac", "select", "function",
    "{", "}", "!", "[[",
];

/// The commands that a text runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    pub(crate) commands: Vec<Simple>,
    /// The reason why there may be further commands, if any.
    pub opaque: Option<&'static str>,
    /// True if it assigns variables, which may change the effect of its commands.
    pub(crate) has_assignments: bool,
    /// True if it defines functions, which may shadow programs.
    pub(crate) has_functions: bool,
    /// The directory changes so far.
    steps: Vec<Step>,
    bytes_read: usize,
    /// True if `exec` redirected the shell's input.
    is_fed: bool,
    /// True if a text could be evaluated as a subscript. The next field is true if a command evaluates one.
    has_subscript: bool,
    evaluates: bool,
    /// True while reading a command that a program may run.
    is_doubtful: bool,
}

/// A program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// The files that its redirections write. The next field has those that they read.
    pub(crate) writes: Vec<Word>,
    pub(crate) reads: Vec<Word>,
    /// The directory changes before it.
    pub(crate) steps: Vec<Step>,
    /// The text of a here-document or here-string for its input.
    input: Option<Word>,
    /// True if its input is another command's output.
    is_piped: bool,
    /// The index of the first word that may begin another command, for a program that may run its operands.
    pub(crate) may_run_from: Option<usize>,
    /// True if it is known only at run time whether this command runs.
    pub(crate) is_doubtful: bool,
}

/// A directory change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) to: Word,
    /// True if it certainly happens.
    pub(crate) is_certain: bool,
}

/// Reads a shell's text.
pub fn script(text: &str) -> Script {
    let mut script = Script::default();
    script.read(text, 0, &Context::default());
    script
}

/// Returns the commands of a program that is run with these arguments, without a shell.
pub fn program(words: &[String]) -> Script {
    // Agents without a tool for shell text pass the text to a shell.
    if let [shell, option, text] = words
        && matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
        && matches!(option.as_str(), "-c" | "-lc")
    {
        return script(text);
    }
    let mut script = Script::default();
    let words = words.iter().map(|word| Word::literal(word)).collect();
    script.add(Simple { words, ..Simple::default() }, 0);
    script
}

impl Script {
    fn read(&mut self, text: &str, depth: usize, context: &Context) {
        self.bytes_read += text.len();
        if text.len() > TEXT_MAX || self.bytes_read > ALL_TEXTS_MAX {
            return self.set_opaque("the shell text is too large");
        }
        if depth > DEPTH_MAX {
            return self.set_opaque("the shell text is nested too deeply");
        }
        tree::read(self, text, depth, context);
    }

    /// Reads a text that another shell process runs.
    fn read_apart(&mut self, text: &str, depth: usize, context: &Context) {
        let steps = self.steps.len();
        self.read(text, depth, context);
        self.steps.truncate(steps);
    }

    /// Adds a command and the commands that it runs.
    fn add(&mut self, simple: Simple, depth: usize) {
        let steps = self.steps.clone();
        self.add_at(Simple { steps, ..simple }, depth);
    }

    /// Adds a command with its own working directory.
    fn add_at(&mut self, mut simple: Simple, depth: usize) {
        while simple
            .words
            .first()
            .is_some_and(|word| !word.is_quoted && word.text().is_some_and(|text| RESERVED.contains(&text)))
        {
            simple.words.remove(0);
            self.set_opaque(UNREADABLE);
        }
        if simple.words.is_empty() && simple.writes.is_empty() && simple.reads.is_empty() {
            return;
        }
        if self.commands.len() >= COMMANDS_MAX {
            return self.set_opaque("the shell text has too many commands");
        }
        let index = self.commands.len();
        self.commands.push(simple);
        wrappers::unwrap(self, index, depth);
    }

    fn set_opaque(&mut self, why: &'static str) {
        self.opaque.get_or_insert(why);
    }

    fn change_directory(&mut self, to: Word) {
        // After too many changes the directory is unknown.
        let to = if self.steps.len() < STEPS_MAX { to } else { Word::hole() };
        self.steps.truncate(STEPS_MAX);
        self.steps.push(Step { to, is_certain: true });
    }

    fn doubt_steps(&mut self, from: usize) {
        self.steps.iter_mut().skip(from).for_each(|step| step.is_certain = false);
    }

    /// Marks the commands from this one on as running in any directory.
    fn move_commands(&mut self, from: usize) {
        for simple in self.commands.iter_mut().skip(from) {
            simple.steps.push(Step { to: Word::hole(), is_certain: false });
        }
    }

    /// Returns the commands as texts for explanations. A hole is rendered as `…`.
    pub fn render(&self) -> Vec<String> {
        self.commands.iter().map(Simple::render).filter(|shown| !shown.is_empty()).collect()
    }
}

impl Simple {
    /// Returns a program's name, without the directory of its path.
    pub(crate) fn name(&self) -> Option<&str> {
        name_of(&self.words)
    }

    /// Returns true if a redirection writes a file.
    pub(crate) fn writes_file(&self) -> bool {
        let is_device = |word: &Word| word.text().is_some_and(|text| DEVICES.contains(&text));
        !self.writes.iter().all(is_device)
    }

    pub(crate) fn render(&self) -> String {
        self.words.iter().map(Word::render).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the last part of a program's path, if it is known.
pub(crate) fn name_of(words: &[Word]) -> Option<&str> {
    let program = words.first()?;
    match program.parts.as_slice() {
        [] => Some(""),
        [Part::Text(name)] => Some(name.rsplit('/').next().unwrap_or(name)),
        [.., Part::Text(name)] if !program.is_several() => Some(name.rsplit_once('/')?.1),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
