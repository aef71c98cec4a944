//! Matches in the arguments of Rust macros.

use expect_test::expect;
use serde_json::{Value, json};

use crate::worktree::Worktree;

fn matches_in(text: &str) -> (String, Value) {
    let worktree = Worktree::new();
    worktree.write("a.rs", format!("pub enum Kind {{ A, B(u8), C {{ of: u8 }} }}\n{text}"));
    let result = worktree.result("find_matches", json!({"type_name": "Kind"}));
    let mut all = result["matches"].as_array().unwrap().clone();
    all.sort_by_key(|one| (one["line"].as_u64(), one["column"].as_u64()));
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = all.iter().map(|one| {
        let names: Vec<String> = one["names"].as_array().unwrap().iter().map(word).collect();
        let place = format!("{}:{} {}", one["line"], one["column"], word(&one["enclosing"]));
        format!("{place} [{}] {}: {}", word(&one["form"]), names.join(" "), word(&one["effect"]))
    });
    (lines.collect::<Vec<_>>().join("\n"), result["head"]["reasons"].clone())
}

fn unread(reasons: &Value) -> String {
    let all = reasons.as_array().unwrap().iter().filter(|reason| reason["code"] == "macro");
    all.map(|reason| format!("{} {}\n", reason["places"], reason["text"].as_str().unwrap())).collect()
}

#[test]
fn they_are_found_where_they_stand() {
    let (lines, reasons) = matches_in(
        r#"fn asserted(k: &Kind) { assert!(matches!(k, Kind::A), "A, {}", 1); }
fn listed(k: &Kind) -> Vec<u8> { vec![match k { Kind::A => 1, Kind::B(_) | Kind::C { .. } => 2 }] }
fn printed(k: &Kind) { println!("é {} {of}", match k { Kind::A => 1, _ => 2 }, of = u8::from(if let Kind::B(_) = k { true } else { false })); }
fn compared(k: &Kind) { assert_eq!(if let Kind::A = k { 1 } else { 2 }, 1,); }
async fn selected(k: &Kind) { tokio::select! { a = next(), if matches!(k, Kind::A) => { match k { Kind::A => a, _ => 2 } } _ = last() => {} } }
fn deep(k: &Kind) { dbg!(vec![format!("{}", matches!(k, Kind::C { of: 1 } | Kind::B(2)))]); }
fn inner(k: &Option<Kind>) -> bool { matches!(k, Some(Kind::A)) }
fn guarded(k: &Kind, l: &Kind) -> bool { matches!(k, Kind::A if match l { Kind::B(_) => true, _ => false }) }
fn beside(k: (Kind, u8)) { assert_matches!(k, (Kind::A, _), "{}", matches!(k, (Kind::B(1), 2))); }
fn whole(k: &Kind) { thread_local! { static ONE: u8 = match Kind::A { Kind::A => 1, _ => 2 }; } matches!(k, Kind::A,); }
fn made() -> Vec<Kind> { assert!(is(Kind::A)); vec![Kind::A, Kind::B(1), Kind::C { of: 2 }] }
fn keys() { json!({"a": Kind::A, "b": [Kind::B(2), match Kind::A { Kind::A => 1, _ => 2 }]}); }
macro_rules! by { ($k:expr) => { match $k { Kind::A => 1, _ => 2 } } }
"#,
    );
    expect![[r#"
        2:33 asserted [matches!] A: absorbs
        3:39 listed [match] A B C: breaks
        4:46 printed [match] A: absorbs
        4:97 printed [if let] B: absorbs
        5:39 compared [if let] A: absorbs
        6:63 selected [matches!] A: absorbs
        6:89 selected [match] A: absorbs
        7:45 deep [matches!] B C: absorbs
        8:38 inner [matches!] A: absorbs
        9:42 guarded [matches!] A: absorbs
        9:65 guarded [match] B: absorbs
        10:28 beside [assert_matches!] A: breaks
        10:67 beside [matches!] B: absorbs
        11:55 whole [match] A: absorbs
        11:97 whole [matches!] A: absorbs
        13:52 keys [match] A: absorbs"#]]
    .assert_eq(&lines);
    assert_eq!(unread(&reasons), "");
}

#[test]
fn what_is_no_code_by_itself_is_said() {
    for (text, said) in [
        ("fn f(k: Kind) { is!(k, Kind::B { .. }, let); }", 1),
        ("fn f(k: Kind) { pick!(k, Kind::A => 1); }", 1),
        ("fn f() { select! { Some(Kind::B(_)) = next() => {} } }", 1),
        ("fn f() { quote! { if let Some(Kind::B(_)) = #x {} } }", 1),
        ("fn f() { rows! { one: Kind::A } }", 0),
        // A constructor of another type, a string, a comment.
        ("fn f(k: Other) { pick!(k, Other::A => 1); }", 0),
        ("fn f() { pick!(1, \"A\" => /* A */ 1); }", 0),
    ] {
        let (_, reasons) = matches_in(text);
        assert_eq!(unread(&reasons).lines().count(), said, "{text}: {reasons}");
    }
    let (_, reasons) = matches_in("fn f(k: Kind) {\n    pick!(k, Kind::A => 1, Kind::B(_) => 2);\n}\n");
    expect![[r#"
        2 a.rs:3 names A in macro tokens that are not code: matches there are not found
    "#]]
    .assert_eq(&unread(&reasons));
}

#[test]
fn macros_in_macros_end() {
    let deep = format!("fn f(k: &Kind) {{ {}matches!(k, Kind::A){} }}\n", "dbg!(".repeat(400), ")".repeat(400));
    let (lines, reasons) = matches_in(&deep);
    assert_eq!((lines.as_str(), unread(&reasons).lines().count()), ("", 1));
}
