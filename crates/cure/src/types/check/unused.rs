//! Warns about a statement whose value is unused and whose computation has no effect.

use super::body::{Body, Val};
use crate::diagnostic::{Diagnostic, Fix, Span, code};
use crate::ir::tree::{Tree, TreeKind};
use crate::ir::ty::Ty;
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::{Expr, ExprKind};

impl Body<'_> {
    /// A statement in front of others.
    pub(super) fn unused(&mut self, statement: &Expr, val: &Val) {
        let meant = match &statement.kind {
            // A pipe and a message call, and `()` says that nothing is meant.
            ExprKind::Binary(K::PipeGt | K::PipeArrow, ..) | ExprKind::Unit | ExprKind::Missing => return,
            _ if matches!(val.ty, Ty::Wrong) || !only_computes(&val.tree) => return,
            ExprKind::Binary(K::EqEq, _, left, right) if matches!(left.kind, ExprKind::Name(_)) => {
                let (name, value) = (self.text(left.span), self.text(right.span));
                format!("`==` compares; `let {name} = {value}` gives a name to a value")
            }
            _ if matches!(self.base(&val.ty), Ty::Fn(..)) && matches!(statement.kind, ExprKind::Name(_)) => {
                format!("this is the function itself; a call has parentheses: `{}(…)`", self.text(statement.span))
            }
            _ => "the value of a body is its last expression; `let` gives a name to another one".to_owned(),
        };
        let span = statement.span;
        let source = self.checker.source;
        let behind = source.get(span.end as usize..).unwrap_or("");
        let comma = behind.trim_start();
        let end = match comma.strip_prefix(',') {
            Some(rest) => source.len() - rest.len(),
            None => span.end as usize,
        };
        let start = span.start as usize;
        let fix = if calls(&val.tree) {
            Fix {
                title: "write `let _ = …`".to_owned(),
                span: Span::new(start, start),
                replacement: "let _ = ".to_owned(),
            }
        } else {
            Fix { title: "remove it".to_owned(), span: Span::new(start, end), replacement: String::new() }
        };
        let mut warning = Diagnostic::warning(code::UNUSED, span, "nobody uses this value").hint(meant);
        warning.fix = Some(fix);
        self.errors.push(warning);
    }

    /// The text of an expression, if it is short enough for a message.
    fn text(&self, span: Span) -> &str {
        let text = span.text(self.checker.source);
        if text.len() > 60 || text.contains('\n') { "…" } else { text }
    }
}

/// True if a value is computed without calling a function at the outermost level: in the branches of a choice, too.
fn only_computes(tree: &Tree) -> bool {
    match &tree.kind {
        TreeKind::Local(..) | TreeKind::Remote(..) | TreeKind::Apply(..) | TreeKind::Method(..) => false,
        TreeKind::If(_, then, otherwise) => only_computes(then) && only_computes(otherwise),
        TreeKind::Match(_, branches) => branches.iter().all(|branch| only_computes(&branch.body)),
        TreeKind::Block(_, value) => only_computes(value),
        TreeKind::Literal(_)
        | TreeKind::Var(_)
        | TreeKind::Dict(_)
        | TreeKind::MethodValue(..)
        | TreeKind::LocalValue(..)
        | TreeKind::RemoteValue(..)
        | TreeKind::Lambda(..)
        | TreeKind::Tuple(_)
        | TreeKind::List(..)
        | TreeKind::Operation(..)
        | TreeKind::Element(..)
        | TreeKind::SetElements(..) => true,
    }
}

/// True if anything is called when this is computed, which may do something.
fn calls(tree: &Tree) -> bool {
    let any = |trees: &[Tree]| trees.iter().any(calls);
    match &tree.kind {
        TreeKind::Local(..) | TreeKind::Remote(..) | TreeKind::Apply(..) | TreeKind::Method(..) => true,
        TreeKind::If(test, then, otherwise) => calls(test) || calls(then) || calls(otherwise),
        TreeKind::Match(scrutinee, branches) => calls(scrutinee) || branches.iter().any(|branch| calls(&branch.body)),
        TreeKind::Block(lets, value) => lets.iter().any(|(_, tree)| calls(tree)) || calls(value),
        TreeKind::Tuple(parts) | TreeKind::Operation(_, parts) => any(parts),
        TreeKind::List(elements, rest) => any(elements) || rest.as_ref().is_some_and(|rest| calls(rest)),
        TreeKind::Element(of, _) => calls(of),
        TreeKind::SetElements(of, changes) => calls(of) || changes.iter().any(|(_, tree)| calls(tree)),
        TreeKind::Literal(_)
        | TreeKind::Var(_)
        | TreeKind::Dict(_)
        | TreeKind::MethodValue(..)
        | TreeKind::LocalValue(..)
        | TreeKind::RemoteValue(..)
        | TreeKind::Lambda(..) => false,
    }
}
