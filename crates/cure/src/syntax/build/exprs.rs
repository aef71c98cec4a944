//! Builds expressions, types and patterns.

use super::literals::{self, TrimOnce, unescape};
use super::{child, children, first_ident, items, span, token, token_span, tokens};
use crate::diagnostic::Span;
use crate::syntax::IN_PART;
use crate::syntax::ast::*;
use crate::syntax::kind::{SyntaxKind as K, SyntaxNode, SyntaxToken};

/// The first expression in a node.
pub(super) fn first_expr(node: &SyntaxNode) -> Expr {
    node.children().find_map(|child| expr(&child)).unwrap_or_else(|| gap(node))
}

fn gap(node: &SyntaxNode) -> Expr {
    Expr { kind: ExprKind::Missing, span: span(node) }
}

fn exprs(node: &SyntaxNode) -> impl Iterator<Item = Expr> {
    node.children().filter_map(|child| expr(&child))
}

/// The expression at an index among those of a node. The others are not built: in long chains that would double the
/// work at every link.
fn boxed(node: &SyntaxNode, at: usize) -> Box<Expr> {
    let found = node.children().filter(|child| is_expr(child.kind())).nth(at);
    Box::new(found.and_then(|child| expr(&child)).unwrap_or_else(|| gap(node)))
}

fn is_expr(kind: K) -> bool {
    matches!(
        kind,
        K::Literal
            | K::UnitExpr
            | K::Interpolation
            | K::NameExpr
            | K::ParenExpr
            | K::CallExpr
            | K::FieldExpr
            | K::RecordExpr
            | K::UpdateExpr
            | K::UnaryExpr
            | K::BinaryExpr
            | K::AsExpr
            | K::BlockExpr
            | K::ListExpr
            | K::VectorExpr
            | K::TupleExpr
            | K::LambdaExpr
            | K::MatchExpr
            | K::IfExpr
    )
}

/// The expression of a node, if it is one.
pub(super) fn expr(node: &SyntaxNode) -> Option<Expr> {
    let kind = match node.kind() {
        K::Literal => literals::value(&node.first_token()?),
        K::UnitExpr => ExprKind::Unit,
        K::Interpolation => interpolation(node),
        K::NameExpr => ExprKind::Name(Name::from(node.first_token()?.text())),
        K::ParenExpr => return Some(first_expr(node)),
        K::CallExpr => {
            let args = child(node, K::Args);
            ExprKind::Call(boxed(node, 0), args.iter().flat_map(exprs).collect())
        }
        K::FieldExpr => ExprKind::Field(boxed(node, 0), first_ident(node)),
        K::RecordExpr => ExprKind::Record(first_ident(node), fields(node)),
        K::UpdateExpr => ExprKind::Update(first_ident(node), boxed(node, 0), fields(node)),
        K::UnaryExpr => ExprKind::Unary(node.first_token()?.kind(), boxed(node, 0)),
        K::BinaryExpr => {
            let mut operators = tokens(node).filter(|token| token.kind().binding().is_some());
            let operator = operators.next()?;
            match operators.next() {
                None => ExprKind::Binary(operator.kind(), token_span(&operator), boxed(node, 0), boxed(node, 1)),
                Some(_) => return Some(chain(node)),
            }
        }
        K::AsExpr => ExprKind::As(boxed(node, 0), first_type(node)),
        K::BlockExpr => ExprKind::Block(statements(node)),
        K::ListExpr => {
            let mut elements: Vec<_> = exprs(node).collect();
            let rest = token(node, K::Pipe).and_then(|_| elements.pop()).map(Box::new);
            ExprKind::List(elements, rest)
        }
        K::VectorExpr => ExprKind::Vector(exprs(node).collect()),
        K::TupleExpr => ExprKind::Tuple(exprs(node).collect()),
        K::LambdaExpr => {
            let params = child(node, K::Params);
            let params: Vec<_> = params.iter().flat_map(|params| children(params, K::Param)).collect();
            let body = child(node, K::Body).map_or_else(|| gap(node), |node| body(&node));
            lambda(&params, body)
        }
        K::MatchExpr => {
            ExprKind::Match(boxed(node, 0), children(node, K::Clause).map(|clause| clause_of(&clause)).collect())
        }
        K::IfExpr => ExprKind::If(boxed(node, 0), boxed(node, 1), boxed(node, 2)),
        _ => return None,
    };
    Some(Expr { kind, span: span(node) })
}

/// A chain of operators that stand side by side, since as a tree they would be too deep.
fn chain(node: &SyntaxNode) -> Expr {
    let is_operator = |token: &SyntaxToken| token.kind().binding().is_some();
    let operators: Vec<_> = tokens(node).filter(is_operator).map(|one| (one.kind(), token_span(&one))).collect();
    let mut operands: Vec<Expr> = exprs(node).collect();
    operands.resize_with(operators.len() + 1, || gap(node));
    let (kind, at) = operators[0];
    let is_same = operators.iter().all(|(other, _)| *other == kind);
    match kind {
        // Whichever two come first, the operands are computed from left to right, until one decides.
        K::AndKw | K::OrKw if is_same => balanced(kind, at, &operands),
        K::PlusPlus | K::LtGt => Expr { kind: ExprKind::Chain(kind, at, operands), span: span(node) },
        _ => in_parts(operators, operands, span(node)),
    }
}

