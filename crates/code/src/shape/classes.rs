//! Constructors of a class: the fields that they declare or assign, and how objects are created.

use syntax::{Declaration, Kind, Language, SCRIPTS, family, named_children};
use tree_sitter::Node;

use super::{Field, Reading};

/// A way to create an object that a pattern cannot name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MadeBy {
    pub signature: String,
    pub line: usize,
}

impl Reading<'_> {
    /// True if the member creates objects of its class.
    fn makes(&self, member: &Declaration, class: &Declaration) -> bool {
        let name = match self.language {
            Language::Python => "__init__",
            Language::Cpp => class.name.as_str(),
            language if family(language) == SCRIPTS => "constructor",
            _ => return false,
        };
        member.name == name && matches!(member.kind, Kind::Method | Kind::Function)
    }

    /// Returns how objects of a class are created.
    pub(super) fn made_by(&self, class: &Declaration) -> Vec<MadeBy> {
        let makers = class.members.iter().filter(|member| self.makes(member, class));
        makers.map(|one| MadeBy { signature: one.signature.clone(), line: self.lines.line(one.at) }).collect()
    }

    /// Returns the fields that a constructor declares as parameters, or assigns to the new object.
    pub(super) fn of_constructor(&self, member: &Declaration, class: &Declaration) -> Vec<Field> {
        let Some(node) = self.node_of(member).filter(|_| self.makes(member, class)) else { return Vec::new() };
        let mut fields = self.properties(node);
        let body = node.child_by_field_name("body");
        for field in body.into_iter().flat_map(|body| self.assigned(body)) {
            if fields.iter().all(|other| other.name != field.name) {
                fields.push(field);
            }
        }
        fields
    }

    /// Returns TypeScript's parameter properties: `constructor(private name: string)`.
    fn properties(&self, constructor: Node<'_>) -> Vec<Field> {
        let parameters = constructor.child_by_field_name("parameters");
        let is_property = |parameter: &Node<'_>| {
            (0..parameter.child_count())
                .filter_map(|at| parameter.child(at))
                .any(|child| matches!(child.kind(), "accessibility_modifier" | "override_modifier" | "readonly"))
        };
        let field = |parameter: Node<'_>| {
            let name = parameter.child_by_field_name("pattern")?;
            let of = self.field(Some(parameter), "type").unwrap_or_default();
            Some(Field {
                optional: parameter.kind() == "optional_parameter",
                default: self.field(Some(parameter), "value"),
                ..self.new_field(self.node_text(name), of.trim_start_matches(':').trim().to_owned(), name.start_byte())
            })
        };
        parameters.into_iter().flat_map(named_children).filter(is_property).filter_map(field).collect()
    }

    /// Returns the fields assigned in a body and in its branches: `self.name = …` in Python, `this.name = …` in JavaScript.
    fn assigned(&self, body: Node<'_>) -> Vec<Field> {
        let (own, object, property, kind) = match self.language {
            Language::Python => ("self", "object", "attribute", "assignment"),
            _ => ("this", "object", "property", "assignment_expression"),
        };
        let mut fields: Vec<Field> = Vec::new();
        let mut statements = named_children(body);
        statements.reverse();
        while let Some(statement) = statements.pop() {
            if is_compound(statement) {
                statements.extend(named_children(statement).into_iter().rev());
                continue;
            }
            let assignment = statement.named_child(0).filter(|node| node.kind() == kind);
            let left = assignment.and_then(|node| node.child_by_field_name("left"));
            let is_own = self.field(left, object).as_deref() == Some(own);
            let Some(name) = left.and_then(|left| left.child_by_field_name(property)).filter(|_| is_own) else {
                continue;
            };
            let field = self.new_field(
                self.node_text(name),
                self.field(assignment, "type").unwrap_or_default(),
                name.start_byte(),
            );
            if fields.iter().all(|other| other.name != field.name) {
                fields.push(Field { default: self.field(assignment, "right"), ..field });
            }
        }
        fields
    }

    /// Returns the type for which a declaration is an alias: `Circle` of `type Round = geo::Circle<f64>`.
    pub(super) fn alias(&self, declaration: &Declaration) -> Option<String> {
        let mut node = self.node_of(declaration).filter(|_| declaration.kind == Kind::Type)?;
        // In Python the name is a separate type.
        if node.kind() == "type" {
            node = node.parent()?;
        }
        let is_other = |value: &Node<'_>| !value.byte_range().contains(&declaration.at);
        let value =
            ["value", "right", "type"].into_iter().find_map(|field| node.child_by_field_name(field).filter(is_other));
        let said = self.node_text(value?);
        let words = ["struct ", "union ", "enum ", "class "];
        let bare = words.iter().find_map(|word| said.strip_prefix(word)).unwrap_or(&said);
        let (name, rest) = bare.split_at(bare.find(['<', '[', '{']).unwrap_or(bare.len()));
        let name = name.trim_end();
        let is_name = |name: &str| {
            let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '\'');
            !name.is_empty() && name.chars().all(is_of_name) && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        // A list of the type is a different type. C may declare the type here.
        let is_whole = rest.is_empty() || rest.len() > 2 && rest.ends_with(['>', ']', '}']);
        (is_name(name) && is_whole).then(|| name.to_owned())
    }
}

/// True for a block, a clause, and a statement that has blocks. Function bodies are left out: they run later.
fn is_compound(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.contains("block")
        || kind.ends_with("_clause")
        || kind.ends_with("_statement") && kind != "expression_statement"
}
