//! Lowers expressions to steps or to the end of a block.

use std::collections::{BTreeSet, HashMap};

use super::Lowering;
use super::matching::Position;
use crate::diagnostic::Span;
use crate::ir::form::{Block, Call, End, Function, Literal, Operand, Operation, Step, Test, Value, Var};
use crate::ir::tree::{Branch, Dictionary, Hole, Shape, Tree, TreeKind, VarId};
use crate::syntax::ast::Name;

impl Lowering<'_> {
    /// A block that ends with the value of the tree.
    pub(super) fn tail(&mut self, tree: &Tree, mut steps: Vec<Step>, position: Position) -> Block {
        match &tree.kind {
            TreeKind::If(test, then, otherwise) => {
                let test = self.value(test, &mut steps);
                let then = Box::new(self.tail(then, Vec::new(), position));
                let otherwise = Box::new(self.tail(otherwise, Vec::new(), position));
                Block { steps, end: End::If { test: Test::IsTrue(test), then, otherwise } }
            }
            TreeKind::Match(scrutinee, branches) => self.match_block(scrutinee, branches, steps, position, tree.span),
            TreeKind::Block(lets, value) => {
                self.lower_lets(lets, &mut steps);
                self.tail(value, steps, position)
            }
            _ if position == Position::Tail => match self.call(tree, &mut steps) {
                Some(call) => Block { steps, end: End::Tail(call, tree.span) },
                None => {
                    let value = self.value(tree, &mut steps);
                    Block { steps, end: End::Return(value) }
                }
            },
            _ => {
                let value = self.value(tree, &mut steps);
                Block { steps, end: End::Return(value) }
            }
        }
    }

    fn lower_lets(&mut self, lets: &[(Shape, Tree)], steps: &mut Vec<Step>) {
        for (shape, value) in lets {
            let value = self.value(value, steps);
            self.let_shape(shape, value, steps);
        }
    }

    fn values(&mut self, trees: &[Tree], steps: &mut Vec<Step>) -> Vec<Operand> {
        trees.iter().map(|tree| self.value(tree, steps)).collect()
    }

    fn step(&mut self, value: Value, span: Span, steps: &mut Vec<Step>) -> Operand {
        let var = self.fresh();
        steps.push(Step { var, value, span });
        Operand::Var(var)
    }

    /// Lowers a call, if the tree is one, with its arguments computed.
    fn call(&mut self, tree: &Tree, steps: &mut Vec<Step>) -> Option<Call> {
        Some(match &tree.kind {
            TreeKind::Local(function, args) => {
                let args = self.values(args, steps);
                Call::Local { function: function.clone(), args }
            }
            TreeKind::Remote(module, function, args) => {
                let args = self.values(args, steps);
                Call::Remote { module: module.clone(), function: function.clone(), args }
            }
            TreeKind::Apply(function, args) => {
                let function = self.value(function, steps);
                let args = self.values(args, steps);
                Call::Apply { function, args }
            }
            TreeKind::Method(hole, at, args) => {
                let function = self.method(*hole, *at, tree.span, steps);
                let args = self.values(args, steps);
                Call::Apply { function, args }
            }
            _ => return None,
        })
    }

    /// Computes the value of a tree, as steps before its use.
    pub(super) fn value(&mut self, tree: &Tree, steps: &mut Vec<Step>) -> Operand {
        let span = tree.span;
        let value = match &tree.kind {
            TreeKind::Literal(literal) => return Operand::Literal(literal.clone()),
            TreeKind::Var(var) => return self.env[var].clone(),
            TreeKind::Dict(hole) => return self.dictionary_of(*hole, span, steps),
            TreeKind::Local(..) | TreeKind::Remote(..) | TreeKind::Apply(..) | TreeKind::Method(..) => {
                let call = self.call(tree, steps).expect("these are calls");
                Value::Call(call)
            }
            TreeKind::MethodValue(hole, at) => return self.method(*hole, *at, span, steps),
            TreeKind::LocalValue(function, arity, dictionaries) if dictionaries.is_empty() => {
                Value::Closure { function: function.clone(), arity: *arity, captured: Vec::new() }
            }
            TreeKind::RemoteValue(module, function, arity, dictionaries) if dictionaries.is_empty() => {
                Value::External { module: module.clone(), function: function.clone(), arity: *arity }
            }
            TreeKind::LocalValue(_, arity, _) | TreeKind::RemoteValue(_, _, arity, _) => {
                let wrapped = self.wrapped(tree, *arity);
                return self.value(&wrapped, steps);
            }
            TreeKind::Lambda(params, body) => self.closure(params, body, span),
            TreeKind::Tuple(parts) => Value::Tuple(self.values(parts, steps)),
            TreeKind::List(elements, rest) => {
                let elements = self.values(elements, steps);
                let rest = match rest {
                    Some(rest) => self.value(rest, steps),
                    None => Operand::Literal(Literal::List(Vec::new())),
                };
                return self.cells(elements, rest, span, steps);
            }
            TreeKind::Operation(Operation::Join, args) => {
                let args = self.values(args, steps);
                Value::Operation(Operation::Join, args)
            }
            TreeKind::Operation(operation, args) => {
                let args = self.values(args, steps);
                Value::Operation(*operation, args)
            }
            TreeKind::Element(of, at) => Value::Element(self.value(of, steps), *at),
            TreeKind::SetElements(of, changes) => {
                let of = self.value(of, steps);
                let changes = changes.iter().map(|(at, tree)| (*at, self.value(tree, steps))).collect();
                Value::SetElements(of, changes)
            }
            TreeKind::Block(lets, value) => {
                self.lower_lets(lets, steps);
                return self.value(value, steps);
            }
            TreeKind::If(..) | TreeKind::Match(..) => {
                Value::Nested(Box::new(self.tail(tree, Vec::new(), Position::Nested)))
            }
        };
        self.step(value, span, steps)
    }

    fn cells(&mut self, elements: Vec<Operand>, rest: Operand, span: Span, steps: &mut Vec<Step>) -> Operand {
        let mut elements = elements;
        let mut rest = rest;
        // The constant tail of a list becomes one constant.
        if let Operand::Literal(Literal::List(items)) = &mut rest {
            let constant = elements.iter().rev().take_while(|one| matches!(one, Operand::Literal(_))).count();
            let ends = elements.split_off(elements.len() - constant);
            let mut all: Vec<Literal> = Vec::with_capacity(ends.len() + items.len());
            all.extend(ends.into_iter().filter_map(|one| match one {
                Operand::Literal(literal) => Some(literal),
                Operand::Var(_) => None,
            }));
            all.append(items);
            *items = all;
        }
        elements.into_iter().rev().fold(rest, |tail, head| self.step(Value::Cons(head, tail), span, steps))
    }

    /// `fn(x, …) -> f(dictionaries…, x, …) end`
    fn wrapped(&mut self, tree: &Tree, arity: u32) -> Tree {
        let span = tree.span;
        let params: Vec<VarId> = (0..arity).map(|at| self.next_var + at).collect();
        self.next_var += arity;
        let own = params.iter().map(|var| Tree { kind: TreeKind::Var(*var), span });
        let kind = match &tree.kind {
            TreeKind::LocalValue(function, _, dictionaries) => {
                TreeKind::Local(function.clone(), dictionaries.iter().cloned().chain(own).collect())
            }
            TreeKind::RemoteValue(module, function, _, dictionaries) => {
                let args = dictionaries.iter().cloned().chain(own).collect();
                TreeKind::Remote(module.clone(), function.clone(), args)
            }
            other => other.clone(),
        };
        Tree { kind: TreeKind::Lambda(params, Box::new(Tree { kind, span })), span }
    }

    /// Lifts a closure: its function takes its parameters, followed by the captured values.
    fn closure(&mut self, params: &[VarId], body: &Tree, span: Span) -> Value {
        let mut free = BTreeSet::new();
        self.free(body, &mut free);
        let mut env: HashMap<VarId, Operand> = HashMap::new();
        let mut captured: Vec<Var> = Vec::new();
        for (at, param) in params.iter().enumerate() {
            free.remove(param);
            env.insert(*param, Operand::Var(Var(at as u32)));
        }
        for var in free {
            match self.env.get(&var) {
                Some(Operand::Var(outer)) => {
                    let at = captured.iter().position(|known| known == outer).unwrap_or_else(|| {
                        captured.push(*outer);
                        captured.len() - 1
                    });
                    env.insert(var, Operand::Var(Var((params.len() + at) as u32)));
                }
                Some(constant) => {
                    env.insert(var, constant.clone());
                }
                // Bound inside the body itself.
                None => {}
            }
        }
        let arity = (params.len() + captured.len()) as u32;
        let name = Name::from(format!("{}${}", self.function, self.closures));
        self.closures += 1;
        let outer_env = std::mem::replace(&mut self.env, env);
        let outer_count = std::mem::replace(&mut self.variables, arity);
        let block = self.tail(body, Vec::new(), Position::Tail);
        self.env = outer_env;
        let variables = std::mem::replace(&mut self.variables, outer_count);
        self.lifted.push(Function {
            name: name.clone(),
            arity,
            captured: captured.len() as u32,
            variables,
            body: block,
            span,
        });
        Value::Closure { function: name, arity: params.len() as u32, captured }
    }

    /// The free variables of a tree: its own bindings are not in the environment yet.
    fn free(&self, tree: &Tree, free: &mut BTreeSet<VarId>) {
        let all = |trees: &[Tree], free: &mut BTreeSet<VarId>| trees.iter().for_each(|tree| self.free(tree, free));
        match &tree.kind {
            TreeKind::Literal(_) => {}
            TreeKind::Var(var) => {
                free.insert(*var);
            }
            TreeKind::Dict(hole) | TreeKind::MethodValue(hole, _) => self.free_in_dictionary(*hole, free),
            TreeKind::Method(hole, _, args) => {
                self.free_in_dictionary(*hole, free);
                all(args, free);
            }
            TreeKind::Local(_, args)
            | TreeKind::Remote(_, _, args)
            | TreeKind::LocalValue(_, _, args)
            | TreeKind::RemoteValue(_, _, _, args)
            | TreeKind::Tuple(args)
            | TreeKind::Operation(_, args) => all(args, free),
            TreeKind::Apply(function, args) => {
                self.free(function, free);
                all(args, free);
            }
            TreeKind::Lambda(_, body) => self.free(body, free),
            TreeKind::List(elements, rest) => {
                all(elements, free);
                rest.iter().for_each(|rest| self.free(rest, free));
            }
            TreeKind::Element(of, _) => self.free(of, free),
            TreeKind::SetElements(of, changes) => {
                self.free(of, free);
                changes.iter().for_each(|(_, tree)| self.free(tree, free));
            }
            TreeKind::If(test, then, otherwise) => {
                self.free(test, free);
                self.free(then, free);
                self.free(otherwise, free);
            }
            TreeKind::Block(lets, value) => {
                lets.iter().for_each(|(_, tree)| self.free(tree, free));
                self.free(value, free);
            }
            TreeKind::Match(scrutinee, branches) => {
                self.free(scrutinee, free);
                for Branch { guard, body, .. } in branches {
                    guard.iter().for_each(|guard| self.free(guard, free));
                    self.free(body, free);
                }
            }
        }
    }

    fn free_in_dictionary(&self, hole: Hole, free: &mut BTreeSet<VarId>) {
        fn walk(dictionary: &Dictionary, free: &mut BTreeSet<VarId>) {
            match dictionary {
                Dictionary::Param(var) => {
                    free.insert(*var);
                }
                Dictionary::Super(of, _) => walk(of, free),
                Dictionary::Instance { args, .. } => args.iter().for_each(|arg| walk(arg, free)),
            }
        }
        if let Some(Some(dictionary)) = self.dictionaries.get(hole.0 as usize) {
            walk(dictionary, free);
        }
    }

    fn method(&mut self, hole: Hole, at: u32, span: Span, steps: &mut Vec<Step>) -> Operand {
        let dictionary = self.dictionary_of(hole, span, steps);
        self.step(Value::Element(dictionary, at), span, steps)
    }

    fn dictionary_of(&mut self, hole: Hole, span: Span, steps: &mut Vec<Step>) -> Operand {
        match self.dictionaries.get(hole.0 as usize).cloned().flatten() {
            Some(dictionary) => self.dictionary(&dictionary, span, steps),
            // Only a program with errors can lack a dictionary, and such a program is never lowered.
            None => Operand::Literal(Literal::atom("undefined")),
        }
    }

    fn dictionary(&mut self, dictionary: &Dictionary, span: Span, steps: &mut Vec<Step>) -> Operand {
        match dictionary {
            Dictionary::Param(var) => self.env[var].clone(),
            Dictionary::Super(of, at) => {
                let of = self.dictionary(of, span, steps);
                self.step(Value::Element(of, *at), span, steps)
            }
            Dictionary::Instance { module, function, args } => {
                let args = args.iter().map(|arg| self.dictionary(arg, span, steps)).collect();
                let call = Call::Remote { module: module.clone(), function: function.clone(), args };
                self.step(Value::Call(call), span, steps)
            }
        }
    }
}
