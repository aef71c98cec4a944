//! Syntactic analysis of a file: positions of a name, their roles, and declarations.
//!
//! [`Language`] is the language of a file; one module per language reads its tree. [`occurrences`] finds the positions
//! of a name in one file, [`declarations`] everything that the file declares. Names are not resolved here: two equal
//! names may mean different things.

mod c;
mod declaration;
mod default_imports;
mod go;
mod haskell;
mod kind;
mod marks;
mod node_path;
mod occurrence;
mod python;
mod rules;
mod rust;
mod script;
pub mod text_enum;
mod trees;
mod typescript;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

pub use c::is_pure_virtual;
pub use declaration::{Container, Declaration, declarations, described, shortened};
pub use default_imports::{DEFAULT, names_module};
pub use kind::Kind;
pub use marks::Marks;
pub use node_path::named_children;
use node_path::{Declared, Trail};
pub use occurrence::{
    Declares, Occurrence, Parsed, Tokens, occurrences, occurrences_at, occurrences_within, parsed_at, word_ranges,
};
pub use python::MAKES_ATTRIBUTES;
pub use rules::{bare_name, is_word, last_word, unclosed};
pub use trees::without_cache;

named! {
    /// Role of a name at its position.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum Class by word {
        Call = "call", Value = "value", Import = "import", Export = "export", Signature = "signature", Type = "type",
        Pattern = "pattern", Construct = "construct", Binding = "binding", FieldRead = "field_read",
        FieldWrite = "field_write", Mention = "mention",
    }
}

named! {
    /// Language of a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(inline)]
    pub enum Language by word {
        Rust = "Rust", Python = "Python", TypeScript = "TypeScript", Tsx = "TypeScript", JavaScript = "JavaScript",
        Go = "Go", C = "C", Cpp = "C++", Haskell = "Haskell",
    }
}

/// Names of the families with more than one language.
pub const SCRIPTS: &str = "TypeScript, JavaScript";
pub const C_AND_CPP: &str = "C, C++";

/// Returns the family of a language, as named in answers. Languages of a family use each other's names and share a server.
pub fn family(language: Language) -> &'static str {
    match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => SCRIPTS,
        Language::C | Language::Cpp => C_AND_CPP,
        other => other.word(),
    }
}

/// True if `x.name` can be a function without being called.
pub fn has_bound_methods(language: Language) -> bool {
    matches!(language, Language::Python | Language::TypeScript | Language::Tsx | Language::JavaScript | Language::Go)
}

/// Rules for reading the tree of a language.
struct Grammar {
    language: fn() -> tree_sitter::Language,
    /// Node kinds of the leaves that are names, separated by blanks.
    names: &'static str,
    /// Returns the declarations of the node at the end of the trail.
    declared: for<'t> fn(&Trail<'_, 't>) -> Vec<Declared<'t>>,
    /// Returns the role of the name at the end of the trail; `None` if it is not a name (a lifetime, a label).
    classify: fn(&Trail<'_, '_>) -> Option<Class>,
    /// Returns the other name that an import or a re-export gives to the name at the end of the trail.
    alias: fn(&Trail<'_, '_>) -> Option<String>,
}

/// Texts that do not occur in C headers, separated by bars.
const OF_CPP: &str =
    "::|: public|class |constexpr |namespace |nullptr|operator|private:|protected:|public:|template|virtual ";

impl Language {
    /// Determines the language of a file by its name; for a header, by its contents.
    pub fn detect(path: &Path, text: &[u8]) -> Option<Language> {
        let language = Language::by_name(path)?;
        let is_header = path.extension().is_some_and(|extension| extension == "h");
        let has = |what: &str| memchr::memmem::find(text, what.as_bytes()).is_some();
        Some(if is_header && OF_CPP.split('|').any(has) { Language::Cpp } else { language })
    }

    /// Determines the language of a file by its name alone.
    pub fn by_name(path: &Path) -> Option<Language> {
        Some(match path.extension()?.to_str()? {
            "rs" => Language::Rust,
            "py" | "pyi" => Language::Python,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
            "go" => Language::Go,
            "c" | "h" => Language::C,
            "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" => Language::Cpp,
            // Included implementation files, and modules.
            "ipp" | "inl" | "tpp" | "tcc" | "txx" | "ixx" | "cppm" => Language::Cpp,
            "hs" | "hsc" => Language::Haskell,
            _ => return None,
        })
    }

    /// The supported languages, for messages.
    pub const KNOWN: &str = "Haskell, Rust, Python, TypeScript, JavaScript, Go, C and C++";

