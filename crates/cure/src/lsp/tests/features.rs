//! Diagnostics, hover, definition, formatting, completion.

use expect_test::expect;
use serde_json::{Value, json};

use super::{Editor, directory};
use crate::lsp::documents::uri_of;

#[test]
fn diagnostics_as_one_types() {
    let (_dir, root) = directory(&[]);
    let (mut editor, _) = Editor::in_directory(&root, json!({}));
    let path = root.join("new.cure");
    editor.open(&path, "module T do\n  def f(n: Int): String = n + 1\nend\n");
    let mut said = editor.diagnostics(&path);
    editor.edit(&path, 2, 1, 17, 23, "Int");
    said.push_str(&editor.diagnostics(&path));
    editor.edit(&path, 3, 1, 28, 28, " +");
    said.push_str(&editor.diagnostics(&path));
    editor.replace(&path, 4, "module T do\n  def f(n: Int): Int = match n do _ -> 1 2 -> 3 end\nend\n");
    said.push_str(&editor.diagnostics(&path));
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri_of(&path) } }));
    said.push_str(&editor.diagnostics(&path));
    expect![[r##"
        version 1
        1:26-1:31 1 C0301: expected String, found Int; put it into a string: "#{…}"
        version 2
        version 3
        1:30-1:30 1 C0101: expected an expression, found `end`
        version 4
        1:41-1:42 2 C0502: this clause is never reached; the clauses above take everything it would; remove it, or move it up
        version null
    "##]].assert_eq(&said);
    // A text without a file is checked, too.
    let document = json!({ "uri": "untitled:Untitled-1", "languageId": "cure", "version": 1, "text": "mod T\n" });
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let said = editor.wait(|message| message["params"]["uri"] == "untitled:Untitled-1");
    assert!(said.to_string().contains("newer Cure"), "{said}");
    assert!(editor.end());
}

#[test]
fn a_change_in_one_document_is_seen_in_the_others() {
    let base = "module Base do\n  def one(): Int = 1\nend\n";
    let (_dir, root) = directory(&[("base.cure", base)]);
    let (mut editor, _) = Editor::in_directory(&root, json!({}));
    let (path, user) = (root.join("base.cure"), root.join("user.cure"));
    editor.open(&user, "module User do\n  import Base\n  def f(): Int = one()\nend\n");
    assert_eq!(editor.diagnostics(&user), "version 1\n");
    // The editor's text takes precedence over the file.
    editor.open(&path, base);
    assert_eq!(editor.diagnostics(&path), "version 1\n");
    editor.edit(&path, 2, 1, 6, 9, "two");
    assert_eq!(editor.diagnostics(&path), "version 2\n");
    let said = editor.diagnostics(&user);
    assert!(said.contains("1 C0202: `one` is not defined"), "{said}");
    // Without having been saved, it is gone when it is closed.
    editor.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri_of(&path) } }));
    assert_eq!(editor.diagnostics(&path), "version null\n");
    assert_eq!(editor.diagnostics(&user), "version 1\n");
    assert!(editor.end());
}

