//! Names in texts that mean code all the same: a path in an attribute of Rust (`#[serde(default = "geo::area")]`), the text by
//! which a program looks a name up (`getattr(geo, "area")`, `MethodByName("Area")`, `dlsym(h, "area")`), the key of an access in
//! JavaScript (`geo["area"]`), Go's directive `//go:linkname area` and its templates, code in a text that is run, a field that
//! Python's `format` takes, and a text that is the whole name where the file looks computed names up. Whether one means a definition is a judge's to say; a text that is computed is not seen.

use super::trail::{Trail, named_children};
use super::{Class, Language, script};

/// What a name in a text does; `None` where a text is only a text.
pub(super) fn in_text(language: Language, trail: &Trail<'_, '_>) -> Option<Class> {
    match language {
        Language::Rust => (in_attribute(trail) || is_captured(trail)).then_some(Class::Value),
        Language::Python => looked_up(trail)
            .or_else(|| (is_run(trail) || is_formatted(trail) || is_entry_point(trail)).then_some(Class::Value))
            .or_else(|| listed(trail, computes_attributes)),
        Language::JavaScript | Language::TypeScript | Language::Tsx => key(trail)
            .or_else(|| (is_run(trail) || is_given_to(trail, REFLECTS) && !is_first(trail)).then_some(Class::Value))
            .or_else(|| listed(trail, computes_keys)),
        Language::Go => {
            (is_linkname(trail) || is_given_to(trail, FINDS_IN_GO) || is_in_template(trail)).then_some(Class::Value)
        }
        Language::C | Language::Cpp => {
            let is_assembly = trail.nearest(&["gnu_asm_expression"]).is_some();
            (is_assembly || is_given_to(trail, FINDS_IN_C)).then_some(Class::Value)
        }
        Language::Haskell => None,
    }
}

/// Whether a format string of Rust captures it: `println!("{WIDTH:?}")`. What is no variable is a constant, whose name has no
/// small letters.
fn is_captured(trail: &Trail<'_, '_>) -> bool {
    if trail.node().kind() != "string_content" || trail.nearest(&["token_tree"]).is_none() {
        return false;
    }
    let (before, after) = around(trail);
    let opens = before.len() - before.trim_end_matches('{').len();
    let name = trail.text.get(trail.at.0..trail.at.1).unwrap_or_default();
    opens % 2 == 1 && after.starts_with(['}', ':']) && !name.iter().any(u8::is_ascii_lowercase)
}

/// Attributes of Rust whose texts are read by people or by the compiler, not as code.
const TEXTUAL: &[&str] = &[
    "allow",
    "arg",
    "clap",
    "command",
    "deny",
    "deprecated",
    "doc",
    "error",
    "expect",
    "export_name",
    "forbid",
    "ignore",
    "link",
    "link_name",
    "link_section",
    "must_use",
    "path",
    "should_panic",
    "structopt",
    "warn",
];
/// Keys of the others whose texts are such: those of conditions, and serde's names of data.
const TEXTUAL_KEYS: &[&str] = &[
    "alias",
    "content",
    "expecting",
    "feature",
    "rename",
    "rename_all",
    "rename_all_fields",
    "serialize",
    "deserialize",
    "tag",
];

