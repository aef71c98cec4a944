//! Positions of a name in one file, found in one walk down the tree along the mentions of the name.

use std::ops::Range;
use std::time::Instant;

use tree_sitter::{Tree, TreeCursor};

use super::declaration::{Container, containers};
use super::kind::Kind;
use super::marks::{Marks, marks};
use super::node_path::{Step, Trail};
use super::rules::is_word;
use super::{Class, Language, parse, unread_lines};
use crate::text_enum::is_among;

/// A name at one position of a file.
#[derive(Debug, Clone)]
pub struct Occurrence {
    pub bytes: Range<usize>,
    pub class: Class,
    /// The enclosing declarations, outermost first.
    pub enclosing: Vec<Container>,
    /// The declaration of this name here.
    pub declares: Option<Declares>,
    /// The other name that an import or a re-export gives it.
    pub alias: Option<String>,
    /// True if the surrounding syntax does not parse.
    pub is_broken: bool,
    /// The macro tokens that contain it, which the parser does not understand.
    pub tokens: Option<Tokens>,
    /// True if it is accessed through a value: `x.name`.
    pub is_member: bool,
    /// True if it is qualified: `geo::name`.
    pub is_qualified: bool,
}

impl Occurrence {
    /// Returns a name of which only the class and its surroundings are known.
    pub fn new(bytes: Range<usize>, class: Class, enclosing: Vec<Container>) -> Occurrence {
        Occurrence {
            bytes,
            class,
            enclosing,
            declares: None,
            alias: None,
            is_broken: false,
            tokens: None,
            is_member: false,
            is_qualified: false,
        }
    }

    /// True if an embedded field of Go is declared here. It is also a use of its type, whose name it has.
    pub fn embeds(&self) -> bool {
        self.class == Class::Type && self.declares.as_ref().is_some_and(|declares| declares.kind == Kind::Field)
    }
}

/// Facts about the tokens of a macro.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokens {
    /// True if they are known to be ordinary code.
    pub are_code: bool,
    /// Offset of the innermost opening bracket.
    pub opened_at: Option<usize>,
    /// Offset of the macro's name if they belong to its definition.
    pub defined_at: Option<usize>,
}

/// A declaration, found at its name.
#[derive(Debug, Clone)]
pub struct Declares {
    pub kind: Kind,
    pub within: Vec<String>,
    pub is_signature: bool,
    /// Range of the whole declaration.
    pub bytes: Range<usize>,
    pub marks: Marks,
}

/// Result of parsing a file.
#[derive(Debug)]
pub struct Parsed {
    pub all: Vec<Occurrence>,
    /// First and last lines of the parts that do not parse, whose declarations and uses are known only in part. C
    /// macros are not syntax, so there such a part counts only if it contains the name.
    pub unread: Vec<(usize, usize)>,
}

/// Returns the positions of a name in a text. `starts` are the sorted offsets at which the text contains it. `None` if
/// parsing takes too long.
pub fn occurrences(language: Language, text: &[u8], name: &str, starts: &[usize], until: Instant) -> Option<Parsed> {
    let places: Vec<Range<usize>> = starts.iter().map(|start| *start..start + name.len()).collect();
    parsed_at(language, text, &places, until)
}

/// Returns all names in a part of a text. `None` if parsing takes too long.
pub fn occurrences_within(language: Language, text: &[u8], part: Range<usize>, until: Instant) -> Option<Parsed> {
    let mut places = word_ranges(language, text);
    places.retain(|place| part.start <= place.start && place.end <= part.end);
    let mut found = parsed_at(language, text, &places, until)?;
    found.all.retain(|one| one.class != Class::Mention);
    Some(found)
}

