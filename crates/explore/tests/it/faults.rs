//! One test for each fault of the predecessor that rules without a model can have, and the answers that replace them.

use code::tools::Questions;
use serde_json::{Value, json};

use crate::{SHAPES, Worktree, all, places};

/// The predecessor ended the walk at the first symbol without candidates.
#[test]
fn a_symbol_without_candidates_does_not_end_the_walk() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("teach-graph", json!({"topic": "areas", "seeds": ["square", "geo::area"]}));
    let names = |part: &str| all(&found[part], "/symbol/name");
    assert_eq!(names("core"), ["area", "square"]);
    assert!(names("prereqs").contains(&"Shape") && names("prereqs").contains(&"Circle"), "{found:#}");
    assert_eq!(found["stopped"], "done");
}

/// The predecessor looked at the first of several definitions.
#[test]
fn every_homonym_is_an_entry() {
    let mut files = SHAPES.to_vec();
    files.push((
        "src/other.rs",
        "pub enum Shape { Flat }\npub fn name(s: Shape) -> u8 { match s { Shape::Flat => 1 } }\n",
    ));
    let worktree = Worktree::new(&files);
    let found = worktree.result("teach-graph", json!({"topic": "shapes", "seeds": ["Shape"]}));
    let seeds: Vec<&Value> =
        found["core"].as_array().unwrap().iter().map(|one| &one["symbol"]["location"]["file"]).collect();
    assert_eq!(seeds, ["src/geo.rs", "src/other.rs"]);
    let found = worktree.result("scout", json!({"query": "What breaks if I add a variant to Shape?"}));
    assert_eq!(all(&found["entries"], "/location"), ["src/geo.rs:7", "src/other.rs:1"]);
    let breaking = breaking(&found);
    assert!(breaking.iter().any(|place| place.starts_with("src/geo.rs:9")), "{found:#}");
    assert!(breaking.iter().any(|place| place.starts_with("src/other.rs:2")), "{found:#}");
}

/// The predecessor took capitalised words of signatures and questions for types.
#[test]
fn capitalised_words_are_not_types() {
    let files = [(
        "src/lib.rs",
        "pub struct Key;\npub struct Returns;\n/// Returns The Value of a Map, or None.\npub fn find(key: &Key) -> Option<String> { None }\n",
    )];
    let worktree = Worktree::new(&files);
    let found = worktree.result("teach-graph", json!({"topic": "keys", "seeds": ["find"]}));
    assert_eq!(all(&found["prereqs"], "/symbol/name"), ["Key"]);
    // A word of the question counts if it is defined.
    let found = worktree.result("scout", json!({"query": "What happens with Key if Anything Changes?"}));
    assert_eq!(all(&found["entries"], "/name"), ["Key"]);
}

/// Every class has a `constructor`, and code that runs it names the class.
#[test]
fn a_constructor_is_used_where_its_class_is_created() {
    let files = [
        (
            "a.ts",
            "export type Size = 'small' | 'large';\nexport class Box {\n  constructor(size: Size) {}\n}\n\
             export class Other {\n  constructor() {}\n}\n",
        ),
        (
            "b.ts",
            "import { Box, Other } from './a';\nexport function pack() { return new Box('small'); }\nexport const other = new Other();\n",
        ),
        (
            "c.py",
            "class Box:\n    def __init__(self, size: Size):\n        pass\n\nclass Size:\n    pass\n\ndef pack():\n    return Box(1)\n",
        ),
    ];
    let worktree = Worktree::new(&files);
    for (symbol, expected) in [("a.ts:Size", "b.ts:2"), ("c.py:Size", "c.py:9")] {
        let found = worktree.result("scout", json!({"symbols": [symbol], "change": "change_type"}));
        assert_eq!(places(&found, |one| one["why"].as_str().unwrap().contains("1 step")), [expected]);
    }
}

/// The predecessor asked for the hover at column 0 of a line, where an indented definition has no name. The comment of an
/// exported definition stands before `export`.
#[test]
fn each_definition_has_its_signature_and_documentation() {
    let source = "/** A round shape. */\nexport interface Circle { radius: number }\n\n/** Returns it. */\n\
                  export default function radius(c: Circle): number { return c.radius; }\n";
    let worktree = Worktree::new(&[SHAPES[2], ("a.ts", source)]);
    for (seed, signature, documentation) in [
        ("Circle::area", "pub fn area(&self) -> f64", "Returns the area of a circle."),
        ("a.ts:5", "function radius(c: Circle): number", "Returns it."),
        ("a.ts:Circle", "interface Circle", "A round shape."),
    ] {
        let found = worktree.result("teach-graph", json!({"topic": "areas", "seeds": [seed]}));
        let symbol = &found["core"][0]["symbol"];
        assert!(symbol["signature"].as_str().unwrap().contains(signature), "{symbol:#}");
        assert_eq!(symbol["docComment"], documentation, "{symbol:#}");
    }
}