/// Whether the text is a path, or as much of one as a name, in an attribute that may read it as one.
fn in_attribute(trail: &Trail<'_, '_>) -> bool {
    let Some(up) = trail.nearest(&["attribute"]).filter(|_| trail.node().kind() == "string_content") else {
        return false;
    };
    let text = trail.text_of(trail.node());
    let is_path = |c: char| c.is_alphanumeric() || "_:<>, &'".contains(c);
    let (before, after) = around(trail);
    let is_segment = (before.is_empty() || before.ends_with(['<', ' ', ',', '&']) || before.ends_with("::"))
        && (after.is_empty() || after.starts_with(['<', '>', ',']) || after.starts_with("::"));
    // Words apart are prose, but in brackets.
    let is_prose = text.split('<').next().is_some_and(|plain| plain.contains([' ', ',']));
    if !text.chars().all(is_path) || !is_segment || is_prose {
        return false;
    }
    let start = trail.node().start_byte();
    let word_before = |mut at: usize| {
        let end = trail.text[..at].trim_ascii_end().len();
        at = end;
        while at > 0 && super::is_word(trail.text[at - 1]) {
            at -= 1;
        }
        String::from_utf8_lossy(&trail.text[at..end]).into_owned()
    };
    let literal = trail.up(1).map_or(start, |literal| literal.start_byte());
    let equals = trail.text[..literal].trim_ascii_end().strip_suffix(b"=").map(<[u8]>::len);
    // The name of what the tokens stand in: `serde` in `cfg_attr(unix, serde(default = "area"))`.
    let name = match trail.nearest(&["token_tree"]).and_then(|tokens| trail.up(tokens)) {
        Some(tokens) => word_before(tokens.start_byte()),
        None => trail
            .up(up)
            .and_then(|attribute| attribute.named_child(0))
            .map(|name| trail.text_of(name).into_owned())
            .unwrap_or_default(),
    };
    let is_condition = name.starts_with("cfg") || matches!(name.as_str(), "any" | "all" | "not");
    let key = equals.map(word_before).unwrap_or_default();
    !is_condition
        && !TEXTUAL.contains(&name.as_str())
        && !TEXTUAL_KEYS.contains(&key.as_str())
        && !TEXTUAL_KEYS.contains(&name.as_str())
}

/// What stands in the text around the name.
fn around<'a>(trail: &Trail<'a, '_>) -> (std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>) {
    let text = trail.node().byte_range();
    let said = |range: std::ops::Range<usize>| String::from_utf8_lossy(trail.text.get(range).unwrap_or_default());
    (said(text.start..trail.at.0), said(trail.at.1..text.end))
}

/// Whether a directive of Go links the name with another package's.
fn is_linkname(trail: &Trail<'_, '_>) -> bool {
    trail.node().kind() == "comment" && trail.text_of(trail.node()).starts_with("//go:linkname ")
}

/// What looks a name up that it is given as a text, by its last name.
const REFLECTS: &[&str] =
    &["Reflect.deleteProperty", "Reflect.get", "Reflect.has", "Reflect.set", "replace", "spy", "spyOn", "stub"];
const FINDS_IN_GO: &[&str] = &["FieldByName", "FieldByNameFunc", "Lookup", "MethodByName"];
const FINDS_IN_C: &[&str] = &["GetProcAddress", "QLibrary::resolve", "dlsym", "dlvsym", "g_module_symbol"];
/// What runs a text as code.
const RUNS: &[&str] =
    &["Function", "compile", "eval", "exec", "setInterval", "setTimeout", "timeit", "timeit.repeat", "timeit.timeit"];

/// Whether a text is the whole name, and is given to one of these functions.
fn is_given_to(trail: &Trail<'_, '_>, functions: &[&str]) -> bool {
    let (before, after) = around(trail);
    let is_whole = [before, after].iter().all(|part| part.trim_matches(['"', '`', '\'']).is_empty());
    is_whole && called_with(trail).is_some_and(|called| is_one_of(&called, functions))
}

/// Whether a text is the first argument of a call.
fn is_first(trail: &Trail<'_, '_>) -> bool {
    let text = trail.up(1);
    trail.up(2).and_then(|arguments| arguments.named_child(0)).is_some_and(|first| Some(first) == text)
}

/// Whether a text is given to what runs it.
fn is_run(trail: &Trail<'_, '_>) -> bool {
    called_with(trail).is_some_and(|called| RUNS.contains(&called.as_str()))
}

fn is_one_of(called: &str, functions: &[&str]) -> bool {
    let rest =
        |function: &str| called.strip_suffix(function).map(|rest| rest.is_empty() || rest.ends_with(['.', ':', '>']));
    functions.iter().any(|function| rest(function) == Some(true))
}