/// Returns the words of a text in its language, and in Haskell also the operators.
pub fn word_ranges(language: Language, text: &[u8]) -> Vec<Range<usize>> {
    let is_more = |byte: u8| match language {
        Language::Haskell => byte == b'\'',
        Language::JavaScript | Language::TypeScript | Language::Tsx => byte == b'$',
        _ => false,
    };
    let is_operator = |byte: u8| language == Language::Haskell && b"!#$%&*+./<=>?@\\^|-~:".contains(&byte);
    let kind = |byte: u8| match byte {
        byte if is_word(byte) || is_more(byte) => 1,
        byte if is_operator(byte) => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut at = 0;
    for run in text.chunk_by(|one, next| kind(*one) == kind(*next)) {
        let is_name = kind(run[0]) != 0 && !run[0].is_ascii_digit();
        // `M.<+>` is the operator `<+>` of `M`.
        let is_qualified = kind(run[0]) == 2 && run[0] == b'.' && run.len() > 1 && at > 0 && is_word(text[at - 1]);
        if is_name {
            words.push(at + usize::from(is_qualified)..at + run.len());
        }
        at += run.len();
    }
    words
}

/// Returns the names at sorted positions of a text. `None` if parsing takes too long.
pub fn occurrences_at(
    language: Language,
    text: &[u8],
    places: &[Range<usize>],
    until: Instant,
) -> Option<Vec<Occurrence>> {
    parsed_at(language, text, places, until).map(|parsed| parsed.all)
}

/// Returns the names at sorted positions of a text, and whether they are complete. `None` if parsing takes too long.
pub fn parsed_at(language: Language, text: &[u8], places: &[Range<usize>], until: Instant) -> Option<Parsed> {
    let tree = parse(language, text, until)?;
    let mut all = Vec::new();
    let mut stands_broken = false;
    // `r#match` is one name.
    let is_raw = |place: &Range<usize>| {
        let before = text[..place.start].strip_suffix(b"r#").filter(|_| language == Language::Rust);
        before.is_some_and(|before| !before.last().is_some_and(|last| is_word(*last)))
    };
    let places: Vec<Range<usize>> =
        places.iter().map(|place| place.start - if is_raw(place) { 2 } else { 0 }..place.end).collect();
    let mut is_late = false;
    walk(&tree, &places, |steps, place| {
        let trail = Trail { steps, text, at: (place.start, place.end) };
        stands_broken |= trail.nearest(&["ERROR"]).is_some();
        all.extend(occurrence(language, &trail));
        // A file can be made so that each of its names takes long.
        is_late = Instant::now() >= until;
        !is_late
    });
    if is_late {
        return None;
    }
    let is_c = matches!(language, Language::C | Language::Cpp);
    let unread = if is_c && !stands_broken { Vec::new() } else { unread_lines(&tree) };
    Some(Parsed { all, unread })
}

fn occurrence(language: Language, trail: &Trail<'_, '_>) -> Option<Occurrence> {
    let grammar = language.grammar();
    let (node, bytes) = (trail.node(), trail.at.0..trail.at.1);
    let plain = |class| Occurrence::new(bytes.clone(), class, containers(language, trail));
    let is_name = is_among(grammar.names, node.kind()) && node.byte_range() == bytes;
    if !is_name {
        // The body of a C macro is one token.
        let is_undefined = || trail.ancestor(1).is_some_and(|parent| trail.text_of(parent).starts_with("#undef"));
        if node.kind() == "preproc_arg" && trail.kind(1) == "preproc_call" && is_undefined() {
            return Some(plain(Class::Mention));
        }
        if node.kind() == "preproc_arg" && super::c::is_parameter_of_macro(trail) {
            return None;
        }
        if node.kind() == "preproc_arg" {
            // A word in a string of the body: `printf("error: %s", x)`.
            let before = &trail.text[node.start_byte()..bytes.start];
            let quotes = before.windows(2).filter(|pair| pair[1] == b'"' && pair[0] != b'\\').count();
            if (quotes + usize::from(before.first() == Some(&b'"'))) % 2 == 1 {
                return Some(plain(Class::Mention));
            }
            return Some(Occurrence { tokens: Some(Tokens::default()), ..plain(super::rules::in_tokens(trail)) });
        }
        let says = |word: &str| node.kind().contains(word);
        let is_text = ["comment", "string", "char", "haddock", "pragma", "text", "regex", "cpp"].into_iter().any(says);
        let is_type = language == Language::Python && super::python::in_annotation(trail);
        return is_text.then(|| plain(if is_type { Class::Type } else { Class::Mention }));
    }
    let declares = declared_here(language, trail);
    let class = match &declares {
        Some(declares) if declares.is_signature => Class::Signature,
        // An embedded field of Go has only the name of its type.
        Some(declares) if declares.kind == Kind::Field && node.kind() == "type_identifier" => Class::Type,
        Some(_) => Class::Binding,
        None => (grammar.classify)(trail)?,
    };
    let is_import = matches!(class, Class::Import | Class::Export | Class::Binding | Class::FieldRead);
    Some(Occurrence {
        declares,
        alias: is_import.then(|| (grammar.alias)(trail)).flatten().filter(|alias| *alias != trail.name()),
        is_broken: trail.nearest(&["ERROR"]).is_some(),
        tokens: trail.nearest(&["token_tree", "macro_definition"]).map(|_| Tokens {
            are_code: language == Language::Rust && super::rust::in_code(trail),
            opened_at: trail.nearest(&["token_tree"]).and_then(|up| trail.ancestor(up)).map(|tree| tree.start_byte()),
            defined_at: trail
                .nearest(&["macro_definition"])
                .and_then(|up| trail.ancestor(up)?.child_by_field_name("name"))
                .map(|name| name.start_byte()),
        }),
        is_member: is_member(trail),
        is_qualified: is_qualified(trail),
        ..plain(class)
    })
}

fn is_qualified(trail: &Trail<'_, '_>) -> bool {
    matches!(
        (trail.kind(1), trail.field(0)),
        ("scoped_identifier" | "scoped_type_identifier" | "qualified_identifier", "name")
            | ("qualified", "id")
            | ("nested_identifier", "property")
    )
}

fn is_member(trail: &Trail<'_, '_>) -> bool {
    match trail.kind(1) {
        "field_expression" | "attribute" | "member_expression" | "selector_expression" => {
            matches!(trail.field(0), "field" | "attribute" | "property")
        }
        // `geo.Area[int](1)` in Go parses as a type.
        "qualified_type" => trail.field(0) == "name",
        // `const { area } = shape` reads a member under its name.
        _ => trail.node().kind() == "shorthand_property_identifier_pattern",
    }
}

/// Returns the declaration of the name. The nearest enclosing node decides.
fn declared_here(language: Language, trail: &Trail<'_, '_>) -> Option<Declares> {
    let name = trail.node();
    // A declaration is never further from its name than this; C declarators are the deepest.
    (0..trail.steps.len().min(10)).find_map(|up| {
        let above = trail.ancestor_trail(up);
        let declared = (language.grammar().declared)(&above).into_iter();
        let found =
            declared.into_iter().find(|declared| declared.name.id() == name.id() && declared.kind != Kind::Impl)?;
        let bytes = super::declaration::extent(&above);
        let marks = marks(trail);
        Some(Declares { kind: found.kind, within: found.within, is_signature: found.is_signature, bytes, marks })
    })
}

/// Visits the deepest node at each position in order, until `visit` returns false.
fn walk<'t>(tree: &'t Tree, places: &[Range<usize>], mut visit: impl FnMut(&[Step<'t>], &Range<usize>) -> bool) {
    let mut cursor = tree.walk();
    let mut steps = vec![step(&cursor)];
    for place in places {
        let (start, end) = (place.start, place.end);
        let holds = |step: &Step<'_>| step.node.start_byte() <= start && end <= step.node.end_byte();
        // The walk continues from the previous position: to the next sibling, or up.
        let mut is_settled = false;
        while !holds(&steps[steps.len() - 1]) && steps.len() > 1 {
            if steps[steps.len() - 1].node.start_byte() <= start && cursor.goto_next_sibling() {
                let last = steps.len() - 1;
                steps[last] = step(&cursor);
            } else {
                is_settled = steps[steps.len() - 1].node.start_byte() > start;
                cursor.goto_parent();
                steps.pop();
            }
        }
        while !is_settled && cursor.goto_first_child() {
            while cursor.node().end_byte() < end && cursor.goto_next_sibling() {}
            let child = step(&cursor);
            if !holds(&child) {
                cursor.goto_parent();
                break;
            }
            steps.push(child);
        }
        if !visit(&steps, place) {
            return;
        }
    }
}

fn step<'t>(cursor: &TreeCursor<'t>) -> Step<'t> {
    Step { node: cursor.node(), field: cursor.field_name() }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn many_names_take_no_time_of_their_square() {
        let begun = Instant::now();
        let check = |language, text: &str, name: &str, class: Class, count: usize| {
            let starts: Vec<usize> = memchr::memmem::find_iter(text.as_bytes(), name).collect();
            let until = Instant::now() + Duration::from_secs(120);
            let parsed = occurrences(language, text.as_bytes(), name, &starts, until).unwrap();
            assert_eq!(parsed.all.iter().filter(|one| one.class == class).count(), count, "{language:?}");
        };
        let texts = "f('area')\n".repeat(10_000) + &"area(1)\n".repeat(10_000);
        check(Language::Python, &texts, "area", Class::Call, 10_000);
        let open = "area(1)\n".to_owned() + &"getattr('".repeat(20_000);
        check(Language::Python, &open, "area", Class::Call, 1);
        let tokens =
            "fn f() {\n".to_owned() + &"assert!(area);\n".repeat(10_000) + "}\n" + &"// a line\n".repeat(50_000);
        check(Language::Rust, &tokens, "area", Class::Value, 10_000);
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_file_whose_names_take_long_each_is_given_up() {
        let text = format!("x = \"\"\"{}\"\"\"\n", "area\n".repeat(400_000));
        let starts: Vec<usize> = memchr::memmem::find_iter(text.as_bytes(), "area").collect();
        let until = Instant::now() + Duration::from_millis(100);
        assert!(occurrences(Language::Python, text.as_bytes(), "area", &starts, until).is_none());
        assert!(until.elapsed() < Duration::from_secs(5), "{:?}", until.elapsed());
    }
}
