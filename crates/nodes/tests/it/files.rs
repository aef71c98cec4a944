//! Valid node files, and the messages for invalid ones.

use expect_test::{Expect, expect};
use nodes::Node;
use serde_json::json;

const RATE: &str = r#"---
description: Rate how relevant a code symbol is to a question
model: [local/scorer, anthropic/fast]
config: { temperature: 0, maxOutputTokens: 300 }
input: { schema: { question: string, symbol: string, hover?: string } }
output: { schema: { reason: "string ..200, one sentence", relevance: "integer 1..5" } }
policy: { attempts: 2, timeout: 30s, tokens: 4000 }
checks: [ { that: "output.relevance < 5 or output.reason", say: "a 5 needs a reason" } ]
examples: [ { input: { question: a, symbol: b }, output: { reason: c, relevance: 3 } } ]
acme.team: search
---
{% block system %}You rate symbols.{% endblock %}
{% block user %}Question: {{ question }}
Symbol: {{ symbol }} {{ hover | data }}{% endblock %}
"#;

/// Checks the messages for the text after these replacements.
fn check(changes: &[(&str, &str)], expected: Expect) {
    let mut text = RATE.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let said = match Node::parse("rate", &text) {
        Ok(node) => node.lints.iter().map(|lint| format!("note {lint}\n")).collect(),
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect::<String>(),
    };
    expected.assert_eq(&said);
}