/// The predecessor took any text with the word "case" for a match.
#[test]
fn a_word_in_a_comment_or_a_string_is_not_a_match() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("scout", json!({"query": "What breaks if I add a variant to Shape?"}));
    assert_eq!(breaking(&found), ["src/geo.rs:9"]);
    let is_text = |place: &&str| *place == "src/lib.rs:6" || *place == "src/lib.rs:7";
    assert!(!all(&found["pointers"], "/location").iter().any(is_text), "{found:#}");
    let beyond = all(&found["beyond"], "/location");
    assert_eq!(beyond, ["README.md:3", "src/lib.rs:6", "src/lib.rs:7"]);
}

/// Without a language server nothing counts as verified, and the answer does not claim to be complete.
#[test]
fn syntax_alone_verifies_nothing() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("scout", json!({"query": "remove `geo::area`"}));
    assert_eq!(found["head"]["complete"], false);
    assert!(all(&found["pointers"], "/evidence").iter().all(|evidence| *evidence == "possible"), "{found:#}");
}

#[test]
fn tests_are_listed_by_distance_with_their_command() {
    let worktree = Worktree::new(SHAPES);
    let found =
        worktree.result("scout", json!({"query": "add a parameter", "symbols": "geo::area, unit", "depth": "high"}));
    assert_eq!(found["change"], "change_signature");
    let tests = &found["tests"];
    assert_eq!(all(tests, "/name"), ["tests::total_of_one"], "{found:#}");
    assert_eq!(
        (&tests[0]["distance"], &tests[0]["command"]),
        (&json!(0), &json!("cargo test -p shapes tests::total_of_one"))
    );
    let found =
        worktree.result("scout", json!({"query": "add a parameter", "symbols": ["geo::area"], "depth": "high"}));
    assert_eq!(found["tests"][0]["distance"], 1, "{found:#}");
}

#[test]
fn an_attribute_marks_a_test_outside_of_a_module_of_tests() {
    let source = "pub fn area() {}\n\n// One.\n#[test]\n#[should_panic]\nfn area_of_one() { area() }\n\n// Not #[test].\nfn other() { area() }\n";
    let worktree = Worktree::new(&[("Cargo.toml", "[package]\nname = \"shapes\"\n"), ("src/lib.rs", source)]);
    let found = worktree.result("scout", json!({"query": "rename `area`"}));
    assert_eq!(all(&found["tests"], "/command"), ["cargo test -p shapes area_of_one"], "{found:#}");
}

/// A function of the test code cannot be run by its name, and the uses that are not visited are uses too.
#[test]
fn tests_beyond_the_depth_are_listed_and_helpers_by_their_file() {
    let tests = |number| format!("#[test]\nfn t{number:02}() {{ shapes::area() }}\n");
    let source = format!("fn helper() {{ shapes::area() }}\n{}", (0..20).map(tests).collect::<String>());
    let worktree = Worktree::new(&[
        ("Cargo.toml", "[package]\nname = \"shapes\"\n"),
        ("src/lib.rs", "pub fn area() {}\n"),
        ("tests/it.rs", &source),
    ]);
    let found = worktree.result("scout", json!({"query": "rename `area`", "depth": "low"}));
    assert_eq!(found["nodesVisited"], 10, "{found:#}");
    let commands = all(&found["tests"], "/command");
    assert_eq!(commands.len(), 21, "{found:#}");
    assert_eq!(commands[..2], ["cargo test -p shapes --test it t00", "cargo test -p shapes --test it t01"]);
    assert!(commands.contains(&"cargo test -p shapes --test it"), "{found:#}");
}

#[test]
fn every_unit_follows_the_units_that_it_needs() {
    let worktree = Worktree::new(SHAPES);
    let found = worktree.result("teach-graph", json!({"topic": "areas", "seeds": ["total"]}));
    let order = found["order"].as_array().unwrap();
    let at = |place: &str| order.iter().position(|one| one == place).unwrap_or_else(|| panic!("{place}: {found:#}"));
    let (circle, shape, area, total) = (at("src/geo.rs:2"), at("src/geo.rs:7"), at("src/geo.rs:8"), at("src/lib.rs:4"));
    assert!(circle < shape && shape < area && area < total, "{order:?}");
    assert!(all(&found["next"], "").is_empty());
    let found = worktree.result("teach-graph", json!({"topic": "areas", "seeds": ["total"], "budget": 2}));
    assert_eq!((&found["stopped"], found["order"].as_array().unwrap().len()), (&json!("budget"), 2));
    assert!(!all(&found["next"], "").is_empty(), "{found:#}");
}

