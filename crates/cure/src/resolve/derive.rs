//! `derive Show, Eq, Ord`: instances generated as syntax from the shape of a type, and checked like handwritten ones.

use std::sync::Arc;

use super::interface::Constructor;
use crate::diagnostic::Span;
use crate::syntax::SyntaxKind as K;
use crate::syntax::ast::*;

/// The instances that a record derives.
pub(crate) fn record(record: &Record) -> Vec<Instance> {
    let fields = record.fields.len();
    let labels = record.fields.iter().map(|(name, _)| name.name.to_string()).collect();
    let shape = Shape { name: record.name.name.clone(), fields, labels: Some(labels) };
    let made = |class: &Ident| instance(class, &record.name, &record.params, std::slice::from_ref(&shape));
    record.derive.iter().map(made).collect()
}

/// The instances that a type with constructors derives.
pub(crate) fn sum(def: &TypeDef, constructors: &[Arc<Constructor>]) -> Vec<Instance> {
    let shape = |one: &Arc<Constructor>| Shape { name: one.name.clone(), fields: one.fields.len(), labels: None };
    let shapes: Vec<_> = constructors.iter().map(shape).collect();
    if shapes.is_empty() {
        return Vec::new();
    }
    def.derive.iter().map(|class| instance(class, &def.name, &def.params, &shapes)).collect()
}

/// The names of the constructors in a definition, in order.
pub(crate) fn alternatives(body: &Type) -> impl Iterator<Item = &Name> {
    let all = match &body.kind {
        TypeKind::Union(all) => &all[..],
        _ => std::slice::from_ref(body),
    };
    all.iter().filter_map(|one| match &one.kind {
        TypeKind::Name(name, _) => Some(name),
        _ => None,
    })
}

/// A constructor or a record.
struct Shape {
    name: Name,
    fields: usize,
    labels: Option<Vec<String>>,
}

struct Maker {
    span: Span,
}

impl Maker {
    fn ident(&self, name: &str) -> Ident {
        Ident { name: Name::from(name), span: self.span }
    }

    fn expr(&self, kind: ExprKind) -> Expr {
        Expr { kind, span: self.span }
    }

    fn name(&self, name: &str) -> Expr {
        self.expr(ExprKind::Name(Name::from(name)))
    }

    fn text(&self, text: &str) -> Expr {
        self.expr(ExprKind::Str(text.to_owned()))
    }

    fn binary(&self, operator: K, left: Expr, right: Expr) -> Expr {
        self.expr(ExprKind::Binary(operator, self.span, Box::new(left), Box::new(right)))
    }

    /// A call of `Std.Show.show` or similar, whatever is imported here.
    fn method(&self, module: &str, method: &str, args: Vec<Expr>) -> Expr {
        let std = self.name("Std");
        let module = self.expr(ExprKind::Field(Box::new(std), self.ident(module)));
        let method = self.expr(ExprKind::Field(Box::new(module), self.ident(method)));
        self.expr(ExprKind::Call(Box::new(method), args))
    }

    fn pattern(&self, kind: PatternKind) -> Pattern {
        Pattern { kind, span: self.span }
    }

    fn shape(&self, shape: &Shape, prefix: &str) -> Pattern {
        let vars = (0..shape.fields).map(|at| self.pattern(PatternKind::Name(Name::from(format!("{prefix}{at}")))));
        match &shape.labels {
            None => {
                self.pattern(PatternKind::Ctor(Ident { name: shape.name.clone(), span: self.span }, vars.collect()))
            }
            Some(labels) => {
                let fields = labels.iter().map(|label| self.ident(label)).zip(vars).collect();
                self.pattern(PatternKind::Record(Ident { name: shape.name.clone(), span: self.span }, fields))
            }
        }
    }

    fn clause(&self, pattern: Pattern, body: Expr) -> Clause {
        Clause { pattern, guard: None, body, span: self.span }
    }

    fn name_pair(&self) -> Expr {
        self.expr(ExprKind::Tuple(vec![self.name("a"), self.name("b")]))
    }
}

