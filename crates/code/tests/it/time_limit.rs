//! An answer arrives within the caller's time limit even if the server never answers.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::misbehaving_server::{ask, has_python, lying, never_final, project};

#[test]
fn a_call_ends_when_its_time_is_over() {
    if !has_python() {
        return;
    }
    let judged = lying("ty", "silent", 0.0);
    project(&judged);
    never_final(&judged, 1, 1_000);
    for wait in [0, 300] {
        let begun = Instant::now();
        never_final(&judged, 1, wait);
        let most = Duration::from_millis(wait + 200) + testkit::patience() / 100;
        assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
    }
}

#[test]
fn of_many_candidates_the_references_are_taken() {
    if !has_python() {
        return;
    }
    // It never answers requests for definitions.
    let judged = lying("ty", "silent", 0.0);
    judged
        .write("geo.py", "def area(side):\n    return side\n")
        .write("other.py", "def area():\n    return 1\n")
        .write("more.py", format!("import other\n{}", "other.area()\n".repeat(50)))
        .write("uses.py", format!("from geo import area\n{}", "area(1)\n".repeat(400)));
    let until = Instant::now() + testkit::patience().max(Duration::from_secs(120));
    loop {
        let (answer, text) = ask(&judged, 20_000);
        let head = &answer["head"];
        if head["verified"] == 400 {
            assert_eq!((&head["complete"], &head["unverified"]), (&json!(false), &json!(50)), "{text}");
            return;
        }
        assert!(Instant::now() < until, "{text}");
    }
}
