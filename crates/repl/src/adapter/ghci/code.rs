//! Prepares Haskell code for GHCi: sends the pieces that `pieces` cuts, wraps those of several lines in `:{ :}`, and
//! rejects commands that would break the session.

use super::super::{Plan, Refusal, SCRIPT_PATH, Step};
use super::pieces::{EndsBlock, Unit, UnitKind as Kind, units};

/// Longer pieces go through a file: a pipe holds 64 KiB.
const MAX_PIPED: usize = 48 * 1024;

pub(super) fn plan(code: &str) -> Result<Plan, Refusal> {
    let mut units = units(code).map_err(|ends| {
        let (message, hint) = match ends {
            EndsBlock::Quoted => (
                "a quotation contains the line `:}`, which GHCi treats as the end of the code",
                "Change that line, or put the code in a file and `:load` it.",
            ),
            EndsBlock::Unopened => (
                "a line consists of `:}`, without a `:{` before it",
                "Remove it: code of several lines needs neither `:{` nor `:}`.",
            ),
        };
        Refusal { message: message.to_owned(), hint: hint.to_owned() }
    })?;
    let mut notes = Vec::new();
    let all = units.len();
    if units.iter().any(|unit| unit.kind != Kind::Header) {
        units.retain(|unit| unit.kind != Kind::Header);
    }
    if units.len() < all {
        notes.push("`module … where` was left out: definitions at a prompt belong to no module.".to_owned());
    }
    if units.is_empty() {
        return Err(Refusal {
            message: "nothing to evaluate".to_owned(),
            hint: "Give an expression, a declaration or a GHCi command in `code`.".to_owned(),
        });
    }
    let mut steps = Vec::new();
    for unit in &units {
        let announced = match (asks(unit), sets_buffering(unit)) {
            (true, true) => Some(super::ASKS_AND_SETS),
            (true, false) => Some(super::ASKS),
            (false, true) => Some(super::SETS),
            (false, false) => None,
        };
        if let Some(what) = announced {
            steps.push(Step { bytes: super::announcement(what).into_bytes(), advance: 1, script: None });
        }
        steps.push(step(unit)?);
    }
    Ok(Plan { steps, notes })
}

fn step(unit: &Unit) -> Result<Step, Refusal> {
    let mut lines = unit.lines.clone();
    // A command may also be inside a block.
    if let Some(first) = lines.iter_mut().find(|line| !line.trim().is_empty())
        && first.trim_start().starts_with(':')
        && matches!(unit.kind, Kind::Command | Kind::Block)
    {
        *first = command(first.trim_start())?;
    }
    let (bytes, advance) = match lines.as_slice() {
        [line] => (format!("{line}\n"), 1),
        lines => (format!(":{{\n{}\n:}}\n", lines.join("\n")), lines.len() as u64 + 2),
    };
    if bytes.len() <= MAX_PIPED {
        return Ok(Step { bytes: bytes.into_bytes(), advance, script: None });
    }
    let call = format!(":script {SCRIPT_PATH}\n");
    Ok(Step { bytes: call.into_bytes(), advance: 1, script: Some(bytes.into_bytes()) })
}

/// Returns true if the code itself reads standard input. Functions that it calls may read too; then a question without
/// a newline is seen late.
fn asks(unit: &Unit) -> bool {
    const WORDS: [&str; 8] =
        ["getLine", "getChar", "getContents", "interact", "readLn", "isEOF", "hGetLine", "hGetChar"];
    calls(unit, &WORDS)
}

/// Returns true if the code itself sets the buffering of standard output. Functions that it calls may do so too; that
/// setting lasts until the code ends.
fn sets_buffering(unit: &Unit) -> bool {
    calls(unit, &["hSetBuffering"]) && calls(unit, &["stdout"])
}

/// Returns true if the code uses one of these names.
fn calls(unit: &Unit, names: &[&str]) -> bool {
    let word = |c: char| !(c.is_alphanumeric() || c == '_' || c == '\'');
    let calls = |line: &String| line.split(word).any(|name| names.contains(&name));
    // A declaration runs no code.
    matches!(unit.kind, Kind::Statement | Kind::Block) && !unit.binds && unit.lines.iter().any(calls)
}