/// The function in whose arguments a text stands, as it is written.
fn called_with(trail: &Trail<'_, '_>) -> Option<String> {
    let is_text = |kind: &str| kind.contains("string") && kind != "template_substitution";
    let up = (0..4).find(|up| !is_text(trail.kind(*up)))?;
    if up == 0 || !matches!(trail.kind(up), "argument_list" | "arguments") {
        return None;
    }
    let call = trail.up(up + 1)?;
    let function = call.child_by_field_name("function").or_else(|| call.child_by_field_name("constructor"))?;
    Some(trail.text_of(function).trim().to_owned())
}

/// Whether a text of Python names an attribute as `format` takes one: `"{0.area}"`.
fn is_formatted(trail: &Trail<'_, '_>) -> bool {
    let (before, after) = around(trail);
    let field = before.rfind('{').map(|at| &before[at + 1..]).filter(|_| trail.node().kind() == "string_content");
    let is_field = |c: char| c.is_alphanumeric() || "._[]".contains(c);
    field.is_some_and(|field| field.ends_with('.') && field.chars().all(is_field))
        && after.starts_with(['}', ':', '!', '.', '['])
}

/// Whether a text of a `setup.py` is where a program begins: `"area = geo.cli:area"`.
fn is_entry_point(trail: &Trail<'_, '_>) -> bool {
    let (before, after) = around(trail);
    let is_begin =
        before.ends_with(':') && before.contains('=') && (after.is_empty() || after.starts_with(['.', ' ', '[']));
    is_begin && memchr::memmem::find(trail.text, b"entry_points").is_some()
}

/// Whether a text of Go reaches a member as a template does: `{{ .Area }}`.
fn is_in_template(trail: &Trail<'_, '_>) -> bool {
    let is_text = trail.node().kind().contains("string_literal");
    let (before, _) = around(trail);
    let action = before.rfind("{{").map(|at| &before[at..]);
    // A template may have other signs around its actions.
    let may_be_any = || memchr::memmem::find(trail.text, b".Delims(").is_some();
    let is_in_action = action.is_some_and(|action| !action.contains("}}")) || may_be_any();
    is_text && before.ends_with('.') && is_in_action
}

/// Functions of Python that look a name up, by their last name; those of `operator`, `importlib` and `unittest.mock` too.
const LOOK_UP: &[&str] = &[
    "__delattr__",
    "__getattr__",
    "__getattribute__",
    "__import__",
    "__setattr__",
    "attrgetter",
    "delattr",
    "getattr",
    "getattr_static",
    "hasattr",
    "import_module",
    "methodcaller",
    "object",
    "patch",
    "setattr",
    "spy",
];

/// Whether Python looks the text up, as a name or a path of names.
fn looked_up(trail: &Trail<'_, '_>) -> Option<Class> {
    if trail.node().kind() != "string_content" || trail.kind(1) != "string" {
        return None;
    }
    let (before, after) = around(trail);
    let is_name = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let is_segment = (before.is_empty() || before.ends_with('.')) && (after.is_empty() || after.starts_with('.'));
    if !is_segment || !is_name(&before) || !is_name(&after) {
        return None;
    }
    let last =
        |node: tree_sitter::Node<'_>| trail.text_of(node).rsplit('.').next().unwrap_or_default().trim().to_owned();
    if trail.kind(2) == "subscript" && trail.field(1) == "subscript" {
        // `globals()["area"]`, `geo.__dict__["area"]`.
        let of = trail.up(2).and_then(|subscript| subscript.child_by_field_name("value"))?;
        let called = of.child_by_field_name("function").map(last).unwrap_or_default();
        let is_namespace = matches!(called.as_str(), "globals" | "locals" | "vars") || last(of) == "__dict__";
        // `Colour["RED"]` of an enumeration.
        let is_class = last(of).starts_with(char::is_uppercase) && last(of).contains(char::is_lowercase);
        return (is_namespace || is_class).then_some(Class::Value);
    }
    let mut up = 2;
    // `getattr(geo, "area" if is_flat else "volume")`.
    while matches!(trail.kind(up), "conditional_expression" | "boolean_operator" | "parenthesized_expression") {
        up += 1;
    }
    // `patch(target="geo.area")`.
    up += usize::from(trail.kind(up) == "keyword_argument");
    if trail.kind(up) != "argument_list" || trail.kind(up + 1) != "call" {
        return None;
    }
    let function = last(trail.up(up + 1)?.child_by_field_name("function")?);
    match function.as_str() {
        "setattr" | "delattr" | "__setattr__" | "__delattr__" => Some(Class::FieldWrite),
        name if LOOK_UP.contains(&name) => Some(Class::Value),
        _ => None,
    }
}

