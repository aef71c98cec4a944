//! Results in the form that these tests read: omitted values are filled in, and each location has one object, in order,
//! with its verdict spelled out: confirmed, earlier, undecided, refuted.

use serde_json::{Map, Value, json};

/// Fills in a result.
pub(crate) fn expanded(mut result: Value) -> Value {
    let Some(answer) = result.as_object_mut() else { return result };
    // Results for Tidepool omit nothing.
    if answer.contains_key("warning") {
        return result;
    }
    if let Some(head) = answer.get_mut("head").and_then(Value::as_object_mut) {
        for number in ["verified", "earlier", "unverified", "other"] {
            head.entry(number).or_insert(json!(0));
        }
        for list in ["servers", "reasons"] {
            head.entry(list).or_insert(json!([]));
        }
    }
    if answer.contains_key("callees") || answer.contains_key("external_left_out") {
        for callee in answer.get_mut("callees").and_then(Value::as_array_mut).into_iter().flatten() {
            callee["verdict"] = verdict(callee);
        }
    } else if answer.contains_key("change") {
        matches(answer);
    } else if answer.contains_key("total") {
        uses(answer);
    }
    answer.entry("truncated").or_insert(json!(false));
    answer.entry("callees").or_insert(json!([]));
    result
}

fn verdict(one: &Value) -> Value {
    json!(match one["verdict"].as_str() {
        None => "confirmed",
        Some("unverified") => "undecided",
        Some("other") => "refuted",
        Some("not_checked") => "not_judged",
        Some(verdict) => verdict,
    })
}

fn uses(answer: &mut Map<String, Value>) {
    let definitions = answer.entry("definitions").or_insert_with(|| json!([])).clone();
    let place = |number: usize| {
        let one = &definitions[number];
        json!(format!("{}:{}", one["file"].as_str().unwrap(), one["line"]))
    };
    let are_one = definitions.as_array().map(Vec::len) == Some(1);
    let name = if answer.contains_key("callers") { "callers" } else { "uses" };
    let mut all = Vec::new();
    for file in answer.remove(name).iter().filter_map(Value::as_array).flatten() {
        let verdict = verdict(file);
        let is_meant = verdict == "confirmed" || verdict == "earlier";
        let definition = match file["definition"].as_u64() {
            Some(number) => place(number.try_into().unwrap()),
            None if are_one && is_meant => place(0),
            None => Value::Null,
        };
        for one in file["places"].as_array().unwrap() {
            let mut one = one.clone();
            let class = one["class"].as_str().unwrap_or("call").to_owned();
            let via = if class == "value" { "value" } else { "direct" };
            let site = one.as_object_mut().unwrap();
            site.insert("class".to_owned(), json!(class));
            site.entry("via").or_insert(json!(via));
            for (name, value) in [("file", &file["file"]), ("verdict", &verdict), ("definition", &definition)] {
                site.insert(name.to_owned(), value.clone());
            }
            all.push(one);
        }
    }
    for group in answer.get("unverified").and_then(Value::as_array).into_iter().flatten() {
        let class = group["class"].as_str().unwrap_or("call");
        for (file, lines) in group["places"].as_object().unwrap() {
            for line in lines.as_array().unwrap() {
                all.push(json!({"file": file, "line": line, "class": class, "verdict": "undecided"}));
            }
        }
    }
    let is_outside = |one: &Value| one["definition"].as_str().is_some_and(|place| place.starts_with('/'));
    if !all.iter().any(is_outside) {
        let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        all.sort_by_key(|one| {
            let is_local = one["may_be_local"] == true;
            (is_local, text(one, "file"), one["line"].as_u64(), one["column"].as_u64())
        });
    }
    // An answer without locations does not tell which tool gave it.
    answer.insert("call_sites".to_owned(), json!(all));
    answer.insert("uses".to_owned(), json!(all));
}

fn matches(answer: &mut Map<String, Value>) {
    let mut all = Vec::new();
    for file in answer.remove("matches").iter().filter_map(Value::as_array).flatten() {
        for one in file["places"].as_array().unwrap() {
            let mut one = one.clone();
            let verdict = verdict(&one);
            let site = one.as_object_mut().unwrap();
            for (name, value) in [("file", &file["file"]), ("effect", &file["effect"]), ("verdict", &verdict)] {
                site.insert(name.to_owned(), value.clone());
            }
            site.entry("names").or_insert(json!([]));
            all.push(one);
        }
    }
    answer.insert("matches".to_owned(), json!(all));
}
