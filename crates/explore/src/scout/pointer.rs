//! A pointer: a place that the change concerns, with its risk, its evidence and the reason why it is listed.

use std::ops::RangeInclusive;
use std::path::Path;

use code::facts::{Certainty, MatchEffect, Symbol, UseSite};
use code::{Class, Language};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::position::Position;
use crate::prove::Proof;
use crate::rubric::{self, Change, Tag, UseKind};

/// How strong the evidence for a pointer is, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Evidence {
    /// The compiler reports an error there after this very change.
    Proved,
    /// A language server resolved it.
    Verified,
    /// Only the syntax suggests it.
    Possible,
}

/// A place that the change concerns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Pointer {
    /// path:line.
    #[serde(rename = "location", serialize_with = "location")]
    #[schemars(with = "String")]
    pub position: Position,
    pub what: String,
    /// From 1 (compiles and behaves as before) to 5 (does not compile).
    pub risk: u8,
    /// From 1 to 5.
    pub relevance: u8,
    pub tags: Vec<Tag>,
    pub action: Option<&'static str>,
    pub evidence: Evidence,
    /// The definition whose use this is.
    pub from: String,
    /// Its signature.
    #[serde(skip)]
    pub hover: String,
    /// The steps from the change.
    #[serde(skip)]
    pub distance: usize,
    /// The lines at which a compiler may report a match that breaks, besides its first one: that of the function around it, and
    /// those of its branches.
    #[serde(skip)]
    pub reported_at: Option<(usize, RangeInclusive<usize>)>,
    pub why: String,
    /// The line.
    pub text: String,
    pub in_test: bool,
}

/// A use, and the way to it.
pub(super) struct Reached {
    pub site: UseSite,
    pub kind: &'static UseKind,
    /// The last line of a match, and the reason of its effect.
    pub matched: Option<(usize, String)>,
    /// The definition whose use this is.
    pub from: Symbol,
    /// The relevance by a model, otherwise the rubric's.
    pub relevance: Option<u8>,
}

fn location<S: Serializer>(position: &Position, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&position.location())
}

impl Pointer {
    /// Creates the pointer to a use at a distance from the changed definitions.
    pub(super) fn new(change: Change, reached: &Reached, distance: usize, entries: &[Symbol]) -> Pointer {
        let Reached { site, kind, from, .. } = reached;
        let function = site.within.as_ref().map_or(site.line, |within| within.line);
        let reported_at = reached.matched.as_ref().filter(|_| *kind == rubric::BREAKING_MATCH);
        // The values of a TypeScript union go to other types, which another member may not fit.
        let is_union = change == Change::AddVariant && matches!(site.language, Language::TypeScript | Language::Tsx);
        let mut tags = kind.tags.to_vec();
        // The definition uses itself.
        let is_recursive =
            |within: &Symbol| entries.iter().any(|entry| Position::of_symbol(entry) == Position::of_symbol(within));
        if site.within.as_ref().is_some_and(is_recursive) {
            tags.push(Tag::Recursive);
        }
        // A use at a distance is named by its own kind.
        let named = if *kind == rubric::INDIRECT { kind_of_use(site).unwrap_or(kind) } else { kind };
        let within = if site.enclosing.is_empty() { String::new() } else { format!(" in {}", site.enclosing) };
        let why = match distance {
            0 => format!("uses {}", from.label),
            steps => format!("uses {}, {steps} step{} from the change", from.label, if steps == 1 { "" } else { "s" }),
        };
        Pointer {
            position: Position::of_use(site),
            what: match &reached.matched {
                Some((_, how)) => format!("{}{within}: {how}", kind.name),
                None => format!("{}{within}", named.name),
            },
            risk: kind.risk(change).max(if is_union { UNION_USE } else { 0 }),
            relevance: reached.relevance.unwrap_or_else(|| kind.relevance(change, distance)),
            tags,
            action: kind.action(change),
            evidence: match site.certainty {
                Certainty::Verified => Evidence::Verified,
                Certainty::Possible | Certainty::Mention => Evidence::Possible,
            },
            from: format!("{} ({}:{})", from.label, from.file, from.line),
            hover: from.signature.clone(),
            distance,
            reported_at: reported_at.map(|(last, _)| (function, site.line..=*last)),
            why,
            text: site.text.clone(),
            in_test: site.in_test,
        }
    }
}