fn instance(class: &Ident, name: &Ident, params: &[Ident], shapes: &[Shape]) -> Instance {
    let make = Maker { span: class.span };
    let param = |param: &Ident| Type { kind: TypeKind::Name(param.name.clone(), Vec::new()), span: make.span };
    let own = Type { kind: TypeKind::Name(name.name.clone(), params.iter().map(param).collect()), span: make.span };
    let context = params.iter().map(|one| Constraint { class: class.clone(), args: vec![param(one)], span: make.span });
    let plain = |name: &str| Type { kind: TypeKind::Name(Name::from(name), Vec::new()), span: make.span };
    let (method, params, result, body) = match &*class.name {
        "Show" => ("show", vec!["a"], plain("String"), show(&make, shapes)),
        "Eq" => ("eq", vec!["a", "b"], plain("Bool"), equal(&make, shapes)),
        "Ord" => ("compare", vec!["a", "b"], plain("Ordering"), compare(&make, shapes)),
        _ => ("", Vec::new(), plain("Unit"), make.expr(ExprKind::Unit)),
    };
    let params = params.iter().map(|name| Param { name: make.ident(name), ty: Some(own.clone()) });
    let def = Def {
        name: make.ident(method),
        type_params: Vec::new(),
        params: params.collect(),
        result: Some(result),
        guard: None,
        constraints: Vec::new(),
        body: Some(body),
        span: make.span,
        doc: String::new(),
    };
    let methods = if method.is_empty() { Vec::new() } else { vec![def] };
    let head = Constraint { class: class.clone(), args: vec![own.clone()], span: make.span };
    Instance { head, context: context.collect(), methods, span: make.span }
}

/// `Circle(3)`, `P{a: 1, b: "x"}`, `Red`
fn show(make: &Maker, shapes: &[Shape]) -> Expr {
    let clauses = shapes.iter().map(|shape| {
        let (open, close) = if shape.labels.is_some() { ("{", "}") } else { ("(", ")") };
        let mut text = shape.name.to_string();
        let mut parts: Vec<Expr> = Vec::new();
        for at in 0..shape.fields {
            text.push_str(if at == 0 { open } else { ", " });
            if let Some(labels) = &shape.labels {
                text.push_str(&labels[at]);
                text.push_str(": ");
            }
            parts.push(make.text(&std::mem::take(&mut text)));
            parts.push(make.method("Show", "show", vec![make.name(&format!("a{at}"))]));
        }
        if shape.fields > 0 {
            text.push_str(close);
        }
        parts.push(make.text(&text));
        let joined = parts.into_iter().rev().reduce(|right, left| make.binary(K::LtGt, left, right));
        make.clause(make.shape(shape, "a"), joined.unwrap_or_else(|| make.text("")))
    });
    make.expr(ExprKind::Match(Box::new(make.name("a")), clauses.collect()))
}

fn pairs(make: &Maker, shapes: &[Shape], body: impl Fn(&Shape) -> Expr, rest: Option<Expr>) -> Expr {
    let mut clauses: Vec<_> = shapes
        .iter()
        .map(|shape| {
            let pair = PatternKind::Tuple(vec![make.shape(shape, "a"), make.shape(shape, "b")]);
            make.clause(make.pattern(pair), body(shape))
        })
        .collect();
    if let (Some(rest), true) = (rest, shapes.len() > 1) {
        clauses.push(make.clause(make.pattern(PatternKind::Wild), rest));
    }
    make.expr(ExprKind::Match(Box::new(make.name_pair()), clauses))
}

fn equal(make: &Maker, shapes: &[Shape]) -> Expr {
    let body = |shape: &Shape| {
        let each = (0..shape.fields)
            .map(|at| make.method("Eq", "eq", vec![make.name(&format!("a{at}")), make.name(&format!("b{at}"))]));
        each.rev()
            .reduce(|right, left| make.binary(K::AndKw, left, right))
            .unwrap_or_else(|| make.expr(ExprKind::Bool(true)))
    };
    pairs(make, shapes, body, Some(make.expr(ExprKind::Bool(false))))
}

/// Compares fields from left to right, and constructors in the order in which they are written.
fn compare(make: &Maker, shapes: &[Shape]) -> Expr {
    let ordering = |name: &str| make.pattern(PatternKind::Ctor(make.ident(name), Vec::new()));
    let body = |shape: &Shape| {
        let each = (0..shape.fields)
            .map(|at| make.method("Ord", "compare", vec![make.name(&format!("a{at}")), make.name(&format!("b{at}"))]));
        let equal = make.expr(ExprKind::Call(Box::new(make.name("Eq")), Vec::new()));
        each.rev().fold(equal, |rest, first| {
            let clauses = vec![
                make.clause(ordering("Eq"), rest),
                make.clause(make.pattern(PatternKind::Name(Name::from("other"))), make.name("other")),
            ];
            make.expr(ExprKind::Match(Box::new(first), clauses))
        })
    };
    let place = |of: &str| {
        let clauses = shapes.iter().enumerate().map(|(at, shape)| {
            let wild = (0..shape.fields).map(|_| make.pattern(PatternKind::Wild)).collect();
            let pattern = match &shape.labels {
                None => PatternKind::Ctor(Ident { name: shape.name.clone(), span: make.span }, wild),
                Some(_) => PatternKind::Wild,
            };
            make.clause(make.pattern(pattern), make.expr(ExprKind::Int(at.into())))
        });
        make.expr(ExprKind::Match(Box::new(make.name(of)), clauses.collect()))
    };
    let rest = make.method("Ord", "compare", vec![place("a"), place("b")]);
    pairs(make, shapes, body, Some(rest))
}
