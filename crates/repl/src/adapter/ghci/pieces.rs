//! Cuts code into the pieces that GHCi takes one at a time: a command, an import, one statement, or any number of
//! declarations together.
//!
//! As in a file, the layout rule decides where a piece begins: at the first token of a line that is no further to the
//! right than the very first token, outside of brackets. [`super::form`] classifies a piece. Comments belong to the
//! code after them. `:{ … :}` is sent to GHCi unchanged.

use super::form::{Form, form, lacks_something, opens_layout};
use super::lexer::{Kind, Lexer, Token};

/// One piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    /// The lines to write, without `:{` and `:}`.
    pub(super) lines: Vec<String>,
    /// True if the code only binds, by `let`.
    pub(super) binds: bool,
    /// True if GHC runs some of it while reading it.
    pub(super) splices: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// `:type map`
    Command,
    Import,
    /// Equations, signatures, types, classes, pragmas. Neighbours are sent together.
    Declaration,
    /// Expressions, bindings, `let`.
    Statement,
    /// Code that the author wrapped in `:{ :}`.
    Block,
    /// `module M where`, which has no meaning at a prompt.
    Header,
}

/// A line `:}` that cannot be sent: GHCi would take it for the end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsBlock {
    /// In a quotation.
    Quoted,
    /// Without a `:{` before it.
    Unopened,
}

/// Cuts some code into its pieces, in order.
pub(super) fn units(code: &str) -> Result<Vec<Unit>, EndsBlock> {
    let mut cutter = Cutter { code, lexer: Lexer::new(code), margin: None, item: None, pieces: Vec::new(), lead: None };
    cutter.run()?;
    Ok(join(cutter.pieces))
}

#[derive(Debug)]
struct Piece {
    form: Form,
    splices: bool,
    lines: Vec<String>,
}

/// A piece that is being read.
#[derive(Debug)]
struct Item<'a> {
    /// The start (comments included) and end of its text.
    from: usize,
    to: usize,
    tokens: Vec<Token<'a>>,
    depth: usize,
    /// True if the piece is in such a block, see [`Begins::Block`].
    open_ended: bool,
}

/// The longest statement, in tokens, that may continue in its first column.
const MAX_LOOSE: usize = 512;

/// The construct that the first token of a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    Piece,
    /// The block that `do` opened at the end of the line before, not indented further than that line.
    Block,
    Nothing,
}

struct Cutter<'a> {
    code: &'a str,
    lexer: Lexer<'a>,
    /// The column of the first token.
    margin: Option<usize>,
    item: Option<Item<'a>>,
    pieces: Vec<Piece>,
    /// Where the comments of the next piece begin.
    lead: Option<usize>,
}

impl<'a> Cutter<'a> {
    fn run(&mut self) -> Result<(), EndsBlock> {
        loop {
            self.skip_comments();
            if self.lexer.at_line_start() && self.lexer.rest_of_line().trim_end() == ":}" {
                return Err(EndsBlock::Unopened);
            }
            if self.lexer.at_line_start()
                && self.item.as_ref().is_none_or(|item| item.depth == 0)
                && self.take_line()?
            {
                continue;
            }
            let Some(token) = self.lexer.token() else { break };
            if token.raw {
                return Err(EndsBlock::Quoted);
            }
            self.take(token);
        }
        if self.lexer.is_unterminated() {
            // GHC reports the mistake.
            match &mut self.item {
                Some(item) => item.to = self.code.len(),
                None => {
                    self.push_text(Form::Statement { binds: false }, false, self.lead.unwrap_or(0), self.code.len())
                }
            }
        }
        self.close();
        if self.pieces.is_empty() && !self.code.trim().is_empty() {
            // The code consists of comments only.
            self.push_text(Form::Statement { binds: false }, false, 0, self.code.len());
            self.pieces.retain(|piece| !piece.lines.is_empty());
        }
        Ok(())
    }

