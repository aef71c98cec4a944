//! Verdicts stored beyond the life of the server: shown as confirmed earlier while no server answers and both files are
//! unchanged. They are never final.

use std::collections::BTreeMap;

use code::CodeSettings;
use code::settings::ServerSettings;
use serde_json::json;

use crate::judged_project::{JudgedProject, sites};
use crate::misbehaving_server::{liar, lying_python, project};

/// Starts another daemon with these settings of the server.
fn begin_again(judged: &mut JudgedProject, ty: ServerSettings) {
    let servers = BTreeMap::from([("ty".to_owned(), ty)]);
    judged.begin_again(CodeSettings { servers, ..CodeSettings::default() });
}

/// Returns the settings of a server that never answers.
fn mute() -> ServerSettings {
    ServerSettings { command: Some(["sleep", "3600"].map(str::to_owned).to_vec()), enabled: None }
}

/// Returns the verdicts without a server, and the head line up to the colon.
fn now(judged: &JudgedProject, name: &str) -> (Vec<String>, String) {
    let (answer, text) = judged.ask("find_callers", json!({"name": name, "wait_ms": 0})).unwrap();
    assert_eq!(answer["head"]["complete"], false, "{text}");
    let verdicts = answer["call_sites"].as_array().unwrap().iter().map(|site| site["verdict"].as_str().unwrap());
    let earlier = verdicts.filter(|verdict| *verdict == "earlier").count();
    assert_eq!(answer["head"]["earlier"], earlier);
    (sites(&answer), text.split(':').next().unwrap().to_owned())
}

#[test]
fn what_was_confirmed_is_known_in_the_next_life() {
    let Some(mut judged) = lying_python("honest", 0.0) else { return };
    let (answer, _) = judged.until_final("find_callers", json!({"name": "geo.py:area"}));
    assert_eq!(answer["head"]["earlier"], 0);
    begin_again(&mut judged, mute());
    let earlier =
        ["passed.py:2 value earlier geo.py:1", "uses.py:5 call earlier geo.py:1", "uses.py:7 call earlier geo.py:1"];
    let (found, head) = now(&judged, "geo.py:area");
    // A refuted verdict is not stored: it is undecided again.
    assert_eq!(found[..2], earlier[..2]);
    assert_eq!((found[2].as_str(), found[3].as_str()), ("uses.py:6 call undecided -", earlier[2]));
    assert_eq!(head, "3 callers, verified earlier and unchanged since. 1 more call by name, not checked yet");
    // One of the files has changed.
    judged.write("uses.py", "from geo import area\n\ndef run():\n    return area(2)\n");
    let (found, head) = now(&judged, "geo.py:area");
    assert_eq!(found, ["passed.py:2 value earlier geo.py:1", "uses.py:4 call undecided -"]);
    assert_eq!(head, "1 caller, verified earlier and unchanged since. 1 more call by name, not checked yet");
    // The definition's own file has changed.
    judged.write("geo.py", "def area(side):\n    return 2 * side\n");
    assert_eq!(now(&judged, "geo.py:area").1, "2 places by name, not checked yet");
    // Both are unchanged again.
    project(&judged);
    assert!(now(&judged, "geo.py:area").0.contains(&earlier[1].to_owned()));
}

#[test]
fn without_a_server_it_is_known_too() {
    let Some(mut judged) = lying_python("honest", 0.0) else { return };
    judged.until_final("find_uses", json!({"name": "geo.py:area"}));
    begin_again(&mut judged, ServerSettings { command: None, enabled: Some(false) });
    let (found, head) = now(&judged, "geo.py:area");
    assert_eq!(found.iter().filter(|site| site.contains("earlier")).count(), 3, "{found:?}");
    assert!(
        head.starts_with("3 callers, verified earlier and unchanged since. 1 more call by name, unchecked"),
        "{head}"
    );
    // Verified again, they are confirmed, and no earlier verdict remains.
    begin_again(&mut judged, liar("honest", 0.0));
    let (answer, _) = judged.until_final("find_callers", json!({"name": "geo.py:area"}));
    assert_eq!((&answer["head"]["earlier"], &answer["head"]["verified"]), (&json!(0), &json!(3)));
}

#[test]
fn what_a_definition_calls_is_known_too() {
    let Some(mut judged) = lying_python("honest", 0.0) else { return };
    let (_, text) = judged.until_final("find_callees", json!({"name": "run"}));
    let callees = |text: &str| text.lines().skip(2).map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    let wanted =
        ["area  function geo.py:1  at 5, 7", "area  function other.py:1  at 6", "surface  function geo.py:4  at 7"];
    assert_eq!(callees(&text), wanted);
    begin_again(&mut judged, mute());
    let (answer, text) = judged.ask("find_callees", json!({"name": "run", "wait_ms": 0})).unwrap();
    assert_eq!((&answer["head"]["complete"], &answer["head"]["earlier"]), (&json!(false), &json!(4)), "{text}");
    assert!(text.starts_with("3 callees; 4 verified earlier and unchanged since · ty "), "{text}");
    assert_eq!(callees(&text), wanted.map(|line| line.replace("  at", "  verified earlier at")));
    // The same holds for callers and callees.
    let (found, _) = now(&judged, "surface");
    assert_eq!(found, ["uses.py:7 call earlier geo.py:4"]);
}