/// What the key of an access does, as the name behind a dot would.
fn key(trail: &Trail<'_, '_>) -> Option<Class> {
    let text = trail.up(1)?;
    let is_whole = trail.node().byte_range() == (trail.at.0..trail.at.1) && named_children(text).len() == 1;
    let is_text = matches!(text.kind(), "string" | "template_string") && trail.node().kind() == "string_fragment";
    if !is_whole || !is_text {
        return None;
    }
    // `type Area = Shape["area"]`.
    if trail.kind(2) == "literal_type" && trail.kind(3) == "lookup_type" {
        return Some(Class::Type);
    }
    // `"area" in shape`.
    if trail.kind(2) == "binary_expression" && trail.field(1) == "left" {
        let operator = trail.up(2).and_then(|node| node.child_by_field_name("operator"));
        return operator.filter(|operator| trail.text_of(*operator) == "in").map(|_| Class::Value);
    }
    let is_key = trail.kind(2) == "subscript_expression" && trail.field(1) == "index";
    is_key.then(|| script::of_member(&trail.above(1)))
}

/// A text that is the whole name is passed on, where the file looks a name up that is computed: it may be that one. A key of a
/// map, a type, and what `__all__` lists are not.
fn listed(trail: &Trail<'_, '_>, computes: fn(&[u8]) -> bool) -> Option<Class> {
    let is_text = matches!(trail.node().kind(), "string_content" | "string_fragment");
    let is_whole = is_text && trail.node().byte_range() == (trail.at.0..trail.at.1);
    let is_key = matches!(
        trail.kind(2),
        "subscript" | "subscript_expression" | "import_statement" | "export_statement" | "literal_type"
    );
    let is_all = || {
        let assignment = trail.nearest(&["assignment"]).and_then(|up| trail.up(up));
        let left = assignment.and_then(|assignment| assignment.child_by_field_name("left"));
        left.is_some_and(|left| trail.text_of(left) == "__all__")
    };
    let computes = || *trail.known.computes.get_or_init(|| computes(trail.text));
    (is_whole && !is_key && computes() && !is_all()).then_some(Class::Value)
}

/// What stands behind a longer argument is not looked at: it may be anything.
const LONGEST_ARGUMENT: usize = 1_000;

/// Whether Python looks an attribute up by a name that is no literal.
fn computes_attributes(text: &[u8]) -> bool {
    let is_computed = |at: usize| {
        let mut arguments =
            text[at..].iter().position(|byte| *byte == b'(').map_or(&text[at..], |open| &text[at + open + 1..]);
        if !text[at..].starts_with(b"methodcaller") {
            let Some(comma) = arguments.iter().take(LONGEST_ARGUMENT).position(|byte| *byte == b',') else {
                return true;
            };
            arguments = &arguments[comma + 1..];
        }
        !arguments.trim_ascii_start().starts_with(b"\"") && !arguments.trim_ascii_start().starts_with(b"'")
    };
    let calls: [&[u8]; 3] = [b"getattr(", b"setattr(", b"methodcaller("];
    calls.iter().any(|call| memchr::memmem::find_iter(text, call).any(is_computed))
}