    /// Skips comments. Those after a token on its line belong to it; others to the following code.
    fn skip_comments(&mut self) {
        loop {
            let Some(begun) = self.lexer.comment() else { return };
            let trails = !self.code[..begun].rsplit('\n').next().unwrap_or_default().trim().is_empty();
            match &mut self.item {
                Some(item) if trails || item.depth > 0 => item.to = item.to.max(self.lexer.offset()),
                _ => self.lead = self.lead.or(Some(begun)),
            }
        }
    }

    /// Takes a whole line if it is a command, or the beginning or end of a block.
    fn take_line(&mut self) -> Result<bool, EndsBlock> {
        let line = self.lexer.rest_of_line().trim_end();
        if line == ":{" {
            self.close();
            self.lexer.skip_line();
            let mut lines = Vec::new();
            while !self.lexer.rest_of_line().is_empty() || self.lexer.offset() < self.code.len() {
                let line = self.lexer.rest_of_line();
                self.lexer.skip_line();
                if line.trim() == ":}" {
                    break;
                }
                lines.push(line.trim_end().to_owned());
            }
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            if !lines.is_empty() {
                self.pieces.push(Piece { form: Form::Block, splices: true, lines });
            }
            self.lead = None;
            return Ok(true);
        }
        let outside = self.item.is_none() || self.margin.is_none_or(|margin| self.lexer.column() <= margin);
        if outside && is_command(line) {
            self.close();
            self.lead = None;
            self.pieces.push(Piece { form: Form::Command, splices: false, lines: vec![line.to_owned()] });
            self.lexer.skip_line();
            return Ok(true);
        }
        // `#!/usr/bin/env runghc`
        if self.item.is_none() && self.lexer.offset() == 0 && line.starts_with("#!") {
            self.lexer.skip_line();
            return Ok(true);
        }
        Ok(false)
    }

    fn take(&mut self, token: Token<'a>) {
        if let Some(item) = &self.item {
            match self.begins(item, &token) {
                Begins::Piece => self.close(),
                Begins::Block => self.item.iter_mut().for_each(|item| item.open_ended = true),
                Begins::Nothing => {}
            }
        }
        if self.item.is_none() {
            if let Some(flags) = flags(&token) {
                self.lead = None;
                self.pieces.extend(flags.map(|line| Piece { form: Form::Command, splices: false, lines: vec![line] }));
                return;
            }
            let line = self.code[..token.start].rfind('\n').map_or(0, |newline| newline + 1);
            // After a pragma on the same line, only the text after the pragma counts.
            let from = if token.first { line } else { token.start };
            let margin = self.margin.get_or_insert(token.column);
            *margin = token.column.min(*margin);
            let from = self.lead.take().map_or(from, |lead| lead.min(from));
            self.item = Some(Item { from, to: token.end, tokens: Vec::new(), depth: 0, open_ended: false });
        }
        let Some(item) = &mut self.item else { return };
        self.lead = None;
        match token.kind {
            Kind::Open => item.depth += 1,
            Kind::Close => item.depth = item.depth.saturating_sub(1),
            _ => {}
        }
        item.to = token.end;
        item.tokens.push(token);
    }

    /// Classifies a token that follows those of a piece.
    fn begins(&self, item: &Item<'a>, token: &Token<'a>) -> Begins {
        let Some(last) = item.tokens.last() else { return Begins::Nothing };
        let indented = self.margin.is_some_and(|margin| token.column > margin);
        if !token.first || item.depth > 0 || indented || self.continues(token) {
            return Begins::Nothing;
        }
        let gap = self.code[item.to..token.start].matches('\n').count() > 1 && self.lead.is_none();
        if item.open_ended && !gap {
            return Begins::Nothing;
        }
        // Such code is not written by hand, and every further line would rescan all of them.
        if item.tokens.len() > MAX_LOOSE {
            return Begins::Piece;
        }
        match form(&item.tokens) {
            // In a file, a declaration ends here, complete or not.
            Form::Declaration { .. } | Form::Import | Form::Header => Begins::Piece,
            // At a prompt a statement may continue, since no layout surrounds it.
            _ if opens_layout(&item.tokens) && !gap => Begins::Block,
            _ if lacks_something(last, &item.tokens) => Begins::Nothing,
            _ => Begins::Piece,
        }
    }

