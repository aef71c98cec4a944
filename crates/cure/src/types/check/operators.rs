//! Checks operators: arithmetic, where divisors must be proved non-zero, short-circuit logic, comparisons, lists,
//! strings, pipes, and the operators that a program defines.

use num_traits::Zero;

use super::body::{Body, PIPED, Term, Val};
use super::exprs::tree;
use super::floats;
use super::prove::Proof;
use super::text_numbers::Word;
use crate::diagnostic::{Span, code};
use crate::ir::form::{Literal, Operation};
use crate::ir::tree::{Branch, Shape, TreeKind};
use crate::ir::ty::Ty;
use crate::solver::{Formula, Linear};
use crate::syntax::ast::{Expr, ExprKind, Name};
use crate::syntax::{SyntaxKind as K, balanced};

impl Body<'_> {
    pub(super) fn binary(&mut self, operator: K, at: Span, left: &Expr, right: &Expr, span: Span) -> Val {
        let symbol = operator.text().unwrap_or("?");
        if self.is_own_operator(operator) {
            let name = Name::from(symbol);
            return self.call_named(&name, &[left.clone(), right.clone()], None, at, span);
        }
        match operator {
            K::AndKw | K::OrKw => self.logic(operator, left, right, span),
            K::Plus | K::Minus | K::Star => self.arithmetic(operator, left, right, span),
            K::Slash | K::Percent => self.divide(operator, left, right, span),
            K::EqEq | K::NotEq | K::Lt | K::Gt | K::LtEq | K::GtEq => self.comparison(operator, left, right, span),
            K::LtGt => {
                let (left, right) = (self.check(left, &Ty::string()), self.check(right, &Ty::string()));
                let term = self.joined_words(&[&left.term, &right.term]);
                let parts = tree(TreeKind::List(vec![left.tree, right.tree], None), span);
                let kind = TreeKind::Operation(Operation::Join, vec![parts]);
                Val { tree: tree(kind, span), ty: Ty::string(), term }
            }
            K::PlusPlus | K::MinusMinus => self.joined(operator, left, right, None, span),
            K::PipeGt => self.pipe(left, right, span),
            K::PipeArrow => self.cast(left, right, span),
            _ => {
                let message = format!("the operator `{symbol}` is not defined");
                let hint = format!("define it: `def ({symbol})(a: Int, b: Int): Int = …`");
                self.error(code::UNKNOWN_NAME, at, message).hints.push(hint);
                self.infer(left);
                self.infer(right);
                self.wrong(span)
            }
        }
    }

    /// A long chain of an operator of the language, as a tree of little depth. What an operator of the program does may
    /// depend on the order.
    pub(super) fn chain(&mut self, operator: K, at: Span, operands: &[Expr]) -> Option<Expr> {
        if !self.is_own_operator(operator) {
            return Some(balanced(operator, at, operands));
        }
        let symbol = operator.text().unwrap_or("?");
        let message = format!("this chain of `{symbol}`, which the program defines, is too long");
        self.error(code::TOO_DEEP, at, message).hints.push("name the parts with `let`".to_owned());
        None
    }

    /// True if the program defines this operator. Keyword operators are not names: whatever functions are in scope, they
    /// evaluate the right side only when needed.
    pub(super) fn is_own_operator(&self, operator: K) -> bool {
        let word = matches!(operator, K::AndKw | K::OrKw);
        !word && operator.text().is_some_and(|symbol| self.scope.function(symbol, 2).is_some())
    }

    /// `and` and `or` evaluate the right side only when the left side does not decide; the solver follows this.
    fn logic(&mut self, operator: K, left: &Expr, right: &Expr, span: Span) -> Val {
        let first = self.check(left, &Ty::bool());
        let facts = self.facts.len();
        let known = self.truth(&first.term);
        self.facts.push(if operator == K::AndKw { known.clone() } else { known.clone().not() });
        let second = self.check(right, &Ty::bool());
        self.facts.truncate(facts);
        let term = self.binary_term(operator, &Term::Bool(known), &second.term);
        let constant = |text: &str| tree(TreeKind::Literal(Literal::atom(text)), span);
        let (test, second) = (Box::new(first.tree), second.tree);
        let kind = match operator {
            K::AndKw => TreeKind::If(test, Box::new(second), Box::new(constant("false"))),
            _ => TreeKind::If(test, Box::new(constant("true")), Box::new(second)),
        };
        Val { tree: tree(kind, span), ty: Ty::bool(), term }
    }

    /// Int or Float; anything else is an error.
    pub(super) fn numeric(&mut self, val: &Val, span: Span) -> Ty {
        let base = self.base(&val.ty);
        match &base {
            Ty::Meta(meta) => {
                // Without other evidence, the type is Int.
                self.bind_meta(*meta, Ty::int());
                Ty::int()
            }
            ty if ty.is_con("Int") || ty.is_con("Float") || matches!(ty, Ty::Wrong) => base,
            _ => {
                let message = format!("expected a number, found {}", self.show(&base));
                self.error(code::MISMATCH, span, message);
                Ty::Wrong
            }
        }
    }

    /// Both operands of an arithmetic operator, which have the same type.
    fn numbers(&mut self, left: &Expr, right: &Expr) -> (Val, Val, Ty) {
        let mut first = self.infer(left);
        let mut second = self.infer(right);
        if self.event.is_some() {
            (first, second) = (self.event_number(first), self.event_number(second));
        }
        // A side of unknown type has the other side's type.
        if matches!(self.base(&first.ty), Ty::Meta(_)) && !matches!(self.base(&second.ty), Ty::Meta(_)) {
            let base = self.numeric(&second, right.span);
            first = self.coerce(first, &base, left.span);
        }
        let base = self.numeric(&first, left.span);
        let other = self.base(&second.ty);
        if (base.is_con("Int") && other.is_con("Float")) || (base.is_con("Float") && other.is_con("Int")) {
            let (one, two) = (self.show(&base), self.show(&other));
            let message = format!("numbers of two types: the left side is {one}, the right side {two}");
            let hint = "write whole numbers with a fraction, `2.0`, or convert: `Std.Math.to_float(n)`".to_owned();
            self.error(code::MISMATCH, left.span.to(right.span), message).hints.push(hint);
            return (first, second, Ty::Wrong);
        }
        if !matches!(base, Ty::Wrong) {
            second = self.coerce(second, &base, right.span);
        }
        // A variable without a type has become a number, which the solver can follow.
        for (val, expr) in [(&mut first, left), (&mut second, right)] {
            if let (Term::Opaque, ExprKind::Name(_)) = (&val.term, &expr.kind) {
                val.term = self.infer(expr).term;
            }
        }
        (first, second, base)
    }

    fn arithmetic(&mut self, operator: K, left: &Expr, right: &Expr, span: Span) -> Val {
        let (first, second, base) = self.numbers(left, right);
        let operation = match operator {
            K::Plus => Operation::Add,
            K::Minus => Operation::Subtract,
            _ => Operation::Multiply,
        };
        let term = self.binary_term(operator, &first.term, &second.term);
        Val { tree: tree(TreeKind::Operation(operation, vec![first.tree, second.tree]), span), ty: base, term }
    }

    fn divide(&mut self, operator: K, left: &Expr, right: &Expr, span: Span) -> Val {
        let (first, second, base) = self.numbers(left, right);
        let float = base.is_con("Float");
        if float && operator == K::Percent {
            let hint = "both sides are whole numbers; `/` divides floats".to_owned();
            self.error(code::OPERATOR, span, "`%` works on Int only").hints.push(hint);
        }
        let zero = if float { floats::literal(0.0) } else { Term::Int(Linear::number(0)) };
        if !matches!(base, Ty::Wrong) {
            let goal = self.binary_term(K::NotEq, &second.term, &zero);
            let goal = self.truth(&goal);
            let what = |body: &Self| match &second.term {
                Term::Int(term) | Term::Float(term) if term.as_number().is_some_and(Zero::is_zero) => {
                    "this divides by zero".to_owned()
                }
                _ => format!("the divisor `{}` may be zero", right.span.text(body.checker.source)),
            };
            let (ty, zero) = if float { ("Float", "0.0") } else { ("Int", "0") };
            let hint = match &right.kind {
                ExprKind::Name(name) => format!(
                    "say it in the type `{{x: {ty} | x != {zero}}}`, in a guard `when {name} != {zero}`, or test it with `if`"
                ),
                _ => format!("name it with `let`, and test that name: `if d != {zero} then … / d else …`"),
            };
            // Of a zero there is nothing to test.
            let zero = matches!(&second.term, Term::Int(term) | Term::Float(term) if term.as_number().is_some_and(Zero::is_zero));
            let hint = if zero { None } else { Some(&*hint) };
            self.require(&goal, right.span, code::Pair(code::DIVISOR, code::DIVISOR), what, hint);
        }
        let operation = match (operator, float) {
            (_, true) => Operation::Divide,
            (K::Slash, false) => Operation::Quotient,
            _ => Operation::Remainder,
        };
        let term = self.binary_term(operator, &first.term, &second.term);
        Val { tree: tree(TreeKind::Operation(operation, vec![first.tree, second.tree]), span), ty: base, term }
    }

    fn comparison(&mut self, operator: K, left: &Expr, right: &Expr, span: Span) -> Val {
        let is_list = |expr: &Expr| matches!(expr.kind, ExprKind::List(..));
        if is_list(left) && !is_list(right) {
            // A list that is written may be a vector: the other side says so.
            let second = self.infer(right);
            let ty = self.widened(&self.base(&second.ty));
            let first = self.check(left, &ty);
            return self.compared(operator, [(first, left), (second, right)], span);
        }
        let mut first = self.infer(left);
        let second = match self.base(&first.ty) {
            Ty::Meta(_) => {
                let second = self.infer(right);
                let base = self.base(&second.ty);
                first = self.coerce(first, &base, left.span);
                second
            }
            base => {
                // Values are compared whatever else is known about them: lists of different lengths, too.
                let base = self.widened(&base);
                self.check(right, &base)
            }
        };
        self.compared(operator, [(first, left), (second, right)], span)
    }

    fn compared(&mut self, operator: K, sides: [(Val, &Expr); 2], span: Span) -> Val {
        let [(first, left), (second, right)] = sides;
        let exactly = self.never_float(&first.ty);
        let operation = match operator {
            K::EqEq if exactly => Operation::Identical,
            K::EqEq => Operation::Equal,
            K::NotEq if exactly => Operation::NotIdentical,
            K::NotEq => Operation::NotEqual,
            K::Lt => Operation::Less,
            K::LtEq => Operation::AtMost,
            K::Gt => Operation::Greater,
            _ => Operation::AtLeast,
        };
        if matches!(self.base(&first.ty), Ty::Fn(..)) {
            self.error(code::OPERATOR, span, "functions cannot be compared");
        }
        let (a, b) = (self.infer_name_term(&first, left), self.infer_name_term(&second, right));
        let term = match self.event_compared(operator, [&first, &second]) {
            Some(term) => term,
            None => self.binary_term(operator, &a, &b),
        };
        Val { tree: tree(TreeKind::Operation(operation, vec![first.tree, second.tree]), span), ty: Ty::bool(), term }
    }

    /// True if the form of the type excludes floats in its values.
    fn never_float(&self, ty: &Ty) -> bool {
        match self.base(ty) {
            Ty::Con(name, args) => args.is_empty() && matches!(&*name, "Int" | "Bool" | "Atom" | "String" | "Unit"),
            Ty::Seq(_, element, _) => self.never_float(&element),
            Ty::Tuple(parts) => parts.iter().all(|part| self.never_float(part)),
            _ => false,
        }
    }

    fn infer_name_term(&mut self, val: &Val, expr: &Expr) -> Term {
        match (&val.term, &expr.kind) {
            (Term::Opaque, ExprKind::Name(_)) => self.infer(expr).term,
            (term, _) => term.clone(),
        }
    }

    /// `x |> f`: if `x` is a Result, `f` is applied to the value in `Ok`, and `Error` is passed on.
    fn pipe(&mut self, left: &Expr, right: &Expr, span: Span) -> Val {
        let value = self.infer(left);
        let Ty::Con(name, args) = self.base(&value.ty) else { return self.piped(value, right, span) };
        if &*name != "Std.Core.Result" || args.len() != 2 {
            return self.piped(value, right, span);
        }
        // Facts about the value in `Ok` hold only if there is such a value.
        let (mark, facts) = (self.locals.len(), self.facts.len());
        let inner = self.bind(&Name::from(PIPED), &args[0], None);
        let local = Val { tree: tree(TreeKind::Var(inner), left.span), ty: args[0].clone(), term: Term::Opaque };
        let applied = self.piped(local, right, span);
        self.locals.truncate(mark);
        self.facts.truncate(facts);
        let error = self.fresh_var();
        let (ok, ty) = match self.base(&applied.ty) {
            Ty::Con(result, parts) if &*result == "Std.Core.Result" => {
                let outcome = self.subtype(&args[1], &parts[1], &Term::Opaque, span);
                self.explain(outcome, &args[1], &parts[1], span);
                (applied.tree, Ty::Con(result, parts))
            }
            _ => {
                let tag = tree(TreeKind::Literal(Literal::atom("ok")), span);
                let ty = Ty::Con(name.clone(), vec![applied.ty.clone(), args[1].clone()]);
                (tree(TreeKind::Tuple(vec![tag, applied.tree]), span), ty)
            }
        };
        let branches = vec![
            Branch { shape: Shape::Tagged(Name::from("ok"), vec![Shape::Bind(inner)]), guard: None, body: ok },
            Branch { shape: Shape::Bind(error), guard: None, body: tree(TreeKind::Var(error), span) },
        ];
        Val { tree: tree(TreeKind::Match(Box::new(value.tree), branches), span), ty, term: Term::Opaque }
    }

    /// `f(x)`, or `f(x, a)` for `x |> f(a)`, for a value that has already been computed.
    fn piped(&mut self, value: Val, right: &Expr, span: Span) -> Val {
        let mark = self.locals.len();
        let name = Name::from(format!("{PIPED} value"));
        let known = if matches!(value.term, Term::Opaque) { None } else { Some(value.term.clone()) };
        let var = self.bind(&name, &value.ty, known);
        let argument = Expr { kind: ExprKind::Name(name), span };
        let errors = self.errors.len();
        let called = match &right.kind {
            ExprKind::Call(callee, args) if self.takes(callee, args.len() + 1) => {
                let args: Vec<_> = std::iter::once(argument).chain(args.iter().cloned()).collect();
                self.call(callee, &args, None, right.span)
            }
            _ => self.call(right, std::slice::from_ref(&argument), None, span),
        };
        if let Some(error) = self.errors[errors..].iter_mut().find(|error| error.code == code::ARITY) {
            error.hints.push("what stands before `|>` is the first argument: `x |> f(a)` is `f(x, a)`".to_owned());
        }
        self.locals.truncate(mark);
        let kind = TreeKind::Block(vec![(Shape::Bind(var), value.tree)], Box::new(called.tree));
        Val { tree: tree(kind, span), ty: called.ty, term: called.term }
    }

    /// True if the callee takes this many arguments. False if it takes one less and returns a function, or is not a
    /// name.
    fn takes(&self, callee: &Expr, count: usize) -> bool {
        let gives =
            |ty: &Ty| matches!(self.base(ty), Ty::Fn(..) | Ty::Param(_) | Ty::Meta(_) | Ty::App(..) | Ty::Wrong);
        let named = |found: &[(usize, Option<Ty>)]| {
            let there = found.iter().any(|(takes, _)| *takes == count);
            let other = found.iter().find(|(takes, _)| takes + 1 == count);
            there || !other.is_some_and(|(_, result)| result.as_ref().is_some_and(gives))
        };
        match (&callee.kind, self.qualified(callee)) {
            (_, Some((module, function))) => named(&self.functions_of(&module, &function)),
            (ExprKind::Name(name), _) if self.local(name).is_none() => {
                let functions = self.scope.functions_named(name).iter();
                let functions = functions.map(|(takes, one)| (*takes as usize, Some(one.signature().result.clone())));
                let constructor = self.scope.constructor(name).map(|one| (one.fields.len(), None));
                named(&functions.chain(constructor).collect::<Vec<_>>())
            }
            _ => match self.type_of_place(callee) {
                Some(Ty::Fn(params, result)) => named(&[(params.len(), Some((*result).clone()))]),
                found => found.is_some(),
            },
        }
    }

    /// True if a value is a process or names one, as Erlang does: by an atom, by `{:global, name}` or
    /// `{:via, module, name}`, or by `{name, node}`.
    fn names_process(&mut self, ty: &Ty, term: &Term) -> bool {
        let parts = match ty {
            Ty::Any | Ty::Wrong => return true,
            Ty::Tuple(parts) => parts.iter().map(|part| self.base(part)).collect::<Vec<_>>(),
            other => return other.is_con("Atom"),
        };
        let begins_with = |body: &mut Self, name: &str| {
            let word = body.word(Word::Atom(Name::from(name)));
            match (term, word) {
                (Term::Tuple(terms), Term::Word(word)) => match terms.first() {
                    Some(Term::Word(first)) => matches!(body.prove(&Formula::eq(first, &word)), Proof::Holds),
                    _ => false,
                },
                _ => false,
            }
        };
        match &parts[..] {
            [first, second] if first.is_con("Atom") => second.is_con("Atom") || begins_with(self, "global"),
            [first, second, _] if first.is_con("Atom") && second.is_con("Atom") => begins_with(self, "via"),
            _ => false,
        }
    }

    /// `message |-> target` casts to a process by name or pid.
    fn cast(&mut self, left: &Expr, right: &Expr, span: Span) -> Val {
        let (message, target) = (self.infer(left), self.infer(right));
        let to = self.base(&target.ty);
        if !self.names_process(&to, &target.term) {
            let text = format!(
                "a message goes to a process: an atom that names it, or what started it; this is {}",
                self.show(&to)
            );
            let hint = "elsewhere it is `{:global, name}`, `{:via, :module, name}`, or `{:name, :node}`";
            self.error(code::MISMATCH, right.span, text).hints.push(hint.to_owned());
        }
        let remote = TreeKind::Remote(Name::from("gen_server"), Name::from("cast"), vec![target.tree, message.tree]);
        let unit = tree(TreeKind::Literal(Literal::atom("unit")), span);
        let kind = TreeKind::Block(vec![(Shape::Any, tree(remote, span))], Box::new(unit));
        Val { tree: tree(kind, span), ty: Ty::unit(), term: Term::Opaque }
    }
}