/// Rewrites a GHCi command into the form in which it may run.
fn command(line: &str) -> Result<String, Refusal> {
    let refuse = |message: &str, hint: &str| Err(Refusal { message: message.to_owned(), hint: hint.to_owned() });
    if let Some(shell) = line.strip_prefix(":!") {
        if shell.trim().is_empty() {
            return refuse("an interactive shell would read the session's input", "Give the command after `:!`.");
        }
        // A command that reads standard input would consume the next evaluation.
        return Ok(format!(":! exec </dev/null; {}", shell.trim_start()));
    }
    let mut words = line[1..].split_whitespace();
    let name = words.next().unwrap_or_default();
    let abbreviates = |full: &str, shortest: usize| name.len() >= shortest && full.starts_with(name);
    if abbreviates("edit", 1) {
        return refuse("an editor would read the session's input", "Edit the file itself, then repl_reload.");
    }
    if abbreviates("set", 2) || abbreviates("seti", 4) {
        for word in words {
            match word {
                "prompt" | "prompt2" | "prompt-cont" | "prompt-function" | "prompt-cont-function" => {
                    return refuse(
                        "hob detects the end of an evaluation by the session's prompt",
                        "Leave the prompt unchanged; it is never shown.",
                    );
                }
                "+m" => {
                    return refuse(
                        "`:set +m` would make GHCi wait for more lines",
                        "Give all lines of the code in one call; no setting is needed.",
                    );
                }
                "-ddump-json" => {
                    return refuse(
                        "with `-ddump-json` compiler messages cannot be distinguished from program output",
                        "Leave it out: `diagnostics` has the messages as data.",
                    );
                }
                "-fno-code" => {
                    return refuse(
                        "without code generation nothing can be evaluated",
                        "Use a separate session with a `command` such as [\"ghci\", \"-fno-code\"], only to load \
                         modules.",
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

/// Returns true if some of the code runs while GHCi reads it (splices, quotations, macros), so that its output looks
/// like GHCi's.
pub(super) fn runs_while_compiled(code: &str) -> bool {
    let Ok(units) = units(code) else { return false };
    units.iter().any(|unit| match unit.kind {
        Kind::Command => {
            let name = unit.lines[0][1..].split_whitespace().next().unwrap_or_default().trim_end_matches('!');
            name == "cmd" || !name.starts_with(|c: char| !c.is_alphabetic()) && !is_builtin(name)
        }
        _ => unit.splices,
    })
}

/// Returns true if any version of GHCi has a command with this prefix.
fn is_builtin(name: &str) -> bool {
    const COMMANDS: &str = "?  abandon add all-types back break browse cd check cmd complete continue ctags def delete disable \
        doc edit enable etags force forward help history info instances issafe kind list load loc-at main module print quit \
        reload reload! run script set seti show showi sprint step steplocal stepmodule stepout trace type type-at unadd undef \
        unset uses where";
    COMMANDS.split_whitespace().any(|command| command.starts_with(name))
}

/// Returns true if GHCi reports on standard output that it did not carry out a command.
pub(super) fn is_complaint(code: &str, stdout: &str) -> bool {
    let Ok(units) = units(code) else { return false };
    units.iter().filter(|unit| unit.kind == Kind::Command).any(|unit| {
        let word = unit.lines[0].split_whitespace().next().unwrap_or_default();
        let name = word.trim_start_matches(':').trim_end_matches('!');
        let unknown = format!("unknown command '{word}'");
        let of = |full: &str| !name.is_empty() && full.starts_with(name);
        stdout.lines().any(|line| {
            line == unknown
                || of("break") && BREAK.iter().any(|start| line.starts_with(start))
                || of("abandon") && line == "There is no computation running."
                || of("list") && line.starts_with("Not stopped at a breakpoint")
                || of("unset") && line.starts_with("unknown option: '")
                || (of("add") || of("load") || of("reload"))
                    && line.starts_with("File ")
                    && line.ends_with(" not found")
        })
    })
}

const BREAK: [&str; 4] = ["Cannot set breakpoint on ", "No breakpoint found", "Breakpoint was already", "No modules "];

/// The part of some code that only defines something.
pub(super) struct Definitions {
    pub(super) code: String,
    /// True if that part is all of the code.
    pub(super) whole: bool,
}

/// Returns the definitions in some code, if any: imports, declarations, `let`, and commands that load and set.
pub(super) fn definitions(code: &str) -> Option<Definitions> {
    let units = units(code).ok()?;
    let mut kept: Vec<String> = Vec::new();
    let mut whole = true;
    let mut skipped = false;
    let mut declared = false;
    for unit in units.iter().filter(|unit| unit.kind != Kind::Header) {
        if !defines(unit) {
            (whole, skipped) = (false, true);
            continue;
        }
        let text = unit.lines.join("\n");
        // Declarations separated by other code may define the same name twice.
        let apart = unit.kind == Kind::Block || unit.kind == Kind::Declaration && declared && skipped;
        kept.push(if apart { format!(":{{\n{text}\n:}}") } else { text });
        (skipped, declared) = (false, unit.kind == Kind::Declaration);
    }
    (!kept.is_empty()).then(|| Definitions { code: kept.join("\n"), whole })
}

fn defines(unit: &Unit) -> bool {
    match unit.kind {
        Kind::Import | Kind::Declaration | Kind::Header => true,
        Kind::Command => {
            let name = unit.lines[0][1..].split_whitespace().next().unwrap_or_default().trim_end_matches('!');
            let full = ["load", "add", "module", "reload", "set", "seti", "cd", "def", "unset"];
            !name.is_empty() && full.iter().any(|full| full.starts_with(name))
        }
        Kind::Block => units(&unit.lines.join("\n"))
            .is_ok_and(|units| units.iter().all(|unit| unit.kind != Kind::Block && defines(unit))),
        Kind::Statement => unit.binds,
    }
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
                +5 :{
                {- a
                comment -}
                1
                :}
            "#]],
        );
    }

    #[test]
    fn what_begins_with_a_minus_is_a_statement_of_its_own() {
        assert_eq!(pieces("-1\n- 2"), ["-1", "- 2"]);
        assert_eq!(pieces("let y = 3\n- 2"), ["let y = 3", "- 2"]);
        assert_eq!(pieces("1 +\n- 2"), ["1 +\n- 2"]);
        assert_eq!(pieces("1\n  - 2"), ["1\n  - 2"]);
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
    fn blocks_of_the_author_are_kept_and_lone_ends_refused() {
        check(
            ":{\nf x = 1\n:}\nf 2\n3\n:{\nlet q = 1",
            expect![[r#"
            +1 f x = 1
            +1 f 2
            +1 3
            +1 let q = 1
        "#]],
        );
        for lone in ["f x =\n  1\n:}\nf 2", "k = [1\n  ,2\n:}\n  ]", ":}", "f 0 = 1\n:}  \nf n = 2"] {
            let refused = plan(lone).unwrap_err();
            assert_eq!(refused.message, "a line consists of `:}`, without a `:{` before it", "{lone}");
        }
    }

    /// Returns the lines that each piece is sent as, or those of its block.
    fn pieces(code: &str) -> Vec<String> {
        let text = |unit: &Unit| unit.lines.join("\n");
        units(code).expect("no refusal").iter().map(text).collect()
    }

    #[test]
    fn what_belongs_together_stays_together() {
        for code in [
            "f \"a\" = 1\nf _ = 2",
            "f (g -> x) = x\n-- a comment\nf _ = 2",
            "x $> f = f x\ny = 1",
            "f :: Int -> Int\n\n{-# INLINE f #-}\nf x\n  | x > 1 = case x of\n      2 -> 3\n  | otherwise = \\_ -> 1",
            "data T = T\n$(return [])\nx = 1",
            "do\nprint 1\nprint 2",
            "[d|\nf = \"|]\"\n|]",
            "[sql|\nselect (\n|]",
            "f = \"a\\\n\\b\"",
            "sum\n  . map f\n  $ xs",
            "module M where { x = 1 }",
        ] {
            let found = pieces(code);
            assert_eq!(found.len(), 1, "{found:#?}");
            let bare = |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
            assert_eq!(bare(&found[0]), bare(code));
        }
    }

    #[test]
    fn what_is_apart_is_cut() {
        let cut = [
            (
                "print 1\n-- about x\nx = 1\nprint x -- it\n{- the\nend -}",
                vec!["print 1", "-- about x\nx = 1", "print x -- it"],
            ),
            ("[x|x<-xs]\ny = 1", vec!["[x|x<-xs]", "y = 1"]),
            ("x :: Int\nprint 1", vec!["x :: Int", "print 1"]),
            ("x = 1\nx :: Int\nprint 1", vec!["x = 1\nx :: Int", "print 1"]),
            ("$(stringE \"a\")\nprint 1", vec!["$(stringE \"a\")", "print 1"]),
            ("foo\n<> bar\nbaz", vec!["foo\n<> bar", "baz"]),
            ("{-# LANGUAGE A,\n  B #-}\nf = 1\n:t f\nf", vec![":set -XA -XB", "f = 1", ":t f", "f"]),
            ("x <- a\n\n{-# INLINE g #-}\ng = 1", vec!["x <- a", "{-# INLINE g #-}\ng = 1"]),
            ("module M (f) where\nf = 1", vec!["module M (f) where", "f = 1"]),
            ("(+) 1 2\n-1\n!x = 2\n\\y -> y", vec!["(+) 1 2", "-1", "!x = 2", "\\y -> y"]),
        ];
        for (code, expected) in cut {
            assert_eq!(pieces(code), expected, "{code}");
        }
    }

    #[test]
    fn a_quotation_that_ends_a_block_is_refused() {
        check(
            "[text|\na\n:}\n|]",
            expect![[r#"
            a quotation contains the line `:}`, which GHCi treats as the end of the code
            Change that line, or put the code in a file and `:load` it.
        "#]],
        );
        check(
            ":{\n:set prompt \"x\"\n:}",
            expect![[r#"
            hob detects the end of an evaluation by the session's prompt
            Leave the prompt unchanged; it is never shown.
        "#]],
        );
    }

    #[test]
    fn commands_that_break_the_session() {
        check(
            ":set prompt \"> \"",
            expect![[r#"
            hob detects the end of an evaluation by the session's prompt
            Leave the prompt unchanged; it is never shown.
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
            an interactive shell would read the session's input
            Give the command after `:!`.
        "#]],
        );
        check(
            ":e",
            expect![[r#"
            an editor would read the session's input
            Edit the file itself, then repl_reload.
        "#]],
        );
        check(
            "  \n",
            expect![[r#"
            nothing to evaluate
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