    /// Returns true if a token can only continue the code before it.
    fn continues(&self, token: &Token<'_>) -> bool {
        match token.kind {
            Kind::Close | Kind::Comma | Kind::Semicolon | Kind::Backquote => true,
            Kind::Name if token.text == "deriving" => !is_standalone_deriving(&self.code[token.end..]),
            Kind::Name => matches!(token.text, "then" | "else" | "of" | "in" | "where"),
            Kind::Operator => {
                let prefix = matches!(token.text, "!" | "~" | "$" | "$$" | "#" | "?") && token.prefix;
                // A line that begins with `-` is a separate statement, negated or not.
                !(prefix || matches!(token.text, "-" | "\\"))
            }
            _ => false,
        }
    }

    fn close(&mut self) {
        let Some(item) = self.item.take() else { return };
        let form = form(&item.tokens);
        let splices = item.tokens.iter().any(|token| match token.kind {
            Kind::Operator => token.prefix && matches!(token.text, "$" | "$$"),
            Kind::Literal => token.text.starts_with('['),
            _ => false,
        });
        self.push_text(form, splices, item.from, item.to);
    }

    /// Appends the text from one position to the end of the line of another.
    fn push_text(&mut self, form: Form, splices: bool, from: usize, to: usize) {
        let end = self.code[to..].find('\n').map_or(self.code.len(), |newline| to + newline);
        let line = self.code[..from].rfind('\n').map_or(0, |newline| newline + 1);
        // Text before it on its line belongs to another piece.
        let before: String = self.code[line..from].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let text = before + &self.code[from..end];
        let mut lines: Vec<String> =
            text.lines()
                .map(|line| {
                    if line.trim() == ":}" || line.trim() == ":{" { String::new() } else { line.trim_end().to_owned() }
                })
                .collect();
        while lines.first().is_some_and(String::is_empty) {
            lines.remove(0);
        }
        if let [line] = lines.as_mut_slice() {
            *line = line.trim().to_owned();
        }
        self.pieces.push(Piece { form, splices, lines });
    }
}

/// Returns true if a line is a GHCi command: `:t`, `:!`, `:?`, but not `::` or an operator such as `:|`.
fn is_command(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(':') else { return false };
    match rest.chars().next() {
        None => true,
        Some(c) => c.is_alphanumeric() || c.is_whitespace() || matches!(c, '!' | '?' | '{' | '}' | '_'),
    }
}

/// Returns the command with the effect of a file-header pragma; `None` for all other pragmas and tokens.
fn flags(token: &Token<'_>) -> Option<Option<String>> {
    let flags: Vec<String> = match token.pragma()?.as_str() {
        "LANGUAGE" => token.pragma_text().split(',').map(|name| format!("-X{}", name.trim())).collect(),
        "OPTIONS_GHC" | "OPTIONS" => token.pragma_text().split_whitespace().map(str::to_owned).collect(),
        "OPTIONS_HADDOCK" | "OPTIONS_HUGS" | "OPTIONS_NHC98" | "OPTIONS_JHC" | "OPTIONS_YHC" | "INCLUDE" => Vec::new(),
        _ => return None,
    };
    Some((!flags.is_empty()).then(|| format!(":set {}", flags.join(" "))))
}

/// `deriving stock instance …`, given what precedes `instance`.
fn is_standalone_deriving(after: &str) -> bool {
    let line = after.lines().next().unwrap_or_default();
    let mut words = line.split_whitespace();
    match words.next() {
        Some("instance") => true,
        Some("stock" | "newtype" | "anyclass") => words.next() == Some("instance"),
        Some("via") => words.any(|word| word == "instance"),
        _ => false,
    }
}

