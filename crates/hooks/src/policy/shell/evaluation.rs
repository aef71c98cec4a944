//! Quoted text that a shell evaluates nevertheless: subscripts in arithmetic, names of variables, prompts.
//!
//! `x='a[$(id)]'; echo $((x))` runs `id`. Such a text alone is harmless, and so is arithmetic; the combination is opaque.

use super::{Script, Simple, Word};

pub(super) const OPAQUE: &str = "a shell may evaluate quoted text";

/// Variables that hold shell text, or name a file that a shell reads.
const RUN: &[&str] = &["BASH_ENV", "PROMPT_COMMAND", "BASH_ALIASES", "BASH_CMDS"];
/// Prompt variables, which a shell expands.
const PROMPTS: &[&str] = &["PS0", "PS1", "PS2", "PS4"];
/// Commands that evaluate the names of variables.
const TAKES_NAMES: &[&str] = &[
    "let",
    "declare",
    "typeset",
    "local",
    "readonly",
    "export",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "wait",
];
/// Commands whose arguments may be assignments.
const ASSIGNS: &[&str] = &["env", "sudo", "doas"];

impl Script {
    /// Records a text that is quoted once.
    pub(super) fn note_text(&mut self, text: &str) {
        if text.find('[').is_some_and(|at| has_substitution(&text[at..])) {
            self.has_subscript = true;
            self.check_evaluation();
        }
    }

    /// Records a quoted text in arithmetic, a test or an expansion, where it may be part of a subscript.
    pub(super) fn note_quoted(&mut self, text: &str) {
        if has_substitution(text) {
            self.has_subscript = true;
            self.check_evaluation();
        }
    }

    pub(super) fn set_evaluates(&mut self) {
        self.evaluates = true;
        self.check_evaluation();
    }

    fn check_evaluation(&mut self) {
        if self.has_subscript && self.evaluates {
            self.set_opaque(OPAQUE);
        }
    }

    /// Records an expansion: `${x@P}` runs the text of a variable, and arithmetic evaluates subscripts.
    pub(super) fn expand(&mut self, kind: &str, source: &str) {
        if kind == "expansion" && source.contains("@P") {
            self.set_opaque(OPAQUE);
        }
        let is_substring = || source.split(':').skip(1).any(|rest| !rest.starts_with(['-', '=', '+', '?']));
        if matches!(kind, "arithmetic_expansion" | "subscript") || kind == "expansion" && is_substring() {
            self.set_evaluates();
        }
    }

    /// Records an assignment in its source form.
    pub(super) fn note_assignment(&mut self, source: &str) {
        let name = source.split(['=', '+', '[']).next().unwrap_or_default();
        if RUN.contains(&name)
            || PROMPTS.contains(&name) && may_substitute(&source[name.len()..])
            || name == "ENV" && source.contains("<(")
        {
            self.set_opaque(OPAQUE);
        }
        if source[name.len()..].starts_with('[') {
            self.set_evaluates();
        }
    }

    /// Records a command that evaluates its arguments.
    pub(super) fn note_command(&mut self, simple: &Simple) {
        let Some(name) = simple.name() else { return };
        let words = &simple.words[1..];
        let is_option = |word: &Word, letters: &[char]| {
            word.may_be_option() && (word.text().is_none() || word.start()[1..].contains(letters))
        };
        let has_option = |letters: &[char]| words.iter().any(|word| is_option(word, letters));
        let takes_names = TAKES_NAMES.contains(&name)
            || name == "printf" && words.first().is_some_and(|word| word.has_hole() || word.start().starts_with("-v"))
            || name == "test" && has_option(&['v', 'R']);
        let is_declaration = matches!(name, "declare" | "typeset" | "local" | "readonly" | "export");
        if takes_names {
            if name == "let" || words.iter().any(has_open_name) || is_declaration && has_option(&['i']) {
                self.set_evaluates();
            }
            let is_substituted = |word: &Word| word.start().contains("=(") && has_substitution(&word.render());
            let has_element = || words.iter().any(|word| word.render().contains('['));
            if is_declaration && (words.iter().any(is_substituted) || has_option(&['n']) && has_element()) {
                self.set_opaque(OPAQUE);
            }
        }
        if takes_names || ASSIGNS.contains(&name) {
            words.iter().for_each(|word| self.note_name(&word.render()));
        }
        if let Some(input) = simple.input.as_ref().filter(|_| takes_names) {
            self.note_text(&input.render());
        }
        let letters: &[char] = match name {
            "mapfile" | "readarray" => &['C'],
            "compgen" | "complete" => &['C', 'W', 'F'],
            "hash" => &['p'],
            "enable" => &['f'],
            _ => return,
        };
        if has_option(letters) {
            self.set_opaque(OPAQUE);
        }
    }

    /// Records an argument that may be an assignment or the name of a variable.
    fn note_name(&mut self, text: &str) {
        let name = text.split(['=', '+', '[']).next().unwrap_or_default();
        if name == text && (RUN.contains(&name) || PROMPTS.contains(&name)) {
            return self.set_opaque(OPAQUE);
        }
        if name != text {
            self.note_assignment(text);
        }
    }
}

/// Returns true if an argument may name an array element that is known only at run time.
fn has_open_name(word: &Word) -> bool {
    match word.start().split_once('=') {
        Some((name, _)) => name.contains('['),
        None => word.render().contains('[') || word.text().is_none(),
    }
}

/// Returns true if the text of a prompt may contain a substitution.
fn may_substitute(assigned: &str) -> bool {
    has_substitution(assigned) || assigned.contains('$') && !assigned.starts_with("='")
}

/// Returns true if a text contains a command substitution.
pub(super) fn has_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

/// Returns true if a test evaluates arithmetic or a name.
pub(super) fn compares(source: &str) -> bool {
    let has = |operators: &[&str]| operators.iter().any(|operator| source.contains(operator));
    has(&["-v", "-R"]) || source.starts_with("[[") && has(&["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
}

/// Returns true if a word in its source form is an assignment before a command.
pub(super) fn is_assignment(source: &str) -> bool {
    let name = source.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if name.len() == source.len() || source.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = match name.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
        Some((_, rest)) => rest,
        None => name,
    };
    rest.strip_prefix('+').unwrap_or(rest).starts_with('=') || name.starts_with('[') && name.contains("]=")
}