/// Marks the pointers that the compiler proved, and adds its other errors. A proven pointer breaks; another one may break only
/// where the compiler does not look, such as behind a condition of the build.
pub(super) fn add_proof(pointers: &mut Vec<Pointer>, proof: Proof, entry: &Symbol, root: &Path) {
    let most = if proof.limits.is_none() { NOT_PROVEN } else { BREAKS };
    let before: Vec<u8> = pointers.iter().map(|one| one.risk).collect();
    pointers.iter_mut().for_each(|one| one.risk = one.risk.min(most));
    for error in proof.errors {
        let file = project::visible::path(&error.file);
        let message = project::visible::escaped(&error.message);
        let is_at = |one: &Pointer| one.position.file == file && one.position.line == error.line;
        let is_around = |one: &Pointer| {
            let is_of = |(function, lines): &(usize, RangeInclusive<usize>)| {
                *function == error.line || lines.contains(&error.line)
            };
            one.position.file == file && one.reported_at.as_ref().is_some_and(is_of)
        };
        // Of several, the one with the highest risk, then the innermost one.
        let known = pointers.iter_mut().zip(&before).filter(|(one, _)| is_at(one) || is_around(one));
        if let Some((one, _)) = known.max_by_key(|(one, risk)| (**risk, is_at(one), one.position.line)) {
            if one.evidence != Evidence::Proved {
                let line = if is_at(one) { String::new() } else { format!(" at line {}", error.line) };
                one.why = format!("{}; {}{line}: {message}", one.why, proof.compiler);
            }
            (one.risk, one.evidence) = (BREAKS, Evidence::Proved);
            one.action = one.action.or(Some(CHANGE));
            continue;
        }
        pointers.push(Pointer {
            position: Position { file, line: error.line, column: error.column },
            what: message,
            risk: BREAKS,
            relevance: 5,
            tags: Vec::new(),
            action: Some(CHANGE),
            evidence: Evidence::Proved,
            from: format!("{} ({}:{})", entry.label, entry.file, entry.line),
            hover: entry.signature.clone(),
            distance: 0,
            reported_at: None,
            why: format!("reported by {}", proof.compiler),
            text: line_of(&root.join(&error.file), error.line),
            in_test: false,
        });
    }
}

/// Returns a line of a file; empty if it cannot be read. Blocks.
fn line_of(file: &Path, line: usize) -> String {
    let text = project::regular::read(file, MAX_FILE).unwrap_or_default();
    project::visible::escaped(text.lines().nth(line.saturating_sub(1)).unwrap_or_default().trim())
}

/// The size limit of a file with an error, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// The least risk of a use of a TypeScript union or enum that gets another member.
const UNION_USE: u8 = 2;

/// The risk of a place that does not compile, and the highest of one that the compiler does not report.
const BREAKS: u8 = 5;
const NOT_PROVEN: u8 = 4;
/// The action at a place without a use of the definition.
const CHANGE: &str = "change what the compiler reports";

/// Returns the kind of a match, by what a new constructor does there; `None` if it does nothing.
pub(super) fn kind_of_match(effect: MatchEffect) -> Option<&'static UseKind> {
    Some(match effect {
        MatchEffect::Breaks => rubric::BREAKING_MATCH,
        MatchEffect::FallsThrough => rubric::OPEN_MATCH,
        MatchEffect::Absorbs => rubric::COVERED_MATCH,
        MatchEffect::Undecided => rubric::UNCLEAR_MATCH,
        MatchEffect::Unaffected => return None,
    })
}

/// Returns the kind of a use; `None` for a local of the same name.
pub(super) fn kind_of_use(site: &UseSite) -> Option<&'static UseKind> {
    Some(match site.class {
        Class::Binding | Class::Mention => return None,
        Class::Call => rubric::CALL,
        Class::Construct => rubric::CONSTRUCT,
        Class::Pattern => rubric::PATTERN,
        Class::Import => rubric::IMPORT,
        Class::Export => rubric::RE_EXPORT,
        Class::Signature => rubric::SIGNATURE,
        Class::FieldRead => rubric::FIELD_READ,
        Class::FieldWrite => rubric::FIELD_WRITE,
        Class::Type | Class::Value if is_type_family(site) => rubric::TYPE_FAMILY,
        Class::Type | Class::Value if is_implementation(site) => rubric::IMPLEMENTATION,
        Class::Type => rubric::TYPE,
        Class::Value => rubric::VALUE,
    })
}

fn is_type_family(site: &UseSite) -> bool {
    let heads = ["type instance ", "data instance ", "newtype instance "];
    site.language == Language::Haskell && heads.iter().any(|head| site.text.starts_with(head))
}

/// True if the line is the head of an implementation, an instance or a class with bases.
fn is_implementation(site: &UseSite) -> bool {
    let heads: &[&str] = match site.language {
        Language::Rust => &["impl ", "impl<", "unsafe impl"],
        Language::Haskell => &["instance ", "deriving instance "],
        Language::Python => &["class "],
        Language::TypeScript | Language::Tsx | Language::JavaScript => &["class ", "abstract class "],
        Language::Go | Language::C | Language::Cpp => &[],
    };
    let text = site.text.trim_start_matches("export ").trim_start_matches("default ");
    heads.iter().any(|head| text.starts_with(head))
}