/// Joins neighbouring declarations, with their signatures and splices.
fn join(pieces: Vec<Piece>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut pieces = pieces;
    let mut at = 0;
    while at < pieces.len() {
        let length = pieces[at..].iter().take_while(|piece| may_declare(&piece.form)).count();
        settle(&mut pieces[at..at + length]);
        at += length.max(1);
    }
    let mut grows = false;
    for piece in pieces {
        let kind = match piece.form {
            Form::Command => UnitKind::Command,
            Form::Block => UnitKind::Block,
            Form::Header => UnitKind::Header,
            Form::Import => UnitKind::Import,
            Form::Declaration { .. } => UnitKind::Declaration,
            Form::Signature { .. } | Form::Splice | Form::Statement { .. } => UnitKind::Statement,
        };
        let binds = piece.form == Form::Statement { binds: true };
        let declares = kind == UnitKind::Declaration;
        match units.last_mut() {
            Some(last) if declares && grows => {
                last.lines.extend(piece.lines);
                last.splices |= piece.splices;
            }
            _ => units.push(Unit { kind, lines: piece.lines, binds, splices: piece.splices }),
        }
        grows = declares;
    }
    units
}

fn may_declare(form: &Form) -> bool {
    matches!(form, Form::Declaration { .. } | Form::Signature { .. } | Form::Splice)
}

/// Classifies the pieces of a row that may all be declarations: a signature counts if the row binds one of its names or
/// declarations are on both sides; a splice counts if a declaration is next to it.
fn settle(row: &mut [Piece]) {
    let bound: Vec<String> = row
        .iter()
        .filter_map(|piece| match &piece.form {
            Form::Declaration { binds } => Some(binds.iter().cloned()),
            _ => None,
        })
        .flatten()
        .collect();
    let declares = |piece: &Piece| match &piece.form {
        Form::Declaration { .. } => true,
        Form::Signature { names } => names.iter().any(|name| bound.contains(name)),
        _ => false,
    };
    let Some(first) = row.iter().position(declares) else { return };
    let last = row.iter().rposition(declares).unwrap_or(first);
    let splices = |piece: &&Piece| piece.form == Form::Splice;
    let before = row[..first].iter().rev().take_while(splices).count();
    let after = row[last + 1..].iter().take_while(splices).count();
    for piece in &mut row[first - before..=last + after] {
        piece.form = Form::Declaration { binds: Vec::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every lexically special text; `¦` stands for the bar.
    const PARTS: &str = "f|x|1|=| = |\n|\n|\n  |\t|\"|\\|'|''|(|)|[|]|{|}|`|,|;|{-|-}|{-#|#-}|--|-->|::|:|:{|:}|:t |¦]|[e¦|[¦|¦¦]|\
        [q¦|¦|$(|$|->|<-|do|of|let|in|where|case|if|deriving|import|module|data|pattern|größe|→|λ|\"\"\"|#|#!|M.|M.do|{-# LANGUAGE |\u{feff}|\u{301}|\r\n|e\u{301}|0x|1e";

    proptest! {
        #[test]
        fn any_code_is_cut_and_nothing_is_lost(parts in proptest::collection::vec(0usize..80, 0..60)) {
            let all: Vec<&str> = PARTS.split('|').collect();
            let code: String = parts.iter().map(|part| all[part % all.len()].replace('¦', "|")).collect();
            if let Ok(units) = units(&code) {
                let kept: usize = units.iter().flat_map(|unit| &unit.lines).map(|line| line.matches("größe").count()).sum();
                // Text after `#!`, text in a file-header pragma and comments before commands are left out.
                prop_assert!(kept <= code.matches("größe").count());
            }
        }
    }

    #[test]
    fn code_that_opens_again_and_again_is_read_once() {
        for part in ["[x|", "[x|[", "{-#a -}\n", "{-# ", "\"\"\"", "(\n", "a +\n", "do\n", "x\n", "'", "\"\\", "[e|x|]"]
        {
            let code = part.repeat(5_000);
            assert!(units(&code).is_ok(), "{part}");
            assert!(units(&(code + "|] #-} \"\"\"")).is_ok(), "{part}");
        }
    }
}
