//! The path from a file's root to a node. Walking upwards is slow in tree-sitter, so the way down is stored.

use std::borrow::Cow;

use tree_sitter::Node;

use super::kind::Kind;

/// A node on the path, and its field within its parent.
#[derive(Clone, Copy)]
pub(super) struct Step<'t> {
    pub node: Node<'t>,
    pub field: Option<&'t str>,
}

/// The path from the root to a node. Positions count from the end: 0 is the node, 1 its parent.
#[derive(Clone, Copy)]
pub(super) struct Trail<'a, 't> {
    pub steps: &'a [Step<'t>],
    pub text: &'a [u8],
    /// Range of the name in question.
    pub at: (usize, usize),
}

impl<'a, 't> Trail<'a, 't> {
    pub(super) fn node(&self) -> Node<'t> {
        self.steps[self.steps.len() - 1].node
    }

    fn step(&self, up: usize) -> Option<&Step<'t>> {
        self.steps.len().checked_sub(up + 1).map(|index| &self.steps[index])
    }

    /// Returns the node `up` steps above.
    pub(super) fn ancestor(&self, up: usize) -> Option<Node<'t>> {
        self.step(up).map(|step| step.node)
    }

    /// Returns the kind of the node `up` steps above; empty above the root.
    pub(super) fn kind(&self, up: usize) -> &'t str {
        self.step(up).map_or("", |step| step.node.kind())
    }

    /// Returns the field of that node within its parent; empty for none.
    pub(super) fn field(&self, up: usize) -> &'t str {
        self.step(up).and_then(|step| step.field).unwrap_or_default()
    }

    /// Returns the trail that ends `up` steps earlier.
    pub(super) fn ancestor_trail(&self, up: usize) -> Trail<'a, 't> {
        Trail { steps: &self.steps[..self.steps.len() - up], ..*self }
    }

    /// Returns the distance of the nearest node of one of these kinds.
    pub(super) fn nearest(&self, kinds: &[&str]) -> Option<usize> {
        (0..self.steps.len()).find(|up| kinds.contains(&self.kind(*up)))
    }

    pub(super) fn text_of(&self, node: Node<'_>) -> Cow<'a, str> {
        text_of(self.text, node)
    }

    pub(super) fn name(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(&self.text[self.at.0..self.at.1])
    }
}

pub(super) fn text_of<'a>(text: &'a [u8], node: Node<'_>) -> Cow<'a, str> {
    String::from_utf8_lossy(text.get(node.byte_range()).unwrap_or_default())
}

/// A declaration made by a node.
pub(super) struct Declared<'t> {
    pub name: Node<'t>,
    pub kind: Kind,
    /// Names between the enclosing declarations and this one: the receiver of a Go method, the scope of a C++
    /// definition outside its class. The first is shown; each can be used to refer to it.
    pub within: Vec<String>,
    /// True if there is no body: a prototype, or a method to implement.
    pub is_signature: bool,
}

impl<'t> Declared<'t> {
    pub(super) fn new(name: Node<'t>, kind: Kind) -> Declared<'t> {
        Declared { name, kind, within: Vec::new(), is_signature: false }
    }

    pub(super) fn signature(name: Node<'t>, kind: Kind) -> Declared<'t> {
        Declared { is_signature: true, ..Declared::new(name, kind) }
    }

    /// Returns the declaration named by the node's field `name`.
    pub(super) fn named(node: Node<'t>, kind: Kind) -> Vec<Declared<'t>> {
        node.child_by_field_name("name").map(|name| Declared::new(name, kind)).into_iter().collect()
    }
}

pub(super) fn children_in<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).collect()
}

pub fn named_children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
