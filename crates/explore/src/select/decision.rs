//! A decision of a walk: the facts on which the rules or a model decide, so that a recorded decision can be made again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::rubric::{Change, Tag, UseKind};

/// A decision. The tag is the name of the node that a model is asked with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub(crate) enum Decision {
    /// Which definitions to read next (`teach-graph`).
    SelectSymbols(Selection),
    /// How relevant a use is (`scout`).
    RateEdge(EdgeFacts),
}

/// A definition and those that it names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Selection {
    pub topic: String,
    pub symbol: String,
    pub location: String,
    pub signature: String,
    pub doc: Option<String>,
    pub depth: usize,
    pub candidates: Vec<Candidate>,
}

/// A definition that may be read next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Candidate {
    /// Unique among the candidates.
    pub name: String,
    pub location: String,
    pub kind: String,
    pub signature: String,
    pub relation: Relation,
    /// True if a language server resolved the name.
    pub verified: bool,
}

/// How a definition names another one, in the order of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Relation {
    /// The type of a method.
    Container,
    /// In the head of a class.
    Base,
    Field,
    Signature,
    Call,
    /// A method of a class, with a word of the topic.
    Method,
    Body,
    /// A method that overrides it.
    Override,
    /// A function that calls it.
    Caller,
}

/// A use of a definition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EdgeFacts {
    pub query: String,
    pub change: Change,
    /// The definition whose use this is.
    pub symbol: String,
    pub location: String,
    /// Its signature.
    pub hover: String,
    /// The line of the use.
    pub snippet: String,
    /// The name of the use's kind in the rubric.
    #[serde(rename = "use")]
    pub kind: String,
    /// The steps from the change.
    pub depth: usize,
}

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Verdict {
    Selected {
        /// The names of candidates, the most important first.
        selected: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Rated {
        relevance: u8,
        /// Only the rules rate the risk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        risk: Option<u8>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<Tag>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// The scores of names: a type in a signature or a type's declaration, a called function or an overriding method, a type in a
/// body. With the cost of a step they rank all names in a seed before those two steps away that are not on the topic.
const SIGNATURE: i32 = 7;
const CALL: i32 = 6;
const BODY: i32 = 4;
/// A method that runs instead of a called one.
const OVERRIDE: i32 = 8;
/// The score that a variable or a constant loses.
const VALUE: i32 = 2;
/// The additional scores of a verified name, of one in the same file, and of one that has a word of the topic.
const VERIFIED: i32 = 1;
const SAME_FILE: i32 = 1;
const ON_TOPIC: i32 = 3;
/// The score that a name in another file loses if only the body of a definition that was not asked for has it.
const DETAIL: i32 = 6;
/// The limit of a text in a prompt, in characters.
const MOST_TEXT: usize = 400;

impl Decision {
    /// Returns the verdict of the rules.
    pub(crate) fn by_rules(&self) -> Verdict {
        match self {
            Decision::SelectSymbols(selection) => {
                let selected = selection.ranked().into_iter().map(|(one, _)| one.name.clone()).collect();
                Verdict::Selected { selected, reason: None }
            }
            Decision::RateEdge(edge) => {
                let kind = UseKind::by_name(&edge.kind);
                Verdict::Rated {
                    relevance: kind.relevance(edge.change, edge.depth),
                    risk: Some(kind.risk(edge.change)),
                    tags: kind.tags.to_vec(),
                    reason: None,
                }
            }
        }
    }

    /// Returns the input of the node.
    pub(crate) fn input(&self) -> Map<String, Value> {
        let cut = |text: &str| text.chars().take(MOST_TEXT).collect::<String>();
        let mut input = match self {
            Decision::SelectSymbols(one) => {
                let candidate = |one: &Candidate| json!({"name": one.name, "kind": one.kind, "relation": one.relation, "signature": cut(&one.signature)});
                let candidates: Vec<Value> = one.candidates.iter().map(candidate).collect();
                json!({
                    "topic": one.topic, "symbol": one.symbol, "signature": cut(&one.signature),
                    "doc": one.doc.as_deref().map(cut), "candidates": candidates,
                })
            }
            Decision::RateEdge(one) => {
                let risk = UseKind::by_name(&one.kind).risk(one.change).max(1);
                json!({
                    "query": one.query, "change": one.change, "symbol": one.symbol, "signature": cut(&one.hover),
                    "use": one.kind, "place": one.location, "line": cut(&one.snippet), "steps": one.depth, "risk": risk,
                })
            }
        };
        let mut input = input.as_object_mut().map(std::mem::take).unwrap_or_default();
        input.retain(|_, value| !value.is_null());
        input
    }

    /// Checks the value of a model. It may only choose among what it was given.
    pub(crate) fn read(&self, value: Value) -> Result<Verdict, String> {
        let reason = value["reason"].as_str().map(|reason| reason.chars().take(MOST_TEXT).collect());
        match self {
            Decision::SelectSymbols(selection) => {
                let named = value["selected"].as_array().ok_or("it has no list `selected`")?;
                let mut selected: Vec<String> = Vec::new();
                for name in named {
                    let name = name.as_str().unwrap_or_default();
                    if !selection.candidates.iter().any(|one| one.name == name) {
                        let name: String = name.chars().take(80).collect();
                        return Err(format!("`{}` is not a candidate", project::visible::escaped(&name)));
                    }
                    if !selected.iter().any(|known| known == name) {
                        selected.push(name.to_owned());
                    }
                }
                Ok(Verdict::Selected { selected, reason })
            }
            Decision::RateEdge(_) => {
                let relevance = value["relevance"].as_u64().and_then(|one| u8::try_from(one).ok());
                let relevance = relevance.filter(|one| (1..=5).contains(one)).ok_or("`relevance` is not 1 to 5")?;
                Ok(Verdict::Rated { relevance, risk: None, tags: Vec::new(), reason })
            }
        }
    }
}

impl Selection {
    /// Returns the candidates with their scores by the rules, the best first.
    pub(crate) fn ranked(&self) -> Vec<(&Candidate, i32)> {
        let mut overriders = 0;
        let mut score = |one: &Candidate| {
            // The first ones are examples; the others come if there is room.
            overriders += i32::from(one.relation == Relation::Override);
            let is_near = file(&one.location) == file(&self.location);
            let is_detail = self.depth > 0 && matches!(one.relation, Relation::Call | Relation::Body) && !is_near;
            score(one, &self.topic) + if is_near { SAME_FILE } else { 0 }
                - if is_detail { DETAIL } else { 0 }
                - if one.relation == Relation::Override { overriders } else { 0 }
        };
        let mut ranked: Vec<_> = self.candidates.iter().map(|one| (one, score(one))).collect();
        ranked.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        ranked
    }

    /// Returns the score of each candidate after a model's verdict; `None` for those that it dropped. The model's first
    /// candidate gets the best score of the rules, its second one the next or a lower one.
    pub(crate) fn scores(&self, verdict: Option<&Verdict>) -> Vec<Option<i32>> {
        let ranked = self.ranked();
        // Without equal scores, so that the model's order counts.
        let lower = |last: &mut i32, (_, score): &(&Candidate, i32)| {
            *last = (*score).min(*last - 1);
            Some(*last)
        };
        let lowered: Vec<i32> = ranked.iter().scan(i32::MAX, lower).collect();
        let score = |one: &Candidate| match verdict {
            Some(Verdict::Selected { selected, .. }) => {
                lowered.get(selected.iter().position(|name| *name == one.name)?).copied()
            }
            _ => ranked.iter().find(|(other, _)| other.name == one.name).map(|(_, score)| *score),
        };
        self.candidates.iter().map(score).collect()
    }
}

fn file(location: &str) -> &str {
    location.rsplit_once(':').map_or(location, |(file, _)| file)
}

/// Returns the score of a candidate by the rules.
fn score(candidate: &Candidate, topic: &str) -> i32 {
    let base = match candidate.relation {
        Relation::Container | Relation::Base | Relation::Field | Relation::Signature => SIGNATURE,
        Relation::Call | Relation::Method | Relation::Caller => CALL,
        Relation::Override => OVERRIDE,
        Relation::Body => BODY,
    };
    let value = if matches!(&*candidate.kind, "variable" | "constant") { VALUE } else { 0 };
    let verified = if candidate.verified { VERIFIED } else { 0 };
    // A name that is not unique is followed by its place.
    let name = candidate.name.split(" (").next().unwrap_or_default();
    // A constructed class explains more than a called function.
    let constructed = i32::from(candidate.relation == Relation::Call && candidate.kind == "class");
    let on_topic = if count_topic_words(name, topic) > 0 { ON_TOPIC } else { 0 };
    base + verified + constructed + on_topic - value
}

/// Returns how many words of a name are words of a topic.
pub(crate) fn count_topic_words(name: &str, topic: &str) -> usize {
    let topic: Vec<String> = split_words(topic).collect();
    split_words(name).filter(|word| topic.iter().any(|other| are_forms_of_one(word, other))).count()
}

/// Returns true for words such as `parse` and `parsing`: except for its last letter, the shorter one
/// begins the other.
fn are_forms_of_one(a: &str, b: &str) -> bool {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    a == b || common >= 4 && common + 1 >= a.chars().count().min(b.chars().count())
}

/// Returns the words of a text in lower case; `ShapeKind` and `shape_kind` are two words.
fn split_words(text: &str) -> impl Iterator<Item = String> {
    let mut split = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            split.push(' ');
        }
        split.push(if c.is_alphanumeric() { c } else { ' ' });
        before = c;
    }
    // Shorter words are rarely specific.
    let words: Vec<String> = split.split(' ').filter(|word| word.len() > 2).map(str::to_lowercase).collect();
    words.into_iter()
}
