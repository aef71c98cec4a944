//! Training examples from recorded decisions. The verdict that the walk used is the answer.

use serde_json::{Map, Value, json};

/// The members of a record that are not facts on which it was decided.
const VERDICTS: [&str; 5] = ["node", "rules", "model", "problem", "used"];

/// Returns the example of a record in a format.
pub(super) fn example(record: &Value, format: &str) -> Value {
    match format {
        "chat" => chat(record),
        "functiongemma" => json!({"text": function_gemma(record)}),
        _ => record.clone(),
    }
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Returns the verdict that the walk used.
fn verdict(record: &Value) -> &Value {
    &record[text(record, "used")]
}

fn is_selection(record: &Value) -> bool {
    record["node"] == "select_symbols"
}

/// Returns the task in a sentence.
fn task(record: &Value) -> &'static str {
    if is_selection(record) {
        "Select the candidates that must be read to understand the topic, the most important first."
    } else {
        "Rate from 1 to 5 how relevant the use is to the question about a change."
    }
}

fn chat(record: &Value) -> Value {
    let facts = record.as_object().into_iter().flatten().filter(|(name, _)| !VERDICTS.contains(&name.as_str()));
    let facts: Map<String, Value> = facts.map(|(name, value)| (name.clone(), value.clone())).collect();
    let asked = if is_selection(record) { "selected" } else { "relevance" };
    let mut answer = Map::new();
    for name in ["reason", asked] {
        answer.extend(verdict(record).get(name).map(|value| (name.to_owned(), value.clone())));
    }
    json!({"messages": [
        {"role": "system", "content": format!("{} Answer with JSON.", task(record))},
        {"role": "user", "content": Value::Object(facts).to_string()},
        {"role": "assistant", "content": Value::Object(answer).to_string()},
    ]})
}

/// The groups of candidates in FunctionGemma's examples, by their relation.
const GROUPS: [(&str, &str); 4] =
    [("field", "Fields"), ("signature", "Inputs and Output"), ("call", "Calls"), ("body", "References")];

fn function_gemma(record: &Value) -> String {
    let member = |name| text(record, name);
    let verdict = verdict(record);
    let (user, arguments) = if is_selection(record) {
        let mut user = format!(
            "Topic: {}\nSymbol: {}\nModule: {}\nSignature: {}",
            member("topic"),
            member("symbol"),
            member("location"),
            member("signature")
        );
        for (relation, title) in GROUPS {
            let all = record["candidates"].as_array().into_iter().flatten();
            let names: Vec<&str> = all.filter(|one| one["relation"] == relation).map(|one| text(one, "name")).collect();
            if !names.is_empty() {
                user.push_str(&format!("\n{title}: {}", names.join(", ")));
            }
        }
        let selected = verdict["selected"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let selected: Vec<&str> = selected.collect();
        (user, vec![("selected", selected.join(",").into())])
    } else {
        let user = format!(
            "Query: {}\nEdge: {} of {} at {}\nHover: {}\nCode: {}\nDepth: {}",
            member("query"),
            member("use"),
            member("symbol"),
            member("location"),
            member("hover"),
            member("snippet"),
            record["depth"]
        );
        let all = || record["rules"]["tags"].as_array().into_iter().flatten();
        let has = |tag: &str| Value::from(all().any(|one| one == tag));
        let arguments = vec![
            ("relevance", verdict["relevance"].clone()),
            ("risk", record["rules"]["risk"].clone()),
            ("reasoning", text(verdict, "reason").into()),
            ("is_exhaustive", has("Exhaustive")),
            ("is_type_family", has("TypeFamily")),
            ("is_exported", has("ReExport")),
        ];
        (user, arguments)
    };
    let argument = |(name, value): &(&str, Value)| match value {
        Value::String(text) => format!("{name}:<escape>{}<escape>", without_tokens(text)),
        value => format!("{name}:{value}"),
    };
    let call: Vec<String> = arguments.iter().map(argument).collect();
    format!(
        "{}<start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n<start_function_call>call:{}{{{}}}<end_function_call><end_of_turn>\n",
        declaration(member("node"), task(record), &arguments),
        without_tokens(&user),
        member("node"),
        call.join(",")
    )
}

/// Returns the developer's turn, which declares the function.
fn declaration(name: &str, task: &str, arguments: &[(&str, Value)]) -> String {
    let property = |(name, value): &(&str, Value)| {
        let kind = match value {
            Value::String(_) => "STRING",
            Value::Bool(_) => "BOOLEAN",
            _ => "INTEGER",
        };
        format!("{name}:{{type:<escape>{kind}<escape>}}")
    };
    let properties: Vec<String> = arguments.iter().map(property).collect();
    format!(
        "<start_of_turn>developer\nYou are a model that can do function calling with the following functions\
         <start_function_declaration>declaration:{name}{{description:<escape>{task}<escape>,parameters:{{properties:{{{}}},\
         required:[<escape>{}<escape>],type:<escape>OBJECT<escape>}}}}<end_function_declaration><end_of_turn>\n",
        properties.join(","),
        arguments[0].0,
    )
}

/// Breaks the control tokens in a text, which is data.
fn without_tokens(text: &str) -> String {
    ["start_", "end_", "escape>"]
        .iter()
        .fold(text.to_owned(), |text, token| text.replace(&format!("<{token}"), &format!("< {token}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_that_the_walk_used_is_the_answer() {
        let record = json!({
            "node": "select_symbols", "topic": "areas", "symbol": "Shape", "location": "src/lib.rs:4", "signature": "enum Shape",
            "candidates": [{"name": "Circle", "relation": "field"}, {"name": "Label", "relation": "field"}], "used": "model",
            "rules": {"selected": ["Circle", "Label"]}, "model": {"selected": ["Label"], "reason": "the circle is incidental"},
        });
        let chat = example(&record, "chat");
        let messages = chat["messages"].as_array().expect("a list");
        let roles: Vec<&str> = messages.iter().map(|message| text(message, "role")).collect();
        assert_eq!(roles, ["system", "user", "assistant"]);
        let content = |at: usize| serde_json::from_str::<Value>(text(&messages[at], "content")).expect("JSON");
        assert_eq!((&content(1)["topic"], &content(1)["rules"]), (&json!("areas"), &Value::Null));
        assert_eq!(content(2), json!({"reason": "the circle is incidental", "selected": ["Label"]}));
        let gemma = example(&record, "functiongemma");
        let said = text(&gemma, "text");
        assert!(said.contains("Topic: areas\nSymbol: Shape\n") && said.contains("\nFields: Circle, Label"), "{said}");
        let call = "<start_function_call>call:select_symbols{selected:<escape>Label<escape>}<end_function_call>";
        assert!(said.contains(call), "{said}");
        assert_eq!(example(&record, "raw"), record);
    }

    #[test]
    fn data_cannot_end_a_turn() {
        let record = json!({
            "node": "rate_edge", "query": "q<end_of_turn>", "snippet": "a<escape>b", "depth": 0, "used": "rules",
            "rules": {"relevance": 5, "risk": 4, "tags": ["ReExport"]},
        });
        let example = example(&record, "functiongemma");
        let text = text(&example, "text");
        assert_eq!(text.matches("<end_of_turn>").count(), 3, "{text}");
        assert!(text.contains("Query: q< end_of_turn>") && text.contains("Code: a< escape>b"), "{text}");
        assert!(text.contains("call:rate_edge{relevance:5,risk:4,reasoning:<escape><escape>,is_exhaustive:false,is_type_family:false,is_exported:true}<end_function_call>"), "{text}");
    }
}
