//! How Haskell code goes to GHCi: cut into what GHCi takes at once, wrapped in `:{ :}` where it has several lines, and
//! checked for commands that would break the session.

use super::super::{Plan, Refusal, SCRIPT_PATH, Step};

/// Longer pieces go through a file: a pipe holds 64 KiB.
const MAX_PIPED: usize = 48 * 1024;

/// One piece that GHCi takes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    kind: Kind,
    lines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `:type map`
    Command,
    Import,
    /// Equations, signatures, types, classes: neighbours belong together.
    Declaration,
    /// `f :: Int -> Int`, which is a declaration if an equation of `f` follows, else an expression.
    Signature,
    /// Expressions, bindings, `let`.
    Statement,
    /// What its author wrapped in `:{ :}`.
    Block,
}

pub(super) fn plan(code: &str) -> Result<Plan, Refusal> {
    let units = units(code);
    if units.is_empty() {
        return Err(Refusal {
            message: "there is nothing to evaluate".to_owned(),
            hint: "Give an expression, a declaration or a GHCi command in `code`.".to_owned(),
        });
    }
    let mut steps = Vec::new();
    for unit in &units {
        if asks(unit) {
            steps.push(Step { bytes: super::announcement().into_bytes(), advance: 1, script: None });
        }
        steps.push(step(unit)?);
    }
    Ok(Plan { steps, notes: Vec::new() })
}

fn step(unit: &Unit) -> Result<Step, Refusal> {
    let (bytes, advance) = match (unit.kind, unit.lines.as_slice()) {
        (Kind::Command, [line]) => (format!("{}\n", command(line)?), 1),
        (_, [line]) => (format!("{line}\n"), 1),
        (_, lines) => (format!(":{{\n{}\n:}}\n", lines.join("\n")), lines.len() as u64 + 2),
    };
    if bytes.len() <= MAX_PIPED {
        return Ok(Step { bytes: bytes.into_bytes(), advance, script: None });
    }
    let call = format!(":script {SCRIPT_PATH}\n");
    Ok(Step { bytes: call.into_bytes(), advance: 1, script: Some(bytes.into_bytes()) })
}

/// Whether the code itself reads standard input. What it calls may do so too; then only a question that ends without a
/// newline is seen late.
fn asks(unit: &Unit) -> bool {
    const WORDS: [&str; 8] =
        ["getLine", "getChar", "getContents", "interact", "readLn", "isEOF", "hGetLine", "hGetChar"];
    let word = |c: char| !(c.is_alphanumeric() || c == '_' || c == '\'');
    let calls = |line: &String| line.split(word).any(|name| WORDS.contains(&name));
    // A declaration only says what would be asked.
    matches!(unit.kind, Kind::Statement | Kind::Block)
        && !unit.lines[0].starts_with("let ")
        && unit.lines.iter().any(calls)
}

/// A GHCi command as it may be run.
fn command(line: &str) -> Result<String, Refusal> {
    let refuse = |message: &str, hint: &str| Err(Refusal { message: message.to_owned(), hint: hint.to_owned() });
    if let Some(shell) = line.strip_prefix(":!") {
        if shell.trim().is_empty() {
            return refuse("an interactive shell would eat the session's input", "Give the command after `:!`.");
        }
        // A command that reads standard input would eat the next evaluation.
        return Ok(format!(":! exec </dev/null; {}", shell.trim_start()));
    }
    let mut words = line[1..].split_whitespace();
    let name = words.next().unwrap_or_default();
    let abbreviates = |full: &str, shortest: usize| name.len() >= shortest && full.starts_with(name);
    if abbreviates("edit", 1) {
        return refuse("an editor would eat the session's input", "Edit the file itself, then repl_reload.");
    }
    if abbreviates("set", 2) || abbreviates("seti", 4) {
        for word in words {
            match word {
                "prompt" | "prompt2" | "prompt-cont" | "prompt-function" | "prompt-cont-function" => {
                    return refuse(
                        "the session's prompt tells when an evaluation has ended",
                        "Leave the prompt as it is; nobody sees it.",
                    );
                }
                "+m" => {
                    return refuse(
                        "`:set +m` would make GHCi wait for more lines",
                        "Give all lines of the code in one call; no setting is needed.",
                    );
                }
                "-fno-code" => {
                    return refuse(
                        "without code generation nothing can be evaluated",
                        "Start a session with a `command` of its own, such as [\"ghci\", \"-fno-code\"], and only load in it.",
                    );
                }
                _ => {}
            }
        }
    }
    Ok(line.to_owned())
}

pub(super) fn is_quit(line: &str) -> bool {
    line.strip_prefix(':').is_some_and(|word| !word.is_empty() && "quit".starts_with(word.trim()))
}