/// The operands of an operator for which the order of the operations is of no importance, as a tree of little depth.
pub(crate) fn balanced(kind: K, at: Span, operands: &[Expr]) -> Expr {
    if let [only] = operands {
        return only.clone();
    }
    let (left, right) = operands.split_at(operands.len() / 2);
    let (left, right) = (balanced(kind, at, left), balanced(kind, at, right));
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(kind, at, Box::new(left), Box::new(right)), span }
}

/// Builds a chain evaluated from the left, part by part. The result of each part is bound to a name for the next.
fn in_parts(operators: Vec<(K, Span)>, operands: Vec<Expr>, span: Span) -> Expr {
    let name = Name::from("…");
    let mut operands = operands.into_iter();
    let mut value = operands.next().unwrap_or(Expr { kind: ExprKind::Missing, span });
    let mut statements = Vec::new();
    for (at, ((kind, place), right)) in operators.into_iter().zip(operands).enumerate() {
        if at > 0 && at % IN_PART as usize == 0 {
            let so_far = value.span;
            let pattern = Pattern { kind: PatternKind::Name(name.clone()), span: so_far };
            statements.push(Stmt::Let(pattern, None, value));
            value = Expr { kind: ExprKind::Name(name.clone()), span: so_far };
        }
        let span = value.span.to(right.span);
        value = Expr { kind: ExprKind::Binary(kind, place, Box::new(value), Box::new(right)), span };
    }
    statements.push(Stmt::Expr(value));
    Expr { kind: ExprKind::Block(statements), span }
}

/// A function whose parameters may be patterns: those are matched by `let`s at the start of its body.
fn lambda(nodes: &[SyntaxNode], body: Expr) -> ExprKind {
    let mut lets = Vec::new();
    let param = |(at, node): (usize, &SyntaxNode)| {
        let Some(pattern) = node.children().next().and_then(|child| pattern(&child)) else { return items::param(node) };
        let name = Ident { name: Name::from(format!("argument {at}")), span: pattern.span };
        let value = Expr { kind: ExprKind::Name(name.name.clone()), span: pattern.span };
        lets.push(Stmt::Let(pattern, None, value));
        Param { name, ty: node.children().skip(1).find_map(|child| type_of(&child)).filter(|ty| !is_open(ty)) }
    };
    let params = nodes.iter().enumerate().map(param).collect();
    if lets.is_empty() {
        return ExprKind::Lambda(params, Box::new(body));
    }
    let span = body.span;
    match body.kind {
        ExprKind::Block(statements) => lets.extend(statements),
        kind => lets.push(Stmt::Expr(Expr { kind, span })),
    }
    ExprKind::Lambda(params, Box::new(Expr { kind: ExprKind::Block(lets), span }))
}

fn fields(node: &SyntaxNode) -> Vec<(Ident, Expr)> {
    children(node, K::FieldInit).map(|field| (first_ident(&field), first_expr(&field))).collect()
}

fn interpolation(node: &SyntaxNode) -> ExprKind {
    let mut pieces = Vec::new();
    for part in node.children_with_tokens() {
        if let Some(value) = part.as_node().and_then(expr) {
            pieces.push(Piece::Value(value));
        }
        let Some(token) = part.as_token() else { continue };
        let text = token.text();
        let inner = match token.kind() {
            K::StrOpen => text.trim_matches_once('"', '{'),
            K::StrMid => text.trim_matches_once('}', '{'),
            K::StrClose => text.trim_matches_once('}', '"'),
            _ => continue,
        };
        let inner = if token.kind() == K::StrClose { inner } else { inner.strip_suffix('#').unwrap_or(inner) };
        if !inner.is_empty() {
            pieces.push(Piece::Text(unescape(inner)));
        }
    }
    ExprKind::Interpolation(pieces)
}

/// Statements as one expression.
pub(super) fn body(node: &SyntaxNode) -> Expr {
    let mut statements = statements(node);
    match (statements.len(), statements.pop()) {
        (1, Some(Stmt::Expr(only))) => only,
        (_, Some(last)) => {
            statements.push(last);
            Expr { kind: ExprKind::Block(statements), span: span(node) }
        }
        (_, None) => gap(node),
    }
}

