//! Builds modules and their items.

use rowan::NodeOrToken;

use super::exprs::{self, first_expr, type_of};
use super::{child, children, first_ident, ident, literals, missing, span, token, tokens};
use crate::syntax::ast::*;
use crate::syntax::kind::{SyntaxKind as K, SyntaxNode};

pub(super) fn module(node: &SyntaxNode) -> Module {
    let mut exports: Option<Vec<Export>> = None;
    let mut items = Vec::new();
    for item in node.children() {
        match item.kind() {
            K::Exports => {
                exports.get_or_insert_default().extend(children(&item, K::ExportName).map(|name| export(&name)))
            }
            _ => items.extend(build_item(&item)),
        }
    }
    Module { name: path(node), exports, items, span: span(node), doc: doc(node) }
}

fn build_item(node: &SyntaxNode) -> Option<Item> {
    Some(match node.kind() {
        K::Import => Item::Import(Import {
            module: path(node),
            alias: token(node, K::Ident).map(|token| ident(&token)),
            names: token(node, K::LBracket).map(|_| children(node, K::ImportName).map(|name| export(&name)).collect()),
            span: span(node),
        }),
        K::Def => Item::Def(def(node)),
        K::Curify => curify(node),
        K::Record => Item::Record(Record {
            name: first_ident(node),
            params: type_param_names(node),
            fields: children(node, K::FieldDecl)
                .map(|field| (first_ident(&field), exprs::first_type(&field)))
                .collect(),
            derive: derive(node),
            span: span(node),
            doc: doc(node),
        }),
        K::TypeDef => Item::Type(TypeDef {
            name: first_ident(node),
            params: type_param_names(node),
            body: exprs::first_type(node),
            guard: guard(node),
            derive: derive(node),
            span: span(node),
            doc: doc(node),
        }),
        K::Class | K::Trait => class(node),
        K::Instance => Item::Instance(Instance {
            head: child(node, K::Constraint).map_or_else(|| no_constraint(node), |head| constraint(&head)),
            context: constraints(node),
            methods: methods(node),
            span: span(node),
        }),
        K::Impl => implementation(node),
        K::Fsm => Item::Fsm(fsm(node)),
        _ => return None,
    })
}

fn path(node: &SyntaxNode) -> Ident {
    let Some(path) = child(node, K::Path) else { return missing(node) };
    let name: String = tokens(&path).map(|token| token.text().to_owned()).collect();
    Ident { name: Name::from(name), span: span(&path) }
}

fn name(node: &SyntaxNode) -> Ident {
    let Some(name) = child(node, K::Name) else { return missing(node) };
    let inner = tokens(&name).find(|token| !matches!(token.kind(), K::LParen | K::RParen));
    inner.map_or_else(|| missing(node), |token| literals::atom(&token))
}

fn export(node: &SyntaxNode) -> Export {
    Export {
        name: name(node),
        arity: token(node, K::Int).and_then(|token| token.text().parse().ok()),
        alias: token(node, K::Ident).map(|token| ident(&token)),
    }
}

/// The comments on the lines directly before an item, without `#`.
fn doc(node: &SyntaxNode) -> String {
    let mut lines = Vec::new();
    let mut before = node.prev_sibling_or_token();
    while let Some(NodeOrToken::Token(token)) = before {
        match token.kind() {
            K::Comment => lines.push(token.text().trim_start_matches('#').trim().to_owned()),
            K::Whitespace if token.text().matches('\n').count() > 1 => break,
            K::Whitespace => {}
            _ => break,
        }
        before = token.prev_sibling_or_token();
    }
    lines.reverse();
    lines.join("\n")
}

fn def(node: &SyntaxNode) -> Def {
    let params = child(node, K::Params);
    Def {
        name: name(node),
        type_params: type_params(node),
        params: params.iter().flat_map(|params| children(params, K::Param)).map(|node| param(&node)).collect(),
        result: child(node, K::Return).map(|node| exprs::first_type(&node)).filter(|ty| !exprs::is_open(ty)),
        guard: guard(node),
        constraints: constraints(node),
        body: child(node, K::Body).map(|body| exprs::body(&body)),
        span: span(node),
        doc: doc(node),
    }
}