/// What of some code only defines something.
pub(super) struct Definitions {
    pub(super) code: String,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

/// The definitions in some code, if any: imports, declarations, `let`, and commands that load and set.
pub(super) fn definitions(code: &str) -> Option<Definitions> {
    let units = units(code);
    let kept: Vec<String> = units.iter().filter(|unit| defines(unit)).map(|unit| unit.lines.join("\n")).collect();
    let whole = kept.len() == units.len();
    (!kept.is_empty()).then(|| Definitions { code: kept.join("\n"), whole })
}

fn defines(unit: &Unit) -> bool {
    let kind = if unit.kind == Kind::Block { kind(&unit.lines.join("\n")) } else { unit.kind };
    match kind {
        Kind::Import | Kind::Declaration => true,
        Kind::Command => {
            let name = unit.lines[0][1..].split_whitespace().next().unwrap_or_default().trim_end_matches('!');
            let full = ["load", "add", "module", "reload", "set", "seti", "cd", "def", "unset"];
            !name.is_empty() && full.iter().any(|full| full.starts_with(name))
        }
        Kind::Signature | Kind::Block => false,
        // `let` without `in` binds; anything else may do something.
        Kind::Statement => {
            unit.lines[0].starts_with("let ")
                && !unit.lines.iter().any(|line| line.split_whitespace().any(|word| word == "in"))
        }
    }
}

/// Cuts code into units.
fn units(code: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut lines = code.lines().map(str::trim_end).peekable();
    let mut open = Open::default();
    // Whether the last unit may go on: it is code, and no command or block came after it.
    let mut going_on = false;
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed == ":{" && !open.is_open() {
            let inside: Vec<String> =
                lines.by_ref().take_while(|line| line.trim() != ":}").map(str::to_owned).collect();
            if !inside.is_empty() {
                units.push(Unit { kind: Kind::Block, lines: inside });
            }
            going_on = false;
        } else if trimmed == ":}" || trimmed == ":{" {
            // It would end or open a block of ours.
        } else if going_on && (open.is_open() || is_continuation(line)) {
            open.read(line);
            units.last_mut().expect("it goes on").lines.push(line.to_owned());
        } else if trimmed.is_empty() {
        } else if trimmed.starts_with(':') && !trimmed.starts_with("::") {
            units.push(Unit { kind: Kind::Command, lines: vec![trimmed.to_owned()] });
            going_on = false;
        } else if let Some(flags) = language_pragma(trimmed) {
            units.push(Unit { kind: Kind::Command, lines: vec![flags] });
            going_on = false;
        } else {
            open = Open::default();
            open.read(line);
            // The first line's indentation is the code's margin.
            let line = if units.is_empty() { trimmed } else { line };
            units.push(Unit { kind: Kind::Statement, lines: vec![line.to_owned()] });
            going_on = true;
        }
    }
    for unit in &mut units {
        while unit.lines.len() > 1 && unit.lines.last().is_some_and(String::is_empty) {
            unit.lines.pop();
        }
        if unit.kind == Kind::Statement {
            unit.kind = kind(&unit.lines.join("\n"));
        }
    }
    join(units)
}

/// Joins neighbouring declarations, and signatures with what they are signatures of.
fn join(units: Vec<Unit>) -> Vec<Unit> {
    let mut joined: Vec<Unit> = Vec::new();
    let mut rest = units.into_iter().peekable();
    while let Some(mut unit) = rest.next() {
        if unit.kind == Kind::Signature {
            let declares = rest.peek().is_some_and(|next| matches!(next.kind, Kind::Declaration | Kind::Signature));
            unit.kind = if declares { Kind::Declaration } else { Kind::Statement };
        }
        match joined.last_mut() {
            Some(last) if last.kind == Kind::Declaration && unit.kind == Kind::Declaration => {
                last.lines.extend(unit.lines)
            }
            _ => joined.push(unit),
        }
    }
    joined
}

/// Whether a line cannot begin anything.
fn is_continuation(line: &str) -> bool {
    let indented = line.is_empty() || line.starts_with([' ', '\t']);
    let closes = line.starts_with([')', ']', '}', ',', '|']);
    let word = line.split_whitespace().next().unwrap_or_default();
    indented
        || closes
        || matches!(word, "where" | "in" | "then" | "else" | "of" | "deriving" | "=" | "->" | "=>" | "::")
}

fn kind(text: &str) -> Kind {
    let first = text.split_whitespace().next().unwrap_or_default();
    match first {
        "import" => return Kind::Import,
        "data" | "type" | "newtype" | "class" | "instance" | "deriving" | "infix" | "infixl" | "infixr" | "foreign"
        | "default" | "pattern" => return Kind::Declaration,
        "let" | "do" | "if" | "case" => return Kind::Statement,
        _ => {}
    }
    if text.starts_with("{-#") {
        return Kind::Declaration;
    }
    match left_of_equals(text) {
        Some(left) if !has_statement_word(left) => Kind::Declaration,
        Some(_) => Kind::Statement,
        None if is_signature(text) => Kind::Signature,
        None => Kind::Statement,
    }
}

