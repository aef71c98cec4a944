//! The meaning of a position in a text: its name, the kind of that name, and the variables in scope.

use crate::diagnostic::Span;
use crate::syntax::ast::*;

/// Kind of a name according to its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A variable, by the place where it is bound.
    Variable(Span),
    /// A function, method or constructor, with its module if qualified, its name, and the number of arguments if called.
    Value(Option<Name>, Name, Option<usize>),
    /// A type, record or class.
    Type(Name),
    Module(Name),
    /// A field of this record.
    Field(Name, Name),
    /// A field of the value that stands there.
    FieldOf(Span, Name),
    /// A state of a machine, by the place where it is declared.
    State(Span),
}

/// A name at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SymbolAt {
    pub span: Span,
    pub what: Symbol,
}

/// The name at a position and its context.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    /// The name there.
    pub named: Option<SymbolAt>,
    /// The variables in scope, and where they are bound.
    pub scope: Vec<(Name, Span)>,
}

/// Looks at a place in a module.
pub(super) fn look_up(module: &Module, at: u32) -> Lookup {
    let mut look = Look { at, locals: Vec::new(), place: Lookup::default() };
    if look.touches(module.name.span) {
        look.name(module.name.span, Symbol::Module(module.name.name.clone()));
    }
    for export in module.exports.iter().flatten() {
        let what = Symbol::Value(None, export.name.name.clone(), export.arity.map(|arity| arity as usize));
        look.name(export.name.span, what);
    }
    module.items.iter().for_each(|item| look.item(item));
    look.place
}

/// Returns the variables in scope after the last definition before a position: those of its head and its first `let`s.
/// Text typed there belongs to that definition.
pub(super) fn variables_in_scope(module: &Module, at: u32) -> Vec<(Name, Span)> {
    let defs = module.items.iter().flat_map(|item| match item {
        Item::Def(def) => std::slice::from_ref(def),
        Item::Class(class) => &class.methods[..],
        Item::Instance(instance) => &instance.methods[..],
        _ => &[],
    });
    let Some(def) = defs.filter(|def| def.span.start <= at).max_by_key(|def| def.span.start) else { return Vec::new() };
    let mut scope: Vec<(Name, Span)> =
        def.params.iter().map(|param| (param.name.name.clone(), param.name.span)).collect();
    if let Some(Expr { kind: ExprKind::Block(statements), .. }) = &def.body {
        for statement in statements {
            if let Stmt::Let(pattern, _, value) = statement
                && value.span.end <= at
            {
                bound(pattern, &mut scope);
            }
        }
    }
    scope
}

struct Look {
    at: u32,
    locals: Vec<(Name, Span)>,
    place: Lookup,
}

impl Look {
    /// True if the place is in the span, or directly behind it.
    fn touches(&self, span: Span) -> bool {
        span.start <= self.at && self.at <= span.end
    }

    /// Notes a name, if it is there.
    fn name(&mut self, span: Span, what: Symbol) {
        if self.touches(span) && span.end > span.start {
            self.place.named = Some(SymbolAt { span, what });
        }
    }

    fn ident(&mut self, ident: &Ident, what: impl FnOnce(Name) -> Symbol) {
        self.name(ident.span, what(ident.name.clone()));
    }