/// A list of what a method names misses its class, what really runs, and who calls it.
#[test]
fn a_method_leads_to_its_class_its_overriders_and_its_callers() {
    let types = "import typing as t\n\nclass Kind:\n    name = 'kind'\n\n    def __call__(self, text):\n        \
                 return self.convert(text)\n\n    def convert(self, text):\n        raise NotImplementedError\n\nclass Number(Kind):\n    \
                 def convert(self, text, at: t.Optional[\"Place\"] = None):\n        def digits():\n            return text\n\n        \
                 return int(digits())\n\nclass Whole(Number):\n    @t.overload\n    def convert(self, text): ...\n\n    \
                 def convert(self, text):\n        return 1\n\nclass Other:\n    def convert(self, text):\n        return 2\n\n\
                 class Place:\n    pass\n";
    let worktree = Worktree::new(&[("kinds.py", types)]);
    let found = worktree.result("teach-graph", json!({"topic": "kinds", "seeds": ["Kind.convert"]}));
    let why = |name: &str| {
        let parts = ["core", "prereqs", "support"].into_iter().flat_map(|part| found[part].as_array().unwrap());
        let unit = parts.into_iter().find(|unit| unit["symbol"]["name"] == name);
        unit.map(|unit| unit["why"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert_eq!(why("Kind"), "has the method Kind.convert");
    // Methods and nested functions are read with what contains them.
    assert_eq!(found["prereqs"].as_array().unwrap().len(), 4, "{found:#}");
    assert_eq!(all(&found["prereqs"][0]["parts"], ""), ["__call__ 6-7"]);
    assert_eq!(why("Number"), "has the method Number.convert, which overrides Kind.convert (1 of 2)");
    assert_eq!(why("Whole"), "has the method Whole.convert, which overrides Kind.convert (1 of 2)");
    assert_eq!(why("Place"), "in the signature of Number.convert (kinds.py:13, by syntax only)");
}

#[test]
fn methods_with_a_word_of_the_topic_are_parts_of_their_class() {
    let text = "class Parser:\n    def __init__(self):\n        self.rest = ''\n\n    def read_line(self):\n        return helper()\n\n    \
                def close(self):\n        pass\n\ndef helper():\n    pass\n\ndef run(parser: Parser):\n    pass\n";
    let worktree = Worktree::new(&[("parser.py", text)]);
    let found = worktree.result("teach-graph", json!({"topic": "how lines are read", "seeds": ["run"]}));
    let prereqs = &found["prereqs"];
    assert_eq!(all(prereqs, "/symbol/name"), ["Parser"], "{found:#}");
    assert_eq!(all(&prereqs[0]["parts"], ""), ["read_line 5-6"]);
    assert_eq!(all(&found["support"], "/why"), ["used by Parser.read_line (parser.py:6, by syntax only)"]);
}

#[test]
fn the_same_tree_has_the_same_answer() {
    // The order in which a folder lists its files is the order in which they were made.
    let mut reversed = SHAPES.to_vec();
    reversed.reverse();
    let worktrees = [Worktree::new(SHAPES), Worktree::new(&reversed)];
    let warm = [Questions::new(), Questions::new()];
    let ask = |name: &str, arguments: &Value, number: usize| {
        let questions = if number < 10 { Questions::new() } else { warm[number % 2].clone() };
        let mut found = worktrees[number % 2].ask_with(questions, name, arguments.clone()).unwrap();
        found["head"]["elapsed_ms"] = Value::Null;
        found
    };
    for (name, arguments) in [
        ("teach-graph", json!({"topic": "areas", "seeds": ["total", "Shape"], "budget": 4})),
        ("scout", json!({"query": "What breaks if I add a variant to Shape?", "depth": "low"})),
    ] {
        let first = ask(name, &arguments, 0);
        assert!((1..20).all(|number| ask(name, &arguments, number) == first), "{name}");
    }
}

/// Returns the places of the breaking matches.
fn breaking(found: &Value) -> Vec<&str> {
    places(found, |one| one["tags"].as_array().unwrap().contains(&json!("Exhaustive")))
}

/// The walk once took another word of the question for the name.
#[test]
fn a_name_with_too_many_definitions_is_an_error() {
    let files: Vec<(String, String)> =
        (0..30).map(|number| (format!("src/m{number}.rs"), format!("pub enum Status {{ V{number} }}\n"))).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("src/lib.rs", "pub fn variant() {}\n"));
    let worktree = Worktree::new(&files);
    let problem = worktree.ask("scout", json!({"query": "What breaks if I add a variant to Status?"})).unwrap_err();
    assert!(problem.contains("`Status` has more than 20 definitions: name one, such as `src/m0.rs:1`"), "{problem}");
}
