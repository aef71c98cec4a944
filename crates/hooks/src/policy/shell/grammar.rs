//! The grammar of Bash: the parser, and the kinds of nodes that hob reads.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// The limits of the parser's steps and time. Ordinary texts take few steps and less than a millisecond.
const PROGRESS_MAX: usize = 2000;
const TIME_MAX: Duration = Duration::from_millis(200);

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// Parses a text, unless it takes too long.
pub(super) fn parse(text: &str) -> Option<Tree> {
    let bytes = bytes(text);
    PARSER.with_borrow_mut(|parser| {
        if parser.is_none() {
            let mut new = Parser::new();
            new.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *parser = Some(new);
        }
        let parser = parser.as_mut()?;
        let (mut steps, begin) = (0, Instant::now());
        let mut progress = |_: &ParseState| {
            steps += 1;
            if steps > PROGRESS_MAX || begin.elapsed() > TIME_MAX {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// Returns the bytes of a text for the parser. Its scanner reads out of bounds if it expects a digit after `{` or `..` and
/// finds a non-ASCII character. Such characters are replaced with letters.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    let (mut is_dotted, mut may_be_digit) = (false, false);
    for byte in &mut bytes {
        match *byte {
            b'{' => (is_dotted, may_be_digit) = (false, true),
            b'.' => (is_dotted, may_be_digit) = (true, is_dotted),
            b'0'..=b'9' => is_dotted = false,
            0x80.. if may_be_digit => *byte = b'x',
            _ => (is_dotted, may_be_digit) = (false, false),
        }
    }
    bytes
}

pub(super) fn is_statement(kind: &str) -> bool {
    kind.ends_with("_statement")
        || kind.ends_with("_command")
        || matches!(
            kind,
            "pipeline"
                | "list"
                | "subshell"
                | "command"
                | "function_definition"
                | "variable_assignment"
                | "variable_assignments"
                | "do_group"
                | "elif_clause"
                | "else_clause"
                | "case_item"
                | "ERROR"
        )
}

pub(super) fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word"
            | "string"
            | "raw_string"
            | "ansi_c_string"
            | "translated_string"
            | "number"
            | "concatenation"
            | "expansion"
            | "simple_expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "extglob_pattern"
            | "regex"
            | "variable_name"
            | "$"
    )
}
