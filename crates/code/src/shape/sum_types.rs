//! Sum types in languages whose declaration has no list of constructors: unions in TypeScript and Python, enums in
//! Python, groups of constants in Go.

use syntax::{Declaration, Kind, Language, named_children};
use tree_sitter::Node;

use super::{Constructor, Reading, Shape};

impl Reading<'_> {
    /// Adds the alternatives of the type.
    pub(super) fn sum(&self, declaration: &Declaration, shape: &mut Shape) {
        let node = self.node_of(declaration);
        match (self.language, declaration.kind) {
            (Language::TypeScript | Language::Tsx, Kind::Type) => {
                let value = node.and_then(|node| node.child_by_field_name("value"));
                shape.constructors.extend(value.into_iter().flat_map(|value| self.union_members(value, "union_type")));
            }
            (Language::Python, Kind::Type) => {
                // `type Shape = Circle | Square`; the node of the name itself has the kind `type`.
                let statement = node.and_then(|node| match node.kind() {
                    "type" => node.parent(),
                    _ => Some(node),
                });
                let value = statement.and_then(|statement| statement.child_by_field_name("right"));
                let value =
                    value.and_then(|value| if value.kind() == "type" { value.named_child(0) } else { Some(value) });
                let united = |value: Node<'_>| match value.kind() {
                    // `Union[Circle, Square]`.
                    "subscript" => named_children(value)
                        .into_iter()
                        .skip(1)
                        .map(|one| self.constructor(self.node_text(one), one.start_byte()))
                        .collect(),
                    _ => self.union_members(value, "binary_operator"),
                };
                shape.constructors.extend(value.into_iter().flat_map(united));
            }
            (Language::Python, Kind::Class) => {
                let bases = node.and_then(|node| self.field(Some(node), "superclasses")).unwrap_or_default();
                let mut bases = bases.split(|c: char| !c.is_alphanumeric());
                if bases.any(|base| matches!(base, "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag")) {
                    let members = std::mem::take(&mut shape.fields)
                        .into_iter()
                        .map(|field| Constructor { doc: field.doc, ..self.constructor(field.name, field.at) });
                    shape.constructors.extend(members);
                }
            }
            (Language::Go, Kind::Type) => shape.constructors.extend(self.constants(&declaration.name)),
            _ => {}
        }
    }

    /// Returns the members of a union written with a binary operator.
    fn union_members(&self, value: Node<'_>, operator: &str) -> Vec<Constructor> {
        let mut open: Vec<Node<'_>> = Some(value).into_iter().filter(|value| value.kind() == operator).collect();
        let mut found = Vec::new();
        while let Some(node) = open.pop() {
            if node.kind() == operator {
                open.extend(named_children(node))
            } else {
                found.push(self.constructor(self.node_text(node), node.start_byte()))
            }
        }
        found.sort_by_key(|constructor| constructor.at);
        found
    }

    /// Returns the constants of a type in Go. The first constant of a group names the type, and the others continue it.
    fn constants(&self, name: &str) -> Vec<Constructor> {
        let mut found = Vec::new();
        for group in named_children(self.root).into_iter().filter(|node| node.kind() == "const_declaration") {
            let mut is_ours = false;
            for constant in named_children(group).into_iter().filter(|node| node.kind() == "const_spec") {
                let has_value = constant.child_by_field_name("value").is_some();
                is_ours = match self.field(Some(constant), "type") {
                    Some(of) => of == name,
                    // `StatusOld = Status("old")`.
                    None if has_value => {
                        let value = self.field(Some(constant), "value").unwrap_or_default();
                        value.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
                    }
                    None => is_ours,
                };
                let names = named_children(constant).into_iter().filter(|node| node.kind() == "identifier" && is_ours);
                let names = names.map(|node| (self.node_text(node), node.start_byte())).filter(|(name, _)| name != "_");
                found.extend(names.map(|(name, at)| self.constructor(name, at)));
            }
        }
        found
    }
}