    fn local(&self, name: &str) -> Option<Span> {
        self.locals.iter().rev().find(|(known, _)| **known == *name).map(|(_, span)| *span)
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Import(import) => self.import(import),
            Item::Def(def) => self.def(def),
            Item::Curify(foreign) => self.def(&foreign.head),
            Item::Record(record) => {
                self.ident(&record.name, Symbol::Type);
                for (field, ty) in &record.fields {
                    self.ident(field, |name| Symbol::Field(record.name.name.clone(), name));
                    self.ty(ty);
                }
                record.derive.iter().for_each(|class| self.ident(class, Symbol::Type));
            }
            Item::Type(def) => {
                self.ident(&def.name, Symbol::Type);
                self.ty(&def.body);
                def.guard.iter().for_each(|guard| self.expr(guard));
                def.derive.iter().for_each(|class| self.ident(class, Symbol::Type));
            }
            Item::Class(class) => {
                self.ident(&class.name, Symbol::Type);
                class.supers.iter().for_each(|above| self.constraint(above));
                class.methods.iter().for_each(|method| self.def(method));
            }
            Item::Instance(instance) => {
                self.constraint(&instance.head);
                instance.context.iter().for_each(|one| self.constraint(one));
                instance.methods.iter().for_each(|method| self.def(method));
            }
            Item::Fsm(fsm) => self.fsm(fsm),
        }
    }

    fn import(&mut self, import: &Import) {
        let module = &import.module;
        self.ident(module, Symbol::Module);
        import.alias.iter().for_each(|alias| self.ident(alias, |_| Symbol::Module(module.name.clone())));
        for one in import.names.iter().flatten() {
            let arity = one.arity.map(|arity| arity as usize);
            let what = Symbol::Value(Some(module.name.clone()), one.name.name.clone(), arity);
            one.alias.iter().for_each(|alias| self.name(alias.span, what.clone()));
            self.name(one.name.span, what);
        }
    }

    fn constraint(&mut self, constraint: &Constraint) {
        self.ident(&constraint.class, Symbol::Type);
        constraint.args.iter().for_each(|arg| self.ty(arg));
    }

    fn def(&mut self, def: &Def) {
        // Behind its end, a body may go on.
        if self.at < def.span.start || self.at > def.span.end {
            return;
        }
        let arity = def.params.len();
        self.ident(&def.name, |name| Symbol::Value(None, name, Some(arity)));
        def.type_params.iter().flat_map(|(_, bounds)| bounds).for_each(|class| self.ident(class, Symbol::Type));
        let outside = self.locals.len();
        self.params(&def.params);
        def.result.iter().for_each(|result| self.ty(result));
        def.guard.iter().for_each(|guard| self.expr(guard));
        def.constraints.iter().for_each(|constraint| self.constraint(constraint));
        def.body.iter().for_each(|body| self.expr(body));
        self.locals.truncate(outside);
    }

    fn params(&mut self, params: &[Param]) {
        self.locals.extend(params.iter().map(|param| (param.name.name.clone(), param.name.span)));
        for param in params {
            self.name(param.name.span, Symbol::Variable(param.name.span));
            param.ty.iter().for_each(|ty| self.ty(ty));
        }
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Name(name, args) => {
                let end = ty.span.start + name.len() as u32;
                self.name(Span { start: ty.span.start, end }, Symbol::Type(name.clone()));
                args.iter().for_each(|arg| self.ty(arg));
            }
            TypeKind::Fn(params, result) => {
                params.iter().for_each(|param| self.ty(param));
                self.ty(result);
            }
            TypeKind::Union(all) | TypeKind::Tuple(all) => all.iter().for_each(|one| self.ty(one)),
            TypeKind::Refined(value, base, condition) => {
                self.name(value.span, Symbol::Variable(value.span));
                self.ty(base);
                self.locals.push((value.name.clone(), value.span));
                self.expr(condition);
                self.locals.pop();
            }
            TypeKind::Len(length) => self.expr(length),
            TypeKind::Missing => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        if !self.touches(expr.span) {
            return;
        }
        self.place.scope.clone_from(&self.locals);
        match &expr.kind {
            ExprKind::Name(name) => self.value(name, None, expr.span),
            ExprKind::Call(callee, args) => {
                self.callee(callee, args.len());
                args.iter().for_each(|arg| self.expr(arg));
            }
            ExprKind::Field(base, field) => self.field(base, field, None),
            ExprKind::List(elements, rest) => {
                elements.iter().for_each(|element| self.expr(element));
                rest.iter().for_each(|rest| self.expr(rest));
            }
            ExprKind::Vector(parts) | ExprKind::Tuple(parts) | ExprKind::Chain(_, _, parts) => {
                parts.iter().for_each(|part| self.expr(part))
            }
            ExprKind::Record(name, fields) => self.fields(name, fields),
            ExprKind::Update(name, base, fields) => {
                self.expr(base);
                self.fields(name, fields);
            }
            ExprKind::Unary(_, inner) => self.expr(inner),
            ExprKind::Binary(_, _, left, right) => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::As(inner, ty) => {
                self.expr(inner);
                self.ty(ty);
            }
            ExprKind::Interpolation(pieces) => {
                for piece in pieces {
                    if let Piece::Value(value) = piece {
                        self.expr(value);
                    }
                }
            }
            ExprKind::Lambda(params, body) => {
                let outside = self.locals.len();
                self.params(params);
                self.expr(body);
                self.locals.truncate(outside);
            }
            ExprKind::Block(statements) => self.block(statements),
            ExprKind::Match(scrutinee, clauses) => {
                self.expr(scrutinee);
                clauses.iter().for_each(|clause| self.clause(clause));
            }
            ExprKind::If(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expr(part));
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Charlist(_)
            | ExprKind::Atom(_)
            | ExprKind::Bool(_)
            | ExprKind::Unit
            | ExprKind::Missing => {}
        }
    }

    fn value(&mut self, name: &Name, arity: Option<usize>, span: Span) {
        let what = self.local(name).map_or_else(|| Symbol::Value(None, name.clone(), arity), Symbol::Variable);
        self.name(span, what);
    }

    fn callee(&mut self, callee: &Expr, arity: usize) {
        match &callee.kind {
            ExprKind::Name(name) => self.value(name, Some(arity), callee.span),
            ExprKind::Field(base, field) => self.field(base, field, Some(arity)),
            _ => self.expr(callee),
        }
    }

    /// Visits `value.field`, or `A.B.function` if `A` is not a variable.
    fn field(&mut self, base: &Expr, field: &Ident, arity: Option<usize>) {
        match self.path(base) {
            Some(path) => {
                self.name(base.span, Symbol::Module(path.clone()));
                self.ident(field, |name| Symbol::Value(Some(path), name, arity));
            }
            None => {
                self.expr(base);
                self.ident(field, |name| Symbol::FieldOf(base.span, name));
            }
        }
    }

    /// The module that an expression names by its form.
    fn path(&self, expr: &Expr) -> Option<Name> {
        match &expr.kind {
            ExprKind::Name(name) if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                self.local(name).is_none().then(|| name.clone())
            }
            ExprKind::Field(base, field) => Some(Name::from(format!("{}.{}", self.path(base)?, field.name))),
            _ => None,
        }
    }

    fn fields(&mut self, record: &Ident, fields: &[(Ident, Expr)]) {
        self.ident(record, Symbol::Type);
        for (field, value) in fields {
            self.ident(field, |name| Symbol::Field(record.name.clone(), name));
            self.expr(value);
        }
    }

    fn block(&mut self, statements: &[Stmt]) {
        let outside = self.locals.len();
        for statement in statements {
            match statement {
                Stmt::Expr(value) => self.expr(value),
                Stmt::Let(pattern, ty, value) => {
                    ty.iter().for_each(|ty| self.ty(ty));
                    self.expr(value);
                    self.pattern(pattern);
                    bound(pattern, &mut self.locals);
                }
            }
            // Between two statements, the variables of those above are in scope.
            let end = match statement {
                Stmt::Expr(value) | Stmt::Let(_, _, value) => value.span.end,
            };
            if end < self.at {
                self.place.scope.clone_from(&self.locals);
            }
        }
        self.locals.truncate(outside);
    }

    fn clause(&mut self, clause: &Clause) {
        if !self.touches(clause.span) {
            return;
        }
        self.pattern(&clause.pattern);
        let outside = self.locals.len();
        bound(&clause.pattern, &mut self.locals);
        clause.guard.iter().for_each(|guard| self.expr(guard));
        self.expr(&clause.body);
        self.locals.truncate(outside);
    }

    fn pattern(&mut self, pattern: &Pattern) {
        if !self.touches(pattern.span) {
            return;
        }
        match &pattern.kind {
            PatternKind::Name(name) if is_variable(name) => self.name(pattern.span, Symbol::Variable(pattern.span)),
            PatternKind::Name(name) => self.name(pattern.span, Symbol::Value(None, name.clone(), Some(0))),
            PatternKind::List(parts, rest) => {
                parts.iter().for_each(|part| self.pattern(part));
                rest.iter().for_each(|rest| self.pattern(rest));
            }
            PatternKind::Tuple(parts) => parts.iter().for_each(|part| self.pattern(part)),
            PatternKind::Ctor(name, parts) => {
                self.ident(name, |name| Symbol::Value(None, name, Some(parts.len())));
                parts.iter().for_each(|part| self.pattern(part));
            }
            PatternKind::Record(name, fields) => {
                self.ident(name, Symbol::Type);
                for (field, part) in fields {
                    self.ident(field, |field| Symbol::Field(name.name.clone(), field));
                    self.pattern(part);
                }
            }
            _ => {}
        }
    }

    fn fsm(&mut self, fsm: &Fsm) {
        self.ident(&fsm.name, Symbol::Type);
        let declared =
            fsm.states.iter().flatten().chain(&fsm.blocks).chain(fsm.transitions.iter().map(|one| &one.from));
        let declared: Vec<&Ident> = declared.collect();
        let state = |name: &Name| declared.iter().find(|state| state.name == *name).map(|state| state.span);
        let outside = self.locals.len();
        for (field, value) in fsm.payload.iter().flatten() {
            self.ident(field, |name| Symbol::Field(fsm.name.name.clone(), name));
            self.expr(value);
            self.locals.push((field.name.clone(), field.span));
        }
        let ends = fsm.transitions.iter().flat_map(|one| [&one.from, &one.to]);
        let named = fsm.states.iter().flatten().chain(&fsm.initial).chain(&fsm.terminal).chain(&fsm.blocks).chain(ends);
        for one in named {
            if let Some(span) = state(&one.name) {
                self.name(one.span, Symbol::State(span));
            }
        }
        for transition in &fsm.transitions {
            transition.guard.iter().for_each(|guard| self.expr(guard));
            for (field, value) in &transition.actions {
                self.ident(field, |name| Symbol::Field(fsm.name.name.clone(), name));
                self.expr(value);
            }
        }
        self.locals.truncate(outside);
    }
}

/// True if a name in a pattern is a variable.
fn is_variable(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Adds the variables that a pattern binds.
fn bound(pattern: &Pattern, into: &mut Vec<(Name, Span)>) {
    match &pattern.kind {
        PatternKind::Name(name) if is_variable(name) => into.push((name.clone(), pattern.span)),
        PatternKind::List(parts, rest) => {
            parts.iter().for_each(|part| bound(part, into));
            rest.iter().for_each(|rest| bound(rest, into));
        }
        PatternKind::Tuple(parts) | PatternKind::Ctor(_, parts) => parts.iter().for_each(|part| bound(part, into)),
        PatternKind::Record(_, fields) => fields.iter().for_each(|(_, part)| bound(part, into)),
        _ => {}
    }
}