/// Whether JavaScript reaches a member by a variable: `x[name]`.
fn computes_keys(text: &[u8]) -> bool {
    let is_name = |byte: &u8| super::is_word(*byte) || *byte == b'$';
    memchr::memchr_iter(b']', text).any(|end| {
        let length = text[..end].iter().rev().take_while(|byte| is_name(byte)).count();
        let (before, name) = text[..end].split_at(end - length);
        let of = before.strip_suffix(b"[").and_then(<[u8]>::last);
        let is_member = of.is_some_and(|byte| is_name(byte) || matches!(byte, b')' | b']' | b'.'));
        is_member && name.first().is_some_and(|first| !first.is_ascii_digit()) && !is_counted(text, name)
    })
}

/// Whether a variable counts: what it reaches are the elements of an array.
fn is_counted(text: &[u8], name: &[u8]) -> bool {
    let counts = |before: &[u8], after: &[u8]| memchr::memmem::find(text, &[before, name, after].concat()).is_some();
    [&b"++"[..], b"--", b" = 0", b" += 1"].iter().any(|sign| counts(b" ", sign))
        || counts(b"++", b"")
        || counts(b"--", b"")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::syntax::occurrences;

    #[test]
    fn texts_that_mean_code() {
        let soon = || Instant::now() + Duration::from_secs(5);
        let check = |language, text: &str, means: bool| {
            let at = text.find("area").unwrap();
            let found = occurrences(language, text.as_bytes(), "area", &[at], soon()).unwrap().all;
            let class = if means { Class::Value } else { Class::Mention };
            assert_eq!(found.iter().map(|one| one.class).collect::<Vec<_>>(), [class], "{text}");
        };
        for (text, means) in [
            ("x = eval('geo.area(1)')", true),
            ("x = timeit.timeit('geo.area(1)')", true),
            ("x = '{0.area}'.format(geo)", true),
            ("x = '{geo.area:>3} {1}'", true),
            ("x = geo.Kind['area']", true),
            ("x = kinds['area']", false),
            ("x = getattr(geo, 'area' if flat else 'volume')", true),
            ("x = getattr(geo, kind or ('area'))", true),
            ("x = show('area' if flat else 'volume')", false),
            ("setup(entry_points={'console_scripts': ['geo = geo.cli:area']})", true),
            ("x = 'geo = geo.cli:area'", false),
            ("x = '{area}'", false),
            ("x = '{0} geo.area'", false),
            ("x = show('geo.area(1)')", false),
            ("x = re.compile('area')", false),
        ] {
            check(Language::Python, text, means);
        }
        for (text, means) in [
            ("Reflect.get(geo, 'area');", true),
            ("Reflect.get(geo, 'the area');", false),
            ("eval(`geo.area(1)`);", true),
            ("new Function('return geo.area()');", true),
            ("show('area');", false),
        ] {
            check(Language::JavaScript, text, means);
        }
        let text = "function f(kind: 'area') { return x[name] }";
        let found = occurrences(Language::TypeScript, text.as_bytes(), "area", &[18], soon()).unwrap().all;
        assert_eq!(found.iter().map(|one| one.class).collect::<Vec<_>>(), [Class::Mention]);
        let found = occurrences(Language::TypeScript, b"type A = Shape['area'];", "area", &[16], soon()).unwrap().all;
        assert_eq!(found.iter().map(|one| one.class).collect::<Vec<_>>(), [Class::Type]);
        for (text, means) in [
            ("var x = reflect.ValueOf(g).MethodByName(\"area\")", true),
            ("var x = p.Lookup(`area`)", true),
            ("var x = `{{range .All}}{{.Geo.area}}{{end}}`", true),
            ("var x = `{{.Geo}}.area`", false),
            ("var x = t.Delims(`[[`, `]]`).Parse(`[[ .area ]]`)", true),
            ("var x = show(\"area\")", false),
        ] {
            check(Language::Go, text, means);
        }
        check(Language::C, "void f(void *h) { dlsym(h, \"area\"); }", true);
        check(Language::Cpp, "void f() { ::GetProcAddress(h, \"area\"); }", true);
        check(Language::C, "void f(void *h) { puts(\"area\"); }", false);
        check(Language::C, "void f(void) { __asm__ volatile(\"call area\"); }", true);
    }
}