const PROGRAM: &str = "# Shapes and their sizes.
module Shapes do
  import Std.List [map/2 as each]
  import Base
  import Std.String as Text

  # A number that is not zero or below.
  type Positive = {n: Int | n > 0}
  type Shape = Dot | Square(Positive)

  record Person do
    name: String
    age: Nat
  end

  fsm Door do
    Open --> |close| Shut
    Shut --> |open| Open
  end

  # How large it is.
  def area(shape: Shape): Int =
    match shape do
      Dot -> 0
      Square(side) -> side * side
    end

  def older(person: Person) = person.age + 1

  def main(): Any =
    let total = area(Square(3)) + one()
    let lengths = each([\"a\"], fn(text) -> Text.length(text) end)
    {total, lengths, older(Person{name: \"Ada\", age: 36}), Std.Math.abs(-3), Door_spawn()}
end
";

/// The program with the mark in the middle of the nth place of these words.
fn marked(words: &str, nth: usize) -> String {
    let at = PROGRAM.match_indices(words).nth(nth).unwrap_or_else(|| panic!("{words}")).0 + 1;
    [&PROGRAM[..at], "‸", &PROGRAM[at..]].concat()
}

fn workspace() -> (tempfile::TempDir, Editor, std::path::PathBuf) {
    let base = "module Base do\n  # Just one.\n  def one() = 1\nend\n";
    let (dir, root) = directory(&[("base.cure", base)]);
    let (editor, _) = Editor::in_directory(&root, json!({}));
    (dir, editor, root.join("shapes.cure"))
}

#[test]
fn hover_tells_the_type() {
    let (_dir, mut editor, path) = workspace();
    let mut said = String::new();
    for (words, nth) in [
        ("side *", 0),
        ("side)", 0),
        ("total,", 0),
        ("text)", 0),
        ("shape do", 0),
        ("area(Sq", 0),
        ("older(P", 0),
        ("one()", 0),
        ("each(", 0),
        ("length(", 0),
        ("abs(", 0),
        ("Std.Math", 0),
        ("Positive)", 0),
        ("Square(3", 0),
        ("Dot ->", 0),
        ("Person)", 0),
        ("age +", 0),
        ("age: 36", 0),
        ("36", 0),
        ("Door_", 0),
        ("Shut -->", 0),
        ("Shapes do", 0),
        ("= area", 0),
        ("# How", 0),
    ] {
        let answer = editor.at("textDocument/hover", &path, &marked(words, nth));
        let text = answer["contents"]["value"].as_str().unwrap_or("nothing");
        // The library's own diagnostics are tested elsewhere.
        let is_library = ["each(", "length(", "abs("].contains(&words);
        let text = if is_library { text.split("\n```").next().unwrap() } else { text };
        said.push_str(&format!("{words}: {}\n", text.replace("```cure\n", "").replace("\n```", "").replace('\n', " ")));
    }
    expect![[r#"
        side *: side: Positive
        side): side: Positive
        total,: total: Int
        text): text: String
        shape do: shape: Shape
        area(Sq: def area(shape: Shape): Int  How large it is.
        older(P: def older(person: Person): Int
        one(): def one(): Int  Just one.
        each(: def map(list: List(T), f: T => U): List(U)
        length(: def length(text: String): Nat
        abs(: def abs(x: Int): Nat
        Std.Math: module Std.Math  Arithmetic.
        Positive): type Positive = {n: Int | n > 0}  A number that is not zero or below.
        Square(3: Square(Positive)  # of Shape
        Dot ->: Dot  # of Shape
        Person): record Person do name: String age: Nat end
        age +: age: Nat
        age: 36: age: Nat
        36: Int
        Door_: fsm Door
        Shut -->: state Shut
        Shapes do: module Shapes  Shapes and their sizes.
        = area: nothing
        # How: nothing
    "#]]
    .assert_eq(&said);
    // In broken syntax the written parts are still known.
    let broken = PROGRAM.replace("def main(): Any =", "def main( = area‸(Dot)");
    let answer = editor.at("textDocument/hover", &path, &broken);
    assert!(answer.to_string().contains("def area(shape: Shape): Int"), "{answer}");
    assert!(editor.end());
}

#[test]
fn definition_leads_to_the_place() {
    let (_dir, mut editor, path) = workspace();
    let mut said = String::new();
    for (words, nth) in [
        ("side *", 0),
        ("total,", 0),
        ("text)", 1),
        ("shape do", 0),
        ("area(Sq", 0),
        ("one()", 0),
        ("Base", 0),
        ("Positive)", 0),
        ("Square(3", 0),
        ("Dot ->", 0),
        ("Person)", 0),
        ("age +", 0),
        ("age: 36", 0),
        ("Door_", 0),
        ("Open\n  end", 0),
        ("each(", 0),
        ("36", 0),
    ] {
        let answer = editor.at("textDocument/definition", &path, &marked(words, nth));
        let file = answer["uri"].as_str().and_then(|uri| uri.rsplit('/').next()).unwrap_or("nowhere");
        let start = &answer["range"]["start"];
        said.push_str(&format!("{words:?}: {file} {}:{}\n", start["line"], start["character"]));
    }
    expect![[r#"
        "side *": shapes.cure 24:13
        "total,": shapes.cure 30:8
        "text)": shapes.cure 31:33
        "shape do": shapes.cure 21:11
        "area(Sq": shapes.cure 21:6
        "one()": base.cure 2:6
        "Base": base.cure 0:7
        "Positive)": shapes.cure 7:7
        "Square(3": shapes.cure 8:21
        "Dot ->": shapes.cure 8:15
        "Person)": shapes.cure 10:9
        "age +": shapes.cure 12:4
        "age: 36": shapes.cure 12:4
        "Door_": shapes.cure 15:6
        "Open\n  end": shapes.cure 16:4
        "each(": nowhere null:null
        "36": nowhere null:null
    "#]]
    .assert_eq(&said);
    assert!(editor.end());
}

#[test]
fn formatting_changes_only_what_it_has_to() {
    let (_dir, root) = directory(&[]);
    let (mut editor, _) = Editor::in_directory(&root, json!({}));
    let path = root.join("t.cure");
    let mut format = |text: &str| {
        editor.open(&path, text);
        let options = json!({ "tabSize": 2, "insertSpaces": true });
        let params = json!({ "textDocument": { "uri": uri_of(&path) }, "options": options });
        editor.request("textDocument/formatting", params)["result"].clone()
    };
    let text = "module T do\n  def f(): Int = 1\n  def g(a: Int): Int   =a+1\n\n  def h(): Int = 2\nend\n";
    expect![[r#"[{"range":{"start":{"line":2,"character":0},"end":{"line":3,"character":0}},"newText":"  def g(a: Int): Int = a + 1\n"}]"#]].assert_eq(&format(text).to_string());
    assert_eq!(format("module T do\n  def f(): Int = 1\nend\n"), json!([]));
    assert_eq!(format("module T do\n  def f( = 1\n"), json!([]));
    for text in
        ["module T do end", "", "\n\n\nmodule T do\n\n\n\nend\n\n\n", "module T do\r\n def f(): Int=1\r\nend\r\n"]
    {
        let edits = format(text);
        let formatted = edits.as_array().unwrap().iter().fold(text.to_owned(), |text, edit| applied(&text, edit));
        assert_eq!(formatted, crate::syntax::format(text).unwrap(), "{text:?}: {edits}");
    }
    assert!(editor.end());
}

/// A text with an edit made in it.
fn applied(text: &str, edit: &Value) -> String {
    let lines = crate::lsp::positions::LineStarts::new(text);
    let byte = |place: &Value| {
        let place = serde_json::from_value(place.clone()).unwrap();
        lines.byte(text, place, crate::lsp::positions::Encoding::Utf16)
    };
    let (start, end) = (byte(&edit["range"]["start"]), byte(&edit["range"]["end"]));
    [&text[..start], edit["newText"].as_str().unwrap(), &text[end..]].concat()
}

#[test]
fn completion_of_names_and_imports() {
    let (_dir, mut editor, path) = workspace();
    let mut propose = |text: &str| {
        let answer = editor.at("textDocument/completion", &path, text);
        let items = answer["items"].as_array().unwrap();
        let one = |item: &Value| {
            let label = item["label"].as_str().unwrap();
            let import = item["additionalTextEdits"][0]["newText"].as_str();
            import.map_or_else(|| label.to_owned(), |import| format!("{label} ({:?})", import))
        };
        let shown: Vec<String> = items.iter().take(8).map(one).collect();
        format!(
            "{}: {}{}\n",
            text.rsplit('\n').next().unwrap().trim(),
            shown.join(" "),
            if items.len() > 8 { " …" } else { "" }
        )
    };
    let body = |line: &str| {
        format!("{}  def last(number: Int): Int =\n    {line}", PROGRAM.trim_end().trim_end_matches("end"))
    };
    let all: String = [
        body("nu‸"),
        body("let numeral = 1\n    num‸"),
        body("ar‸"),
        body("filt‸"),
        body("Sq‸"),
        body("Door_‸"),
        body("Text.le‸"),
        body("Std.Ma‸"),
        body("Std.Math.mult‸"),
        body("Base.‸"),
        body("let p = Person{name: \"a\", age: 1}\n    p.‸"),
        body("Some(1) as Op‸"),
        body("match number do\n      value when val‸"),
        PROGRAM.replace("import Base", "import Ba‸"),
        PROGRAM.replace("import Base", "import Lis‸"),
        PROGRAM.replace("import Base", "import Std.L‸"),
        PROGRAM.replace("import Base", "import Std.List [filt‸"),
        PROGRAM.replace("import Base", "import Base [‸]"),
        PROGRAM.replace("(person: Person)", "(person: Per‸)"),
        PROGRAM.replace("(person: Person)", "(pers‸"),
        PROGRAM.replace("# How", "# Ho‸w"),
    ]
    .iter()
    .map(|text| propose(&text[..text.find('‸').unwrap() + '‸'.len_utf8()]))
    .collect();
    expect![[r#"
        nu‸: number
        num‸: number numeral
        ar‸: area
        filt‸: filter (", filter/2") filter ("\n  import Std.Map [filter/2]") filter ("\n  import Std.Option [filter/2]") filter ("\n  import Std.Vector [filter/2]") filter_map (", filter_map/2")
        Sq‸: Square sqrt ("\n  import Std.Math [sqrt/1]")
        Door_‸: Door_definition Door_send Door_spawn Door_state Door_stop
        Text.le‸: length
        Std.Ma‸: Map Math
        Std.Math.mult‸: multiply
        Base.‸: one
        p.‸: age name
        Some(1) as Op‸: Option option_or ("\n  import Std.Core [option_or/2]")
        value when val‸: value values ("\n  import Std.Map [values/1]") values ("\n  import Std.Option [values/1]")
        import Ba‸: Base
        import Lis‸: Std.List
        import Std.L‸: Std.List
        import Std.List [filt‸: filter/2 filter_map/2
        import Base [‸: one/0
        def older(person: Per‸: Person
        def older(pers‸: Person
        # Ho‸: 
    "#]]
    .assert_eq(&all);

    // An import that comes with a proposal goes where imports stand.
    let mut import = |text: &str, label: &str| {
        let answer = editor.at("textDocument/completion", &path, text);
        let items = answer["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["label"] == label).unwrap();
        applied(&text.replace('‸', ""), &item["additionalTextEdits"][0])
    };
    let alone = "module T do\n  def f(l: List(Int)): List(Int) = filt‸\nend\n";
    assert!(import(alone, "filter").starts_with("module T do\n  import Std.List [filter/2]\n  def f"));
    let more = "module T do\n  import Std.List [map/2]\n  def f(l: List(Int)): List(Int) = filt‸\nend\n";
    assert!(import(more, "filter").starts_with("module T do\n  import Std.List [map/2, filter/2]\n  def f"));
    assert!(editor.end());
}

/// Wherever the cursor is and wherever the text ends, each request has an answer.
#[test]
fn no_place_makes_a_request_fail() {
    use crate::lsp::analysis::Analysis;
    use crate::lsp::documents::Documents;
    use crate::lsp::positions::Encoding;
    let index = std::sync::Arc::new(crate::Index::default());
    let cut = |at: usize| PROGRAM[..at].to_owned();
    let texts = (0..PROGRAM.len()).step_by(29).map(cut).chain([PROGRAM.replace("->", "-> .").replace("(", "([")]);
    for text in texts.chain([String::from("module T do\n  def f(x: Int): Int = x.")]) {
        let mut documents = Documents::default();
        documents.open("file:///t.cure".to_owned(), 1, text.clone()).unwrap();
        let document = documents.get("file:///t.cure").unwrap();
        let analysis = Analysis::new(document, index.clone());
        let places = text.char_indices().map(|(at, _)| at).step_by(if text.len() > 400 { 7 } else { 3 });
        for at in places.chain([text.len()]) {
            crate::lsp::hover::hover(&analysis, document, at, Encoding::Utf16);
            crate::lsp::definition::definition(&analysis, document, &documents, at, Encoding::Utf8);
            let proposed = crate::lsp::completion::completion(&analysis, document, at, Encoding::Utf16);
            assert!(proposed["items"].is_array());
        }
        crate::lsp::formatting::formatting(document, Encoding::Utf16);
    }
}