/// What stands left of the first `=` that is no part of an operator and outside of brackets, strings and comments.
fn left_of_equals(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let symbol = |byte: Option<&u8>| byte.is_some_and(|byte| b"!#$%&*+./<=>?@\\^|-~:".contains(byte));
    let mut open = Open::default();
    for (at, line) in lines_with_offsets(text) {
        let before = open.clone();
        for (column, byte) in line.bytes().enumerate() {
            let here = at + column;
            if byte == b'=' && !symbol(bytes.get(here + 1)) && !(here > 0 && symbol(bytes.get(here - 1))) {
                let mut inside = before.clone();
                inside.read(&line[..column]);
                if !inside.is_open() && !inside.in_comment_line {
                    return Some(&text[..here]);
                }
            }
        }
        open.read(line);
    }
    None
}

fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().map(move |line| (line.as_ptr() as usize - text.as_ptr() as usize, line))
}

fn has_statement_word(left: &str) -> bool {
    left.split_whitespace()
        .any(|word| matches!(word, "let" | "do" | "of" | "case" | "if" | "$" | "<-" | "->" | "." | ">>=" | ">>"))
        || left.contains('\\')
        || left.contains('"')
}

/// `name, name :: type` or `(op) :: type`
fn is_signature(text: &str) -> bool {
    let Some((names, _)) = text.split_once("::") else { return false };
    names.split(',').map(str::trim).all(|name| {
        let word = name.starts_with(|c: char| c.is_lowercase() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'');
        let operator = name.starts_with('(') && name.ends_with(')') && !name.contains(' ') && name.len() > 2;
        word || operator
    })
}

/// `{-# LANGUAGE A, B #-}` as the command that has its effect.
fn language_pragma(line: &str) -> Option<String> {
    let inside = line.strip_prefix("{-#")?.strip_suffix("#-}")?.trim();
    let (word, names) = inside.split_once(char::is_whitespace)?;
    let flags: Vec<String> = names.split(',').map(|name| format!("-X{}", name.trim())).collect();
    word.eq_ignore_ascii_case("language").then(|| format!(":set {}", flags.join(" ")))
}

/// Brackets and comments that are still open at the end of a line. Knows as much of Haskell's lexical syntax as that needs.
#[derive(Debug, Clone, Default)]
struct Open {
    brackets: i32,
    comments: i32,
    in_comment_line: bool,
}

impl Open {
    fn is_open(&self) -> bool {
        self.brackets > 0 || self.comments > 0
    }

    fn read(&mut self, line: &str) {
        self.in_comment_line = false;
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            if self.comments > 0 {
                match rest {
                    [b'-', b'}', ..] => (self.comments, at) = (self.comments - 1, at + 1),
                    [b'{', b'-', ..] => (self.comments, at) = (self.comments + 1, at + 1),
                    _ => {}
                }
            } else {
                match rest {
                    [b'{', b'-', ..] => (self.comments, at) = (self.comments + 1, at + 1),
                    [b'-', b'-', after, ..] if !b"!#$%&*+./<=>?@\\^|~:".contains(after) => {
                        self.in_comment_line = true;
                        return;
                    }
                    [b'-', b'-'] => return,
                    [b'"', ..] => at += string(rest),
                    [b'\'', b'\\', _, ..] => at += 2,
                    [b'\'', _, b'\'', ..] => at += 2,
                    [b'(' | b'[' | b'{', ..] => self.brackets += 1,
                    [b')' | b']' | b'}', ..] => self.brackets -= 1,
                    _ => {}
                }
            }
            at += 1;
        }
    }
}

