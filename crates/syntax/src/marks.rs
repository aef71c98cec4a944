//! Ways in which a declaration reaches other code without its name: decorators, attributes, and the bases of its class.

use std::ops::Range;

use tree_sitter::Node;

use super::node_path::{Trail, named_children, text_of};
use crate::text_enum::is_among;

/// The context of a declaration.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// Decorators and attributes of the declaration and of its containers, without their markers: `app.route("/")`.
    pub decorators: Vec<String>,
    /// Ranges of the last names of the bases and interfaces of its class, or of the class that it is.
    pub bases: Vec<Range<usize>>,
    /// True if a base has no name: a call, a condition, or text that does not parse.
    pub has_nameless_base: bool,
    /// Range of that class's name.
    pub class: Option<Range<usize>>,
}

/// Returns the context of the declaration whose name is at the end of a trail.
pub(super) fn marks(trail: &Trail<'_, '_>) -> Marks {
    let mut marks = Marks::default();
    let mut is_of_a_class = false;
    let at = trail.at.0;
    let is_in_body =
        |node: Node<'_>| node.child_by_field_name("body").is_some_and(|body| body.byte_range().contains(&at));
    for up in 0..trail.steps.len() {
        let Some(node) = trail.ancestor(up) else { break };
        match kind(node.kind()) {
            // An object type is not a class: its members belong to it alone.
            Kind::Literal => break,
            // Code inside a function belongs to no class.
            Kind::Function if is_in_body(node) => break,
            // The context of a class does not apply to its members.
            Kind::Class | Kind::Function | Kind::Member if is_of_a_class => break,
            Kind::Function | Kind::Member => marks.decorated(node, trail.text),
            Kind::Class => {
                marks.decorated(node, trail.text);
                marks.class = node.child_by_field_name("name").map(|name| name.byte_range());
                marks.take_bases(node);
                is_of_a_class = true;
            }
            Kind::Module => marks.decorated(node, trail.text),
            Kind::Other => {}
        }
    }
    marks
}

enum Kind {
    Class,
    /// A Rust module. An attribute on it may change everything inside.
    Module,
    Function,
    /// A type written inline.
    Literal,
    /// A member whose syntax is not that of a method: `go = () => {}`.
    Member,
    Other,
}

const CLASSES: &str = "class_definition class_declaration abstract_class_declaration class interface_declaration \
                       class_specifier struct_specifier impl_item trait_item";
const FUNCTIONS: &str = "function_definition lambda method_definition function_declaration arrow_function \
                         function_expression generator_function_declaration lambda_expression function_item";
const MEMBERS: &str = "public_field_definition field_definition abstract_method_signature method_signature \
                       function_signature_item";

fn kind(word: &str) -> Kind {
    match word {
        "object_type" => Kind::Literal,
        "mod_item" => Kind::Module,
        _ if is_among(CLASSES, word) => Kind::Class,
        _ if is_among(FUNCTIONS, word) => Kind::Function,
        _ if is_among(MEMBERS, word) => Kind::Member,
        _ => Kind::Other,
    }
}

impl Marks {
    fn take_bases(&mut self, class: Node<'_>) {
        // The trait of an implementation in Rust.
        self.bases.extend(class.child_by_field_name("trait").and_then(last_name).map(|name| name.byte_range()));
        for child in named_children(class) {
            match child.kind() {
                "argument_list" | "class_heritage" | "extends_type_clause" | "base_class_clause" => {}
                "ERROR" => {
                    self.has_nameless_base = true;
                    continue;
                }
                _ => continue,
            }
            let parts = named_children(child).into_iter().flat_map(|part| match part.kind() {
                "extends_clause" | "implements_clause" => named_children(part),
                _ => vec![part],
            });
            for part in parts {
                let base = match part.kind() {
                    "type_arguments" | "access_specifier" | "virtual" | "attribute_declaration" => continue,
                    // `metaclass=Meta`. Other arguments are passed to the base.
                    "keyword_argument" => {
                        let name = part.child_by_field_name("name").map(|name| name.byte_range().len());
                        match part.child_by_field_name("value").filter(|_| name == Some("metaclass".len())) {
                            Some(value) => value,
                            None => continue,
                        }
                    }
                    _ if part.is_extra() => continue,
                    _ => part,
                };
                match last_name(base) {
                    Some(name) => self.bases.push(name.byte_range()),
                    None => self.has_nameless_base = true,
                }
            }
        }
    }