pub(super) fn param(node: &SyntaxNode) -> Param {
    Param {
        name: first_ident(node),
        ty: node.children().find_map(|child| type_of(&child)).filter(|ty| !exprs::is_open(ty)),
    }
}

fn type_params(node: &SyntaxNode) -> Vec<(Ident, Vec<Ident>)> {
    let Some(params) = child(node, K::TypeParams) else { return Vec::new() };
    let bounds = |node: &SyntaxNode| child(node, K::Bounds).map_or_else(Vec::new, |bounds| idents(&bounds));
    children(&params, K::TypeParam).map(|param| (first_ident(&param), bounds(&param))).collect()
}

fn idents(node: &SyntaxNode) -> Vec<Ident> {
    tokens(node).filter(|token| token.kind() == K::Ident).map(|token| ident(&token)).collect()
}

/// The parameters of a record, a type or a class: names in the positions of type arguments.
fn type_param_names(node: &SyntaxNode) -> Vec<Ident> {
    let Some(args) = child(node, K::TyArgs) else { return Vec::new() };
    let inner = |node: SyntaxNode| if node.kind() == K::TypeParam { node.children().next() } else { Some(node) };
    args.children().filter_map(inner).map(|node| first_ident(&node)).collect()
}

fn guard(node: &SyntaxNode) -> Option<Expr> {
    child(node, K::Guard).map(|guard| first_expr(&guard))
}

fn constraints(node: &SyntaxNode) -> Vec<Constraint> {
    let Some(list) = child(node, K::Where) else { return Vec::new() };
    children(&list, K::Constraint).map(|node| constraint(&node)).collect()
}

fn constraint(node: &SyntaxNode) -> Constraint {
    let args = child(node, K::TyArgs);
    let args = args.iter().flat_map(|args| args.children()).filter_map(|node| type_of(&node)).collect();
    Constraint { class: first_ident(node), args, span: span(node) }
}

fn no_constraint(node: &SyntaxNode) -> Constraint {
    Constraint { class: missing(node), args: Vec::new(), span: span(node) }
}

fn derive(node: &SyntaxNode) -> Vec<Ident> {
    child(node, K::Derive).map_or_else(Vec::new, |derive| idents(&derive))
}

fn methods(node: &SyntaxNode) -> Vec<Def> {
    children(node, K::Method).map(|method| def(&method)).collect()
}

fn curify(node: &SyntaxNode) -> Item {
    let mut head = def(node);
    head.body = None;
    let target = child(node, K::Target);
    let words: Vec<_> = target
        .iter()
        .flat_map(tokens)
        .filter(|token| matches!(token.kind(), K::Ident | K::Atom | K::QuotedAtom | K::Int))
        .collect();
    let word = |at: usize| words.get(at).map_or_else(|| Name::from(""), |token| literals::atom(token).name);
    Item::Curify(Curify {
        head,
        module: word(0),
        function: word(1),
        arity: words.get(2).and_then(|token| token.text().parse().ok()).unwrap_or(0),
        target: target.map_or_else(|| span(node), |target| span(&target)),
    })
}

fn class(node: &SyntaxNode) -> Item {
    let mut class = Class {
        name: first_ident(node),
        params: type_param_names(node),
        supers: constraints(node),
        methods: methods(node),
        span: span(node),
        doc: doc(node),
    };
    if node.kind() == K::Trait {
        let own = Ident { name: Name::from("Self"), span: class.name.span };
        let own_type = || Type { kind: TypeKind::Name(own.name.clone(), Vec::new()), span: own.span };
        for bound in child(node, K::Bounds).iter().flat_map(idents) {
            let span = bound.span;
            class.supers.push(Constraint { class: bound, args: vec![own_type()], span });
        }
        class.params = vec![own.clone()];
        self_typed(&mut class.methods, &own_type());
    }
    Item::Class(class)
}