#[test]
fn a_node_is_what_its_file_says() {
    let node = Node::parse("rate", RATE).expect("valid");
    assert_eq!((node.name.as_str(), node.models.len(), node.policy.attempts), ("rate", 2, 2));
    assert_eq!((node.sampling.temperature, node.sampling.max_output_tokens), (Some(0.0), Some(300)));
    expect![[r#"{"type":"object","properties":{"reason":{"type":"string","maxLength":200,"description":"one sentence"},"relevance":{"type":"integer","minimum":1,"maximum":5}},"required":["reason","relevance"],"additionalProperties":false}"#]].assert_eq(&node.output.json.to_string());
    let input = |value: serde_json::Value| node.complete(value.as_object().expect("an object").clone());
    let given = input(json!({"question": "q", "symbol": "s"})).expect("complete");
    assert_eq!(node.problems(&given, &json!({"reason": "r", "relevance": 5})), Vec::<String>::new());
    assert_eq!(node.problems(&given, &json!({"reason": "", "relevance": 5})), ["a 5 needs a reason"]);
    let problems = node.problems(&given, &json!({"reason": 1, "relevance": 9, "extra": true}));
    expect![[r#"
        /reason: it is not of type "string", got 1
        /relevance: it is greater than the maximum of 5, got 9
        Additional properties are not allowed ('extra' was unexpected) (keys there: reason, relevance, extra)"#]]
    .assert_eq(&problems.join("\n"));
    let problems = input(json!({"question": "q", "symbl": "s"})).expect_err("misspelt");
    expect![[r#"
        "symbol" is missing (keys there: question, symbl)
        Additional properties are not allowed ('symbl' was unexpected) (keys there: question, symbl)"#]]
    .assert_eq(&problems.join("\n"));
}

#[test]
fn problems_have_their_line() {
    check(&[], expect![[""]]);
    check(
        &[("description:", "descripton:")],
        expect![[r#"
        2: the front matter has no key `descripton`; did you mean `description`?
        1: `description` is missing: it tells a model what the tool is for
    "#]],
    );
    check(
        &[("acme.team", "team")],
        expect![[r#"
            10: the front matter has no key `team`; keys: name, variant, description, model, config, input, output, metadata, policy, checks, examples, tests
        "#]],
    );
    check(
        &[("{{ symbol }}", "{{ symbl }}")],
        expect![[r#"
        14: the template reads `symbl`, which is not an input; did you mean `symbol`?
    "#]],
    );
    check(
        &[("{{ symbol }}", "")],
        expect![[r#"
        note 5: the template never reads the input `symbol`
    "#]],
    );
    check(
        &[("| data", "| dat")],
        expect![[r#"
            14: the template: unknown filter `dat`; available: abs, bool, capitalize, count, d, data, default, first, float, int, items, join, last, length, list, lower, max, min, reverse, round, safe, sort, string, sum, title, tojson, trim, unique, upper
        "#]],
    );
    check(
        &[("{{ symbol }}", "{{ symbol }")],
        expect![[r#"
        14: the template: syntax error: unexpected `}`, expected end of variable block
    "#]],
    );
    check(
        &[("integer 1..5", "integr 1..5"), ("question: string", "question: strin")],
        expect![[r#"
        5: unknown type `strin`: did you mean `string`? (types: string, number, integer, boolean, null, any)
        6: unknown type `integr`: did you mean `integer`? (types: string, number, integer, boolean, null, any)
    "#]],
    );
    check(
        &[("relevance: 3", "relevance: 7")],
        expect![[r#"
        9: the example's output: /relevance: it is greater than the maximum of 5, got 7
    "#]],
    );
    check(
        &[("question: a, symbol: b", "question: a")],
        expect![[r#"
        9: the example's input: "symbol" is missing (keys there: question)
    "#]],
    );
    check(
        &[("attempts: 2", "attempts: 0"), ("timeout: 30s", "timeout: soon")],
        expect![[r#"
        7: `attempts` is a whole number from 1 to 10
        7: `timeout` is a time such as 30s or 5m, at most 60m
    "#]],
    );
    check(
        &[("output.relevance < 5", "outpt.relevance < 5")],
        expect![[r#"
        8: the check `outpt.relevance < 5 or output.reason`: it reads `outpt`, but only `input` and `output` are available
    "#]],
    );
    check(
        &[("output: {", "output: [")],
        expect![[r#"
        6: the front matter is not valid YAML: mismatched bracket '[' closed by '}'
    "#]],
    );
    check(
        &[("{% block user %}", ""), ("{{ hover | data }}{% endblock %}", "")],
        expect![[r#"
        12: a body with a block `system` needs a block `user`
    "#]],
    );
    check(
        &[("{% block system %}", "Hello {% block system %}")],
        expect![[r#"
        12: text outside of the blocks is not sent; move it into a block
    "#]],
    );
    check(
        &[("You rate symbols.{% endblock %}", "You rate symbols.")],
        expect![[r#"
        12: the block `system` has no `{% endblock %}`
    "#]],
    );
    check(
        &[("{{ hover | data }}{% endblock %}", "{{ hover | data }}{% endblok %}")],
        expect![[r#"
        13: the block `user` has no `{% endblock %}`
    "#]],
    );
    check(
        &[("You rate", "{% import 'secret' %} You rate")],
        expect![[r#"
        12: `import` is not supported; use `include`
    "#]],
    );
    check(
        &[(
            "reason: \"string ..200, one sentence\", relevance: \"integer 1..5\"",
            "relevance: \"integer 1..5\", reason: string",
        )],
        expect![[r#"
        note 6: the model writes `relevance` before `reason`, so the reason cannot influence it; put `reason` first
    "#]],
    );
}

#[test]
fn library_errors_are_rewritten() {
    check(
        &[("acme.team: search", "acme.team: search\nacme.team: find")],
        expect![[r#"
            11: the front matter is not valid YAML: duplicate key `acme.team`
        "#]],
    );
    check(
        &[("acme.team: search", "acme.team: *none")],
        expect![[r#"
        10: the front matter is not valid YAML: the alias (`*name`) has no anchor (`&name`) before it; a text that begins with `*` must be quoted
    "#]],
    );
    check(
        &[("acme.team: search", "acme.team: { <<: { a: 1 } }")],
        expect![[r#"
        10: the front matter is not valid YAML: merge keys (`<<`) are not supported: write the keys out
    "#]],
    );
    check(
        &[("acme.team: search", "acme.team: .nan")],
        expect![[r#"
        10: the front matter is not valid YAML: `.nan` is not a JSON number
    "#]],
    );
    check(
        &[("acme.team: search", "acme.team: !!binary 8J")],
        expect![[r#"
            10: the front matter is not valid YAML: tags (`!name`) are not supported: remove this one
        "#]],
    );
    check(
        &[("acme.team: search", "acme.team: a\n...\nb: c")],
        expect![[r#"
            12: the front matter is not valid YAML: it must be one map, not several documents
        "#]],
    );
    check(
        &[("acme.team: search", "acme.team: &a [*a]")],
        expect![[r#"
        10: the front matter is not valid YAML: an alias refers to its own anchor
    "#]],
    );
    let json_schema = |schema: &str| format!("output: {{ schema: {schema} }}");
    let output = "output: { schema: { reason: \"string ..200, one sentence\", relevance: \"integer 1..5\" } }";
    check(
        &[(output, &json_schema("{ type: object, properties: { reason: { type: strng } } }"))],
        expect![[r#"
            6: the schema of the output: /properties/reason/type: it matches none of the 2 allowed forms (it is not one of "array", "boolean" or 5 other candidates; or it is not of type "array"), got "strng"
        "#]],
    );
    check(
        &[(output, &json_schema("{ type: object, required: reason, properties: {} }"))],
        expect![[r#"
            6: the schema of the output: /required: it is not of type "array", got "reason"
        "#]],
    );
    check(
        &[(output, &json_schema("{ a: null }"))],
        expect![[r#"
        6: the type is missing; write the null type in quotes: "null"
    "#]],
    );
    let remote = "{ $ref: \"http://127.0.0.1:9/x\" }";
    check(
        &[(output, &json_schema(remote))],
        expect![[r#"
        6: the schema of the output: it has an external reference, which is not supported: copy the definition into its $defs, and refer to #/$defs/NAME
    "#]],
    );
    let said = |schema: serde_json::Value, value: serde_json::Value| {
        nodes::schema::Schema::new(schema).expect("a schema").problems(&value).join("\n")
    };
    let union = json!({"anyOf": [
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}, {"type": "string", "maxLength": 2},
    ]});
    expect![[r#"/x: it matches none of the 2 allowed forms (/a: it is not of type "integer"; or it is not of type "string") (keys there: a)"#]].assert_eq(&said(json!({"type": "object", "properties": {"x": union}}), json!({"x": {"a": "b"}})));
    let one = json!({"oneOf": [{"minimum": 1}, {"minimum": 2}, {"const": 0}]});
    expect!["it matches more than one of the forms, and exactly one is allowed (oneOf), got 3"]
        .assert_eq(&said(one.clone(), json!(3)));
    expect!["it matches none of the 3 allowed forms (it is less than the minimum of 1; or it is less than the minimum of 2; or 0 was expected), got -1"].assert_eq(&said(one, json!(-1)));
    expect![[r#"it matches a forbidden schema: {"type":"null"}, got null"#]]
        .assert_eq(&said(json!({"not": {"type": "null"}}), json!(null)));
    expect!["/a: no value is allowed here, got 1"]
        .assert_eq(&said(json!({"properties": {"a": false}}), json!({"a": 1})));
    let closed = json!({"type": "object", "additionalProperties": false});
    expect!["it has no fields (keys there: a)"].assert_eq(&said(closed, json!({"a": 1})));
    expect![[r#"the name "ab" of a field: it is longer than 1 character (keys there: ab)"#]]
        .assert_eq(&said(json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1})));
    expect!["none of its items matches the required schema (contains)"]
        .assert_eq(&said(json!({"contains": {"const": 1}}), json!([2])));
}

#[test]
fn the_number_of_problems_is_bounded() {
    let fields: String = (0..300).map(|field| format!(", f{field}?: string")).collect();
    check(
        &[("hover?: string }", &format!("hover?: string{fields} }}"))],
        expect![[r#"
        note 5: the template never reads 300 of its inputs: `f0`, `f1`, `f2`, `f3`, `f4`, …
    "#]],
    );
    check(
        &[("hover?: string }", "hover?: string, a?: string, b?: string }")],
        expect![[r#"
        note 5: the template never reads the inputs `a` and `b`
    "#]],
    );
    let keys: String = (0..300).map(|key| format!("k{key}: 1\n")).collect();
    let wrong = Node::parse("rate", &RATE.replace("acme.team", &format!("{keys}acme.team"))).expect_err("300 keys");
    assert_eq!((wrong.len(), wrong[30].message.as_str()), (31, "270 more problems"));
}

#[test]
fn paths_that_no_input_has_are_errors() {
    let input = "input: { schema: { question: string, symbol: string, hover?: string } }";
    let nested = "input: { schema: { question: string, symbol: { name: string, at: { line: integer } }, hover?: string, list(array): { a: { b: string } } } }";
    let example = ("examples: [ { input: { question: a, symbol: b }, output: { reason: c, relevance: 3 } } ]\n", "");
    let template = |body: &str, expected: Expect| {
        check(
            &[
                (input, nested),
                example,
                ("{{ symbol }}", &format!("{{{{ list | length }}}} {{{{ symbol.name }}}}\n{body}")),
            ],
            expected,
        );
    };
    template(
        "{{ symbol.at.line }} {{ symbol['name'] }} {{ list[0].a.b }}{% for one in list | reverse %}{{ loop.index }} {{ one.a.b }}{% endfor %}",
        expect![[r#""#]],
    );
    template(
        "{{ symbol.name.first }}",
        expect![[r#"
        14: the template reads `symbol.name.first`, but a text has no parts
    "#]],
    );
    template(
        "\n{% if symbol.at.line.end and question %}{{ symbol.naem | upper }}{% endif %}",
        expect![[r#"
        15: the template reads `symbol.at.line.end`, but a number has no parts
        15: the template reads `symbol.naem`, but `naem` does not exist; did you mean `name`?
    "#]],
    );
    template(
        "{% for one in list if one.a.c %}{{ one.b }}{% for two in one.a.b.d %}{{ two }}{% endfor %}{% endfor %}",
        expect![[r#"
            14: the template reads `one.a.c`, but `c` does not exist
            14: the template reads `one.b`, but `b` does not exist
            14: the template reads `one.a.b.d`, but a text has no parts
        "#]],
    );
    template(
        "{{ list.a }} {{ list[symbol.x] }} {{ question['a'] | default(symbol.y) }} {{ 1 if symbol.z is defined }}",
        expect![[r#"
            14: the template reads `list.a`, but its parent is a list: use an index, such as `[0]`, or a `for`
            14: the template reads `symbol.x`, but `x` does not exist
            14: the template reads `question.a`, but a text has no parts
            14: the template reads `symbol.y`, but `y` does not exist
            14: the template reads `symbol.z`, but `z` does not exist
        "#]],
    );
    let pair = "{ type: array, prefixItems: [ { type: object, properties: { x: { type: string } } }, { type: string } ], items: { type: string } }";
    let nested = &nested.replace("symbol: {", &format!("pair: {pair}, symbol: {{"));
    check(
        &[
            (input, nested),
            example,
            (
                "{{ symbol }}",
                "{{ list | length }} {{ symbol.name }} {{ pair[0].x }} {{ pair[-1].x }}{% for one in pair %}{{ one.x }}{% endfor %} {{ pair[0].x.y }} {{ pair[1].x }} {{ pair[2].x }}",
            ),
        ],
        expect![[r#"
        13: the template reads `pair[0].x.y`, but a text has no parts
        13: the template reads `pair[1].x`, but a text has no parts
        13: the template reads `pair[2].x`, but a text has no parts
    "#]],
    );
    // A loop variable hides the input of the same name.
    template(
        "{% for symbol in list %}{{ symbol.a.b }}{% endfor %}{% for key, symbol in symbol | items %}{{ symbol.q }}{% endfor %}",
        expect![[r#""#]],
    );
}

#[test]
fn hostile_files_are_refused_in_bounded_time() {
    let wide = "&a [x,x,x,x,x,x,x,x,x,x]".to_owned();
    let mut bomb = format!("---\nl0: {wide}\n");
    for level in 1..12 {
        let alias = format!("*a{}", if level == 1 { String::new() } else { (level - 1).to_string() });
        bomb.push_str(&format!("l{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(",")));
    }
    bomb.push_str("---\nx");
    let said = |text: &str| {
        let problems = Node::parse("n", text).err().unwrap_or_default();
        problems.iter().map(|problem| format!("{problem}\n")).collect::<String>()
    };
    expect![[r#"
        6: the front matter is not valid YAML: it is too large: at most 20000 values, 100 aliases, and 64 levels are read
    "#]]
    .assert_eq(&said(&bomb));
    expect![[r#"
        2: the front matter is not valid YAML: recursion limit exceeded
    "#]]
    .assert_eq(&said(&format!("---\na: {}\n---\nx", "[".repeat(10_000))));
    expect![[r#"
        1: a node file must begin with a line `---`, followed by its front matter
    "#]]
    .assert_eq(&said("no front matter"));
    expect![[r#"
        1: the front matter does not end: put a line `---` below it
    "#]]
    .assert_eq(&said("---\ndescription: x\n"));
    expect![[r#"
        4: the body is empty: write the prompt below the front matter
    "#]]
    .assert_eq(&said("---\ndescription: x\noutput: { schema: { a: string } }\n---\n"));
}

#[test]
fn impossible_checks_are_errors() {
    let tests = "acme.team: search\ntests: [ { input: { question: a, symbol: b }, expect: { /zz: 3 } } ]";
    check(
        &[("acme.team: search", tests)],
        expect![[r#"
        11: `expect` has /zz, which is not in the output schema
    "#]],
    );
    let tests = "acme.team: search\ntests: [ { input: { question: a, symbol: b }, repeat: 2, pass: 3 } ]";
    check(
        &[("acme.team: search", tests)],
        expect![[r#"
        11: `pass` is 3, but the test is run only 2 times, so it can never pass
    "#]],
    );
    // The first items differ from the others, and names are escaped as in JSON pointers.
    let output = "relevance: \"integer 1..5\" }";
    let pair = "relevance: \"integer 1..5\", pair?: { type: array, prefixItems: [ { type: object, properties: { x/y: { type: integer } }, additionalProperties: false } ], items: { type: string } } }";
    let tests = "acme.team: search\ntests: [ { input: { question: a, symbol: b }, expect: { /pair/0/x~1y: 1, /pair/1/x: 1 } } ]";
    check(
        &[("acme.team: search", tests), (output, pair)],
        expect![[r#"
        11: `expect` has /pair/1/x, which is not in the output schema
    "#]],
    );
    check(
        &[("output.relevance < 5 or", "output.zz > 3 or input.hover or")],
        expect![[r#"
        9: the example's output: the check `output.zz > 3 or input.hover or output.reason` cannot be made: undefined value: `output.zz` is undefined (in <expression>:1)
        8: the check `output.zz > 3 or input.hover or output.reason` reads output.zz, but `zz` does not exist
    "#]],
    );
    let tests =
        "acme.team: search\ntests: [ { input: { question: a, symbol: b }, expect: { /reason: { matches: \"(\" } } } ]";
    check(
        &[("acme.team: search", tests)],
        expect![[r#"
        11: `matches`: unclosed group
    "#]],
    );
}