    /// Collects the decorators and attributes of a declaration, inside it and before it.
    fn decorated(&mut self, node: Node<'_>, text: &[u8]) {
        let is_mark = |node: &Node<'_>| matches!(node.kind(), "decorator" | "attribute_item");
        let mut all: Vec<Node<'_>> = named_children(node).into_iter().filter(is_mark).collect();
        let mut before = node.prev_named_sibling();
        while let Some(one) = before.filter(|one| is_mark(one) || one.is_extra()) {
            all.extend(Some(one).filter(is_mark));
            before = one.prev_named_sibling();
        }
        let words = all.into_iter().map(|one| {
            let said = text_of(text, one);
            said.trim_start_matches(['@', '#', '[']).trim_end_matches(']').trim().to_owned()
        });
        self.decorators.extend(words);
    }
}

/// Returns the name of a base: `Base` in `geo.Base[int]` and `geo::Base<int>`.
fn last_name(node: Node<'_>) -> Option<Node<'_>> {
    let part = |field| node.child_by_field_name(field).and_then(last_name);
    match node.kind() {
        "identifier" | "type_identifier" | "property_identifier" => Some(node),
        "attribute" => part("attribute"),
        "member_expression" => part("property"),
        "subscript" => part("value"),
        "nested_type_identifier" | "qualified_identifier" | "template_type" | "scoped_type_identifier" => part("name"),
        "generic_type" => part("name").or_else(|| part("type")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use crate::{Language, occurrences_at};

    fn check(language: Language, text: &str, name: &str, decorators: &[&str], bases: &[&str]) {
        let at = text.find(name).unwrap();
        let name = at..at + name.trim_end_matches('(').len();
        let all = occurrences_at(language, text.as_bytes(), &[name], Instant::now() + Duration::from_secs(5)).unwrap();
        let marks = all[0].declares.clone().unwrap().marks;
        let nameless = marks.has_nameless_base.then_some("?");
        let found: Vec<&str> = marks.bases.into_iter().map(|base| &text[base]).chain(nameless).collect();
        assert_eq!(
            (marks.decorators.iter().map(String::as_str).collect(), found),
            (decorators.to_vec(), bases.to_vec()),
            "{text}"
        );
    }

    #[test]
    fn python() {
        let text = "@app.route('/')\n@login\ndef here(): pass\n";
        check(Language::Python, text, "here", &["login", "app.route('/')"], &[]);
        let text = "@dataclass\nclass A(geo.Base[int], B, metaclass=M):\n    @property\n    def here(self): pass\n";
        check(Language::Python, text, "here", &["property", "dataclass"], &["Base", "B", "M"]);
        check(Language::Python, text, "A(", &["dataclass"], &["Base", "B", "M"]);
        let text = "class A(made(), B, total=False, metaclass=M):\n    def here(self): pass\n";
        check(Language::Python, text, "here", &[], &["B", "M", "?"]);
        // A function within a method is not a method.
        let text = "class A(B):\n    def go(self):\n        def here(): pass\n";
        check(Language::Python, text, "here", &[], &[]);
    }

    #[test]
    fn typescript() {
        let text = "@Component({})\nexport class A extends x.Base<T> implements I, n.J<K> {\n  @Input() here() {}\n  later = () => 1;\n}";
        check(Language::TypeScript, text, "here", &["Input()", "Component({})"], &["Base", "I", "J"]);
        check(Language::TypeScript, text, "later", &["Component({})"], &["Base", "I", "J"]);
        check(Language::JavaScript, "class A extends Base { here() {} }", "here", &[], &["Base"]);
        check(Language::JavaScript, "class A extends (b ? B : C) { here() {} }", "here", &[], &["?"]);
        check(Language::TypeScript, "interface A extends B, C<D> { here(): void }", "here", &[], &["B", "C"]);
    }

    #[test]
    fn cpp() {
        let text = "struct A : public geo::Base<int>, private B { void here() override; };";
        check(Language::Cpp, text, "here", &[], &["Base", "B"]);
        check(Language::Cpp, "namespace x { class A : B { void here() {} }; }", "here", &[], &["B"]);
        check(Language::Cpp, "void A::here() {}", "here", &[], &[]);
        check(Language::Cpp, "struct A : virtual B, decltype(b()) { void here() {} };", "here", &[], &["B", "?"]);
    }

    #[test]
    fn rust() {
        let text = "#[async_trait]\nimpl A {\n    /// Text.\n    #[inline]\n    // Why.\n    #[tool(name = \"x\")]\n    fn here() {}\n}";
        check(Language::Rust, text, "here", &["tool(name = \"x\")", "inline", "async_trait"], &[]);
        check(Language::Rust, "impl geo::Of<T> for A { fn here() {} }", "here", &[], &["Of"]);
        check(Language::Rust, "#[pallet]\nmod a { pub mod b { fn here() {} } }", "here", &["pallet"], &[]);
        check(Language::Rust, "#[no_mangle]\npub extern \"C\" fn here() {}", "here", &["no_mangle"], &[]);
    }
}