fn statements(node: &SyntaxNode) -> Vec<Stmt> {
    let statement = |node: SyntaxNode| match node.kind() {
        K::LetStmt => {
            let pattern = node.children().find_map(|child| pattern(&child));
            let pattern = pattern.unwrap_or_else(|| Pattern { kind: PatternKind::Missing, span: span(&node) });
            // A type between pattern and value; a pattern is a type node only in parentheses.
            let ty = node.children().skip(1).find_map(|child| type_of(&child)).filter(|ty| !is_open(ty));
            Some(Stmt::Let(pattern, ty, first_expr(&node)))
        }
        _ => expr(&node).map(Stmt::Expr),
    };
    node.children().filter_map(statement).collect()
}

fn clause_of(node: &SyntaxNode) -> Clause {
    let found = node.children().find_map(|child| pattern(&child));
    Clause {
        pattern: found.unwrap_or_else(|| Pattern { kind: PatternKind::Missing, span: span(node) }),
        guard: child(node, K::Guard).map(|guard| first_expr(&guard)),
        body: first_expr(node),
        span: span(node),
    }
}

/// The pattern of a node, if it is one.
fn pattern(node: &SyntaxNode) -> Option<Pattern> {
    let many = |node: &SyntaxNode| node.children().filter_map(|child| pattern(&child)).collect::<Vec<_>>();
    let kind = match node.kind() {
        K::PatName => match node.first_token()?.text() {
            "_" => PatternKind::Wild,
            name => PatternKind::Name(Name::from(name)),
        },
        K::PatLiteral => literal(node),
        K::PatList => {
            let mut elements = many(node);
            let rest = token(node, K::Pipe).and_then(|_| elements.pop()).map(Box::new);
            PatternKind::List(elements, rest)
        }
        K::PatTuple => PatternKind::Tuple(many(node)),
        K::PatCtor => PatternKind::Ctor(first_ident(node), many(node)),
        K::PatRecord => {
            let field = |field: SyntaxNode| {
                let inner = field.children().find_map(|child| pattern(&child));
                let inner = inner.unwrap_or_else(|| Pattern { kind: PatternKind::Missing, span: span(&field) });
                (first_ident(&field), inner)
            };
            PatternKind::Record(first_ident(node), children(node, K::PatField).map(field).collect())
        }
        K::TyParen => return node.children().find_map(|child| pattern(&child)),
        _ => return None,
    };
    Some(Pattern { kind, span: span(node) })
}

fn literal(node: &SyntaxNode) -> PatternKind {
    let negative = token(node, K::Minus).is_some();
    let Some(token) = tokens(node).find(|token| token.kind() != K::Minus) else { return PatternKind::Missing };
    match (literals::value(&token), negative) {
        (ExprKind::Int(value), true) => PatternKind::Int(-value),
        (ExprKind::Int(value), false) => PatternKind::Int(value),
        (ExprKind::Float(value), true) => PatternKind::Float(-value),
        (ExprKind::Float(value), false) => PatternKind::Float(value),
        (ExprKind::Str(value), _) => PatternKind::Str(value),
        (ExprKind::Charlist(value), _) => PatternKind::Charlist(value),
        (ExprKind::Atom(value), _) => PatternKind::Atom(value),
        (ExprKind::Bool(value), _) => PatternKind::Bool(value),
        _ if token.kind() == K::LParen => PatternKind::Unit,
        _ => PatternKind::Missing,
    }
}

/// The first type in a node.
pub(super) fn first_type(node: &SyntaxNode) -> Type {
    let found = node.children().find_map(|child| type_of(&child));
    found.unwrap_or_else(|| Type { kind: TypeKind::Missing, span: span(node) })
}

/// True if a written type is `_`, which leaves the type to the compiler.
pub(super) fn is_open(ty: &Type) -> bool {
    matches!(&ty.kind, TypeKind::Name(name, args) if &**name == "_" && args.is_empty())
}

fn types(node: &SyntaxNode) -> Vec<Type> {
    node.children().filter_map(|child| type_of(&child)).collect()
}

/// The type of a node, if it is one.
pub(super) fn type_of(node: &SyntaxNode) -> Option<Type> {
    let kind = match node.kind() {
        K::TyName => {
            let name: String = tokens(node).map(|token| token.text().to_owned()).collect();
            let args = child(node, K::TyArgs);
            TypeKind::Name(Name::from(name), args.iter().flat_map(types).collect())
        }
        K::TyLen => TypeKind::Len(Box::new(first_expr(node))),
        K::TyFn => {
            let mut params = types(node);
            let result = Box::new(params.pop()?);
            TypeKind::Fn(params, result)
        }
        K::TyArrow => {
            let mut sides = types(node);
            let result = Box::new(sides.pop()?);
            TypeKind::Fn(sides, result)
        }
        K::TyUnion => TypeKind::Union(types(node)),
        K::TyTuple => TypeKind::Tuple(types(node)),
        K::TyRefined => TypeKind::Refined(first_ident(node), Box::new(first_type(node)), Box::new(first_expr(node))),
        K::TyParen => return Some(first_type(node)),
        _ => return None,
    };
    Some(Type { kind, span: span(node) })
}