/// In traits and implementations `self` needs no type.
fn self_typed(methods: &mut [Def], own: &Type) {
    for param in methods.iter_mut().flat_map(|method| &mut method.params) {
        if &*param.name.name == "self" && param.ty.is_none() {
            param.ty = Some(own.clone());
        }
    }
}

/// `impl<T> Show for Box(T) when T: Show { … }` is `instance Show(Box(T)) when Show(T) do … end`.
fn implementation(node: &SyntaxNode) -> Item {
    let own = exprs::first_type(node);
    let mut methods = methods(node);
    self_typed(&mut methods, &own);
    let head = Constraint { class: first_ident(node), args: vec![own], span: span(node) };
    let mut context = constraints(node);
    for (param, bounds) in type_params(node) {
        let ty = Type { kind: TypeKind::Name(param.name.clone(), Vec::new()), span: param.span };
        let bounds = bounds.into_iter();
        context.extend(bounds.map(|class| Constraint { span: class.span, class, args: vec![ty.clone()] }));
    }
    Item::Instance(Instance { head, context, methods, span: span(node) })
}

fn fsm(node: &SyntaxNode) -> Fsm {
    let list =
        |kind| child(node, kind).map(|list| idents(&list)).map(|names| names.into_iter().skip(1).collect::<Vec<_>>());
    let mut fsm = Fsm {
        name: first_ident(node),
        payload: child(node, K::Payload).map(|payload| {
            children(&payload, K::PayloadField).map(|field| (first_ident(&field), first_expr(&field))).collect()
        }),
        states: list(K::States),
        initial: child(node, K::Initial).and_then(|line| idents(&line).into_iter().nth(1)),
        terminal: list(K::Terminal).unwrap_or_default(),
        blocks: Vec::new(),
        transitions: Vec::new(),
        span: span(node),
        doc: doc(node),
    };
    for part in node.children() {
        match part.kind() {
            K::State => {
                let Some(state) = idents(&part).into_iter().nth(1) else { continue };
                fsm.blocks.push(state.clone());
                fsm.transitions.extend(children(&part, K::Transition).filter_map(|node| transition(&state, &node)));
            }
            K::Edge => edge(&mut fsm, &part),
            _ => {}
        }
    }
    fsm
}

fn transition(from: &Ident, node: &SyntaxNode) -> Option<Transition> {
    let words = idents(node);
    let argument = first_expr(node);
    let trigger = match (&*words.first()?.name, &argument.kind) {
        ("timeout", _) => Trigger::Timeout(argument),
        (_, ExprKind::Atom(name) | ExprKind::Name(name)) => {
            Trigger::Event(Ident { name: name.clone(), span: argument.span })
        }
        _ => Trigger::Event(Ident { name: Name::from(""), span: argument.span }),
    };
    Some(Transition {
        from: from.clone(),
        trigger,
        guard: guard(node),
        to: words.get(1)?.clone(),
        actions: actions(node),
        span: span(node),
    })
}

fn edge(fsm: &mut Fsm, node: &SyntaxNode) {
    let mut words = tokens(node).filter(|token| matches!(token.kind(), K::Ident | K::Atom | K::QuotedAtom));
    let Some(from) = words.next().map(|token| ident(&token)) else { return };
    if token(node, K::Star).is_some() {
        fsm.terminal.push(from);
        return;
    }
    let (Some(event), Some(to)) = (words.next(), words.next()) else { return };
    // `A --> |timeout| B` in the arrow form is an event with the name `timeout`: this form cannot express a time.
    let trigger = Trigger::Event(literals::atom(&event));
    let to = ident(&to);
    fsm.transitions.push(Transition {
        from,
        trigger,
        guard: guard(node),
        to,
        actions: actions(node),
        span: span(node),
    });
}

fn actions(node: &SyntaxNode) -> Vec<(Ident, Expr)> {
    let Some(block) = child(node, K::ActionBlock) else { return Vec::new() };
    let field = |assign: &SyntaxNode| {
        let words = idents(assign);
        // `payload.n = 1` and `n = 1` mean the same.
        words.last().cloned().unwrap_or_else(|| missing(assign))
    };
    children(&block, K::Assign).map(|assign| (field(&assign), first_expr(&assign))).collect()
}
