//! A pointer: a place that the change concerns, with its risk, its evidence and the reason why it is listed.

use code::facts::{Certainty, MatchEffect, Symbol, UseSite};
use code::{Class, Language};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Reached;
use crate::position::Position;
use crate::prove::Proof;
use crate::rubric::{Change, Tag, UseKind, rate};

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
    /// The first line of the function around a match that breaks: tsc reports a missing branch there.
    #[serde(skip)]
    pub function: Option<usize>,
    pub why: String,
    /// The line.
    pub text: String,
    pub in_test: bool,
}

fn location<S: Serializer>(position: &Position, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&position.location())
}

impl Pointer {
    /// Creates the pointer to a use at a distance from the changed definitions.
    pub(super) fn new(
        change: Change,
        kind: UseKind,
        reached: &Reached,
        distance: usize,
        entries: &[Symbol],
    ) -> Pointer {
        let (site, from) = (&reached.site, &reached.from);
        let is_breaking = kind == UseKind::BreakingMatch;
        let rating = rate(change, kind, distance);
        let mut tags = rating.tags.to_vec();
        // The definition uses itself.
        let is_recursive =
            |within: &Symbol| entries.iter().any(|entry| Position::of_symbol(entry) == Position::of_symbol(within));
        if site.within.as_ref().is_some_and(is_recursive) {
            tags.push(Tag::Recursive);
        }
        // A use at a distance is named by its own kind.
        let named = if kind == UseKind::Indirect { kind_of_use(site).unwrap_or(kind) } else { kind };
        let within = if site.enclosing.is_empty() { String::new() } else { format!(" in {}", site.enclosing) };
        let why = match distance {
            0 => format!("uses {}", from.label),
            steps => format!("uses {}, {steps} step{} from the change", from.label, if steps == 1 { "" } else { "s" }),
        };
        Pointer {
            position: Position::of_use(site),
            what: match &reached.how {
                Some(how) => format!("{}{within}: {how}", rating.name),
                None => format!("{}{within}", rate(change, named, distance).name),
            },
            risk: rating.risk,
            relevance: reached.relevance.unwrap_or(rating.relevance),
            tags,
            action: rating.action,
            evidence: match site.certainty {
                Certainty::Verified => Evidence::Verified,
                Certainty::Possible | Certainty::Mention => Evidence::Possible,
            },
            from: format!("{} ({}:{})", from.label, from.file, from.line),
            hover: from.signature.clone(),
            distance,
            function: site.within.as_ref().filter(|_| is_breaking).map(|within| within.line),
            why,
            text: site.text.clone(),
            in_test: site.in_test,
        }
    }
}

/// Marks the pointers that the compiler proved, and adds its other errors. A proven pointer breaks; another one may break only
/// where the compiler does not look, such as behind a condition of the build.
pub(super) fn add_proof(pointers: &mut Vec<Pointer>, proof: Proof, entry: &Symbol) {
    let most = if proof.limits.is_none() { NOT_PROVEN } else { BREAKS };
    let before: Vec<u8> = pointers.iter().map(|one| one.risk).collect();
    pointers.iter_mut().for_each(|one| one.risk = one.risk.min(most));
    for error in proof.errors {
        let file = project::visible::path(&error.file);
        let message = project::visible::escaped(&error.message);
        let is_there = |one: &Pointer| {
            let lines = [Some(one.position.line), one.function];
            one.position.file == file && lines.contains(&Some(error.line))
        };
        // Of several uses there, the one with the highest risk.
        let known = pointers.iter_mut().zip(&before).filter(|(one, _)| is_there(one)).max_by_key(|(_, risk)| **risk);
        if let Some((one, _)) = known {
            if one.evidence != Evidence::Proved {
                one.why = format!("{}; {}: {message}", one.why, proof.compiler);
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
            function: None,
            why: format!("reported by {}", proof.compiler),
            text: String::new(),
            in_test: false,
        });
    }
}

/// The risk of a place that does not compile, and the highest of one that the compiler does not report.
const BREAKS: u8 = 5;
const NOT_PROVEN: u8 = 4;
/// The action at a place without a use of the definition.
const CHANGE: &str = "change what the compiler reports";

/// Returns the kind of a match, by what a new constructor does there.
pub(super) fn kind_of_match(effect: MatchEffect) -> UseKind {
    match effect {
        MatchEffect::Breaks => UseKind::BreakingMatch,
        MatchEffect::FallsThrough => UseKind::OpenMatch,
        MatchEffect::Absorbs | MatchEffect::Unaffected => UseKind::CoveredMatch,
        MatchEffect::Undecided => UseKind::UnclearMatch,
    }
}

/// Returns the kind of a use; `None` for a local of the same name.
pub(super) fn kind_of_use(site: &UseSite) -> Option<UseKind> {
    Some(match site.class {
        Class::Binding | Class::Mention => return None,
        Class::Call => UseKind::Call,
        Class::Construct => UseKind::Construct,
        Class::Pattern => UseKind::Pattern,
        Class::Import => UseKind::Import,
        Class::Export => UseKind::ReExport,
        Class::Signature => UseKind::Signature,
        Class::FieldRead => UseKind::FieldRead,
        Class::FieldWrite => UseKind::FieldWrite,
        Class::Type | Class::Value if is_type_family(site) => UseKind::TypeFamily,
        Class::Type | Class::Value if is_implementation(site) => UseKind::Implementation,
        Class::Type => UseKind::Type,
        Class::Value => UseKind::Value,
    })
}

fn is_type_family(site: &UseSite) -> bool {
    site.language == Language::Haskell && begins(&site.text, &["type instance ", "data instance ", "newtype instance "])
}

/// True if the line is the head of an implementation, an instance or a class with bases.
fn is_implementation(site: &UseSite) -> bool {
    match site.language {
        Language::Rust => begins(&site.text, &["impl ", "impl<", "unsafe impl"]),
        Language::Haskell => begins(&site.text, &["instance ", "deriving instance "]),
        Language::Python => begins(&site.text, &["class "]),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            let text = site.text.trim_start_matches("export ").trim_start_matches("default ");
            begins(text, &["class ", "abstract class "])
        }
        Language::Go | Language::C | Language::Cpp => false,
    }
}

fn begins(text: &str, all: &[&str]) -> bool {
    all.iter().any(|start| text.starts_with(start))
}