/// The length of a string literal, its last quote not counted.
fn string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(code: &str, expected: Expect) {
        let text = match plan(code) {
            Ok(plan) => plan
                .steps
                .iter()
                .map(|step| format!("+{} {}", step.advance, String::from_utf8_lossy(&step.bytes)))
                .collect::<String>(),
            Err(refusal) => format!("{}\n{}\n", refusal.message, refusal.hint),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn one_line_goes_as_it_is() {
        check(
            "1+1",
            expect![[r#"
            +1 1+1
        "#]],
        );
        check(
            "  :t map  \n",
            expect![[r#"
            +1 :t map
        "#]],
        );
        check(
            "-- nothing",
            expect![[r#"
            +1 -- nothing
        "#]],
        );
    }

    #[test]
    fn several_lines_are_cut_where_ghci_wants_it() {
        check(
            "import Data.List\nimport Data.Char\n\nf :: Int -> Int\nf 0 = 1\nf n = n * f (n - 1)\n\ndata T = A | B\n  deriving Show\nx <- pure 3\nprint (f x)\nlet y = 1\n    z = 2\ny == z",
            expect![[r#"
                +1 import Data.List
                +1 import Data.Char
                +7 :{
                f :: Int -> Int
                f 0 = 1
                f n = n * f (n - 1)
                data T = A | B
                  deriving Show
                :}
                +1 x <- pure 3
                +1 print (f x)
                +4 :{
                let y = 1
                    z = 2
                :}
                +1 y == z
            "#]],
        );
    }

    #[test]
    fn layout_and_brackets_keep_things_together() {
        check(
            "do\n  a <- getLine\n  print a\nfoldr\n  (+)\n  0\n  [ 1\n, 2\n]\nmain = do\n  print 1\n\n  print 2\n{- a\ncomment -}\n1",
            expect![[r#"
                +1 _ <- System.Environment.setEnv ('H':'O':'B':'_':'A':'S':'K':'S':Prelude.mempty) ('1':Prelude.mempty)
                +5 :{
                do
                  a <- getLine
                  print a
                :}
                +8 :{
                foldr
                  (+)
                  0
                  [ 1
                , 2
                ]
                :}
                +6 :{
                main = do
                  print 1

                  print 2
                :}
                +4 :{
                {- a
                comment -}
                :}
                +1 1
            "#]],
        );
    }

    #[test]
    fn expressions_are_no_declarations() {
        check(
            "read \"1\" :: Int\nx :: Int\nlet a = 1 in a\nmap (\\b -> let c = b in c) [1]\nputStrLn \"a = b\"\n1 == 2",
            expect![[r#"
            +1 read "1" :: Int
            +1 x :: Int
            +1 let a = 1 in a
            +1 map (\b -> let c = b in c) [1]
            +1 putStrLn "a = b"
            +1 1 == 2
        "#]],
        );
    }

    #[test]
    fn blocks_of_the_author_are_kept_and_lone_ends_dropped() {
        check(
            ":{\nf x = 1\n:}\nf 2\n:}\n3\n:{\nlet q = 1",
            expect![[r#"
            +1 f x = 1
            +1 f 2
            +1 3
            +1 let q = 1
        "#]],
        );
        check(
            "f x =\n  1\n:}\nf 2",
            expect![[r#"
            +4 :{
            f x =
              1
            :}
            +1 f 2
        "#]],
        );
    }

    #[test]
    fn commands_that_break_the_session() {
        check(
            ":set prompt \"> \"",
            expect![[r#"
            the session's prompt tells when an evaluation has ended
            Leave the prompt as it is; nobody sees it.
        "#]],
        );
        check(
            "1\n:se +m",
            expect![[r#"
            `:set +m` would make GHCi wait for more lines
            Give all lines of the code in one call; no setting is needed.
        "#]],
        );
        check(
            ":! cat",
            expect![[r#"
            +1 :! exec </dev/null; cat
        "#]],
        );
        check(
            ":!",
            expect![[r#"
            an interactive shell would eat the session's input
            Give the command after `:!`.
        "#]],
        );
        check(
            ":e",
            expect![[r#"
            an editor would eat the session's input
            Edit the file itself, then repl_reload.
        "#]],
        );
        check(
            "  \n",
            expect![[r#"
            there is nothing to evaluate
            Give an expression, a declaration or a GHCi command in `code`.
        "#]],
        );
        check(
            "{-# LANGUAGE LambdaCase, GADTs #-}\n1",
            expect![[r#"
            +1 :set -XLambdaCase -XGADTs
            +1 1
        "#]],
        );
    }

    #[test]
    fn only_definitions_are_replayed() {
        for code in ["import Data.List", ":load A", ":set -XGADTs", "f x = x", "let a = 1", "data T = T\nf :: T\nf = T"]
        {
            assert!(definitions(code).is_some_and(|definitions| definitions.whole), "{code}");
        }
        for code in ["print 1", "x <- getLine", "let a = 1 in a", ":! ls", ":main", ""] {
            assert!(definitions(code).is_none(), "{code}");
        }
        let mixed = definitions("f x =\n  x\nprint 1\nimport Data.List").expect("some");
        assert_eq!((mixed.code.as_str(), mixed.whole), ("f x =\n  x\nimport Data.List", false));
    }

    #[test]
    fn long_code_goes_through_a_file() {
        let plan = plan(&format!("length {:?}", "x".repeat(100_000))).expect("no refusal");
        assert_eq!(plan.steps[0].bytes, format!(":script {SCRIPT_PATH}\n").into_bytes());
        assert!(plan.steps[0].script.as_ref().is_some_and(|script| script.len() > 100_000));
    }
}