    fn grammar(self) -> &'static Grammar {
        match self {
            Language::Rust => &rust::GRAMMAR,
            Language::Python => &python::GRAMMAR,
            Language::TypeScript => &script::TYPESCRIPT,
            Language::Tsx => &script::TSX,
            Language::JavaScript => &script::JAVASCRIPT,
            Language::Go => &go::GRAMMAR,
            Language::C => &c::C,
            Language::Cpp => &c::CPP,
            Language::Haskell => &haskell::GRAMMAR,
        }
    }
}

thread_local! {
    /// Creating a parser is slow, and a parser is used by one thread at a time.
    static PARSERS: RefCell<HashMap<Language, Parser>> = RefCell::default();
}

/// Returns the first and last lines of the parts that do not parse. Blocks.
pub fn unread_in(language: Language, text: &[u8], until: Instant) -> Vec<(usize, usize)> {
    parse(language, text, until).map(|tree| unread_lines(&tree)).unwrap_or_default()
}

/// True if the whole text parses. Blocks.
pub fn is_whole(language: Language, text: &[u8], until: Instant) -> bool {
    parse(language, text, until).is_some_and(|tree| !tree.root_node().has_error())
}

/// Limit of processor time for one file, independent of the load. Text that is not code, or is made to be slow, can
/// take minutes.
const MAX_PARSE: Duration = Duration::from_secs(3);

/// Parses a text, including errors. `None` if it takes too long.
pub fn parse(language: Language, text: &[u8], until: Instant) -> Option<Tree> {
    if let Some(tree) = trees::cached(language, text) {
        return Some(tree);
    }
    let tree = parse_anew(language, text, until)?;
    trees::keep(language, text, &tree);
    Some(tree)
}

fn parse_anew(language: Language, text: &[u8], until: Instant) -> Option<Tree> {
    let respaced = match language {
        Language::Haskell => haskell::adapt_for_grammar(text),
        Language::Rust => rust::adapt_for_grammar(text),
        _ => None,
    };
    let tree = parse_text(language, respaced.as_deref().unwrap_or(text), until)?;
    let is_typescript = matches!(language, Language::TypeScript | Language::Tsx);
    let further = (is_typescript && tree.root_node().has_error())
        .then(|| typescript::adapt_for_grammar(text))
        .flatten()
        .and_then(|respaced| parse_text(language, &respaced, until));
    // The rewritten text is used if more of the file parses with it.
    let unread_bytes = |tree: &Tree| unread(tree).iter().map(|node| node.byte_range().len() + 1).sum::<usize>();
    let is_better = |further: &Tree| unread_bytes(further) < unread_bytes(&tree);
    Some(further.filter(is_better).unwrap_or(tree))
}

/// Returns the outermost nodes that do not parse.
fn unread(tree: &Tree) -> Vec<Node<'_>> {
    let (mut open, mut unread) = (vec![tree.root_node()], Vec::new());
    while let Some(node) = open.pop() {
        if node.is_error() || node.is_missing() {
            unread.push(node);
        } else if node.has_error() {
            let mut cursor = node.walk();
            open.extend(node.children(&mut cursor));
        }
    }
    unread
}

/// Returns the first and last lines of the parts that do not parse, sorted and disjoint.
fn unread_lines(tree: &Tree) -> Vec<(usize, usize)> {
    let lines = |node: &Node<'_>| {
        let (start, end) = (node.start_position(), node.end_position());
        let last = if end.column == 0 && end.row > start.row { end.row } else { end.row + 1 };
        (start.row + 1, last)
    };
    let mut all: Vec<(usize, usize)> = unread(tree).iter().map(lines).collect();
    all.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::new();
    for (first, last) in all {
        match apart.last_mut().filter(|before| first <= before.1 + 1) {
            Some(before) => before.1 = before.1.max(last),
            None => apart.push((first, last)),
        }
    }
    apart
}

fn parse_text(language: Language, text: &[u8], until: Instant) -> Option<Tree> {
    let (begun, worked) = (Instant::now(), system::thread_processor_time());
    let is_over = |now: Instant| {
        let limit = now.duration_since(begun) >= MAX_PARSE;
        limit
            && worked
                .zip(system::thread_processor_time())
                .is_none_or(|(before, now)| now.saturating_sub(before) >= MAX_PARSE)
    };
    PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(language).or_insert_with(|| {
            let mut parser = Parser::new();
            parser
                .set_language(&(language.grammar().language)())
                .expect("the grammars are pinned to versions that the parser knows");
            parser
        });
        let mut is_late = |_: &ParseState| {
            let now = Instant::now();
            if now >= until || is_over(now) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut is_late);
        let tree = parser.parse_with_options(&mut |at, _| text.get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            // Otherwise the parser would continue where it stopped, with another text.
            parser.reset();
        }
        tree
    })
}
