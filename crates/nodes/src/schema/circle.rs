//! The references of a schema, and cycles among them. JSON Schema leaves a cycle at the same value undefined, and the validator
//! then accepts any value.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Keywords with a schema, or a list of schemas, for the same value.
pub(super) const SAME_VALUE: &[&str] = &["anyOf", "oneOf", "allOf", "not", "if", "then", "else"];
/// Keywords with a map of schemas for the same value.
pub(super) const SAME_VALUE_MAPS: &[&str] = &["dependentSchemas", "dependencies"];
/// The maximum length of a chain of references at the same value, because the validator recurses for each.
const CHAIN_MAX: usize = 64;

/// Returns an error if the references have a cycle or are nested too deeply.
pub(super) fn find(targets: &Targets<'_>) -> Option<String> {
    let mut chains = Chains { targets, known: BTreeMap::new() };
    targets.references().into_iter().find_map(|reference| match chains.longest(reference, 0) {
        Err(why) => Some(why),
        Ok(length) if length > CHAIN_MAX => Some(too_long(reference)),
        Ok(_) => None,
    })
}

fn too_long(reference: &str) -> String {
    format!("{reference} starts a chain of more than {CHAIN_MAX} references: refer to the last of them")
}

struct Chains<'a> {
    targets: &'a Targets<'a>,
    /// The length of the chain from each reference; `None` while it is being computed.
    known: BTreeMap<&'a str, Option<usize>>,
}

impl<'a> Chains<'a> {
    fn longest(&mut self, reference: &'a str, before: usize) -> Result<usize, String> {
        match self.known.get(reference) {
            Some(Some(length)) => return Ok(*length),
            Some(None) => {
                return Err(format!(
                    "{reference} refers to itself without entering a part of the value, so it has no meaning"
                ));
            }
            None if before > CHAIN_MAX => return Err(too_long(reference)),
            None => self.known.insert(reference, None),
        };
        let mut same = BTreeSet::new();
        of_same_value(self.targets.resolve(reference).unwrap_or(&Value::Null), &mut same);
        let mut longest = 0;
        for next in same {
            longest = longest.max(self.longest(next, before + 1)?);
        }
        self.known.insert(reference, Some(longest + 1));
        Ok(longest + 1)
    }
}

/// The parts of a schema that references can point to.
pub(super) struct Targets<'a> {
    pub(super) schema: &'a Value,
    /// The parts with an anchor; `None` for a duplicate anchor.
    anchors: BTreeMap<&'a str, Option<&'a Value>>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(schema: &'a Value) -> Targets<'a> {
        let mut anchors = BTreeMap::new();
        anchored(schema, &mut anchors);
        Targets { schema, anchors }
    }

    /// Resolves a reference within the schema.
    pub(super) fn resolve(&self, reference: &str) -> Option<&'a Value> {
        // The percent-encoded form of a reference would point to another part.
        let place = reference.strip_prefix('#').filter(|place| !place.contains('%'))?;
        self.schema.pointer(place).or_else(|| *self.anchors.get(place)?)
    }

    /// Returns all references in the schema.
    pub(super) fn references(&self) -> BTreeSet<&'a str> {
        let mut references = BTreeSet::new();
        collect(self.schema, &mut references);
        references
    }
}

fn anchored<'a>(schema: &'a Value, anchors: &mut BTreeMap<&'a str, Option<&'a Value>>) {
    match schema {
        Value::Object(object) => {
            let names = ["$anchor", "$dynamicAnchor"].iter().filter_map(|keyword| object.get(*keyword)?.as_str());
            for name in names {
                anchors.entry(name).and_modify(|part| *part = None).or_insert(Some(schema));
            }
            object.values().for_each(|part| anchored(part, anchors));
        }
        Value::Array(parts) => parts.iter().for_each(|part| anchored(part, anchors)),
        _ => {}
    }
}

/// Returns the references of a schema.
pub(super) fn referred(schema: &Value) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

fn collect<'a>(schema: &'a Value, references: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Object(object) => {
            references.extend(referred(schema));
            object.values().for_each(|part| collect(part, references));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, references)),
        _ => {}
    }
}

/// Collects the references that apply to the same value as a schema.
fn of_same_value<'a>(schema: &'a Value, references: &mut BTreeSet<&'a str>) {
    references.extend(referred(schema));
    for part in SAME_VALUE.iter().filter_map(|keyword| schema.get(*keyword)) {
        match part {
            Value::Array(parts) => parts.iter().for_each(|part| of_same_value(part, references)),
            part => of_same_value(part, references),
        }
    }
    for parts in SAME_VALUE_MAPS.iter().filter_map(|keyword| schema.get(*keyword)?.as_object()) {
        parts.values().for_each(|part| of_same_value(part, references));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_references_say_nothing() {
        let with = |a: Value, b: Value| json!({"$ref": "#/$defs/a", "$defs": {"a": a, "b": b}});
        let (a, b) = (json!({"$ref": "#/$defs/a"}), json!({"$ref": "#/$defs/b"}));
        for (schema, wanted) in [
            (with(a.clone(), json!({})), Some("#/$defs/a")),
            (with(b.clone(), a.clone()), Some("#/$defs/a")),
            (
                with(json!({"anyOf": [{"type": "null"}, {"not": b}]}), json!({"if": {"then": {}}, "else": a})),
                Some("#/$defs/a"),
            ),
            (json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}), Some("#")),
            (json!({"$defs": {"a": {"$anchor": "a", "$ref": "#a"}}}), Some("#a")),
            (json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}), Some("#a")),
            (json!({"dependencies": {"x": ["y"], "z": {"$ref": "#"}}}), Some("#")),
            (json!({"dependentSchemas": {"x": {"not": {"$recursiveRef": "#"}}}}), Some("#")),
            // The cycle passes through a part of the value.
            (with(json!({"type": "array", "items": a}), json!({})), None),
            (json!({"properties": {"of": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}), None),
            (with(json!({"type": "object", "additionalProperties": {"allOf": [a]}}), json!({})), None),
            (with(json!({"type": "null"}), json!({})), None),
        ] {
            let wanted = wanted.map(|reference| {
                format!("{reference} refers to itself without entering a part of the value, so it has no meaning")
            });
            assert_eq!(find(&Targets::new(&schema)), wanted, "{schema}");
        }
    }

    #[test]
    fn how_many_references_may_lead_to_one_another() {
        let chain = |length: usize| {
            let defs = (1..=length).map(|at| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)})));
            let defs: serde_json::Map<String, Value> = defs.collect();
            let mut schema = json!({"$ref": "#/$defs/d1", "$defs": defs});
            schema["$defs"][format!("d{}", length + 1)] = json!({"type": "null"});
            find(&Targets::new(&schema)).is_some()
        };
        // One reference points to the first.
        assert_eq!((chain(CHAIN_MAX - 1), chain(CHAIN_MAX), chain(5_000)), (false, true, true));
    }
}
