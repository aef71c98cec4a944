//! What a template reads of its inputs that none of them can have: `{{ a.b }}` where `a` is a text. A call would always fail there.
//! Names that are no input at all are found by [`template`](super::template).

use minijinja::machinery::ast::{CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;
use serde_json::Value;

use super::Problem;
use super::places::{Step, item, step, word};
use super::subset::LIST_FILTERS;

/// Lines are from 1.
pub(super) fn impossible(text: &str, input: &Value) -> Vec<Problem> {
    let mut reads = Reads { input, bound: Vec::new(), problems: Vec::new() };
    if let Ok(Stmt::Template(template)) = parse(text, "body", SyntaxConfig::default()) {
        reads.statements(&template.children);
    }
    reads.problems
}

struct Reads<'a> {
    input: &'a Value,
    /// What loops bind, the innermost last, and its schema where that is known.
    bound: Vec<(&'a str, Option<&'a Value>)>,
    problems: Vec<Problem>,
}

impl<'a> Reads<'a> {
    fn statements(&mut self, statements: &[Stmt<'a>]) {
        for statement in statements {
            match statement {
                Stmt::EmitExpr(emit) => {
                    self.schema(&emit.expr);
                }
                Stmt::IfCond(branch) => {
                    self.schema(&branch.expr);
                    self.statements(&branch.true_body);
                    self.statements(&branch.false_body);
                }
                Stmt::ForLoop(each) => {
                    let item = self.item(&each.iter);
                    let outside = self.bound.len();
                    self.bound.push(("loop", None));
                    match &each.target {
                        Expr::Var(name) => self.bound.push((name.id, item)),
                        target => self.bind_parts(target),
                    }
                    self.all([each.filter_expr.as_ref()]);
                    self.statements(&each.body);
                    self.bound.truncate(outside);
                    self.statements(&each.else_body);
                }
                Stmt::Block(block) => self.statements(&block.body),
                // The subset has no other that holds an expression.
                _ => {}
            }
        }
    }

    /// `for key, value in …`.
    fn bind_parts(&mut self, target: &Expr<'a>) {
        match target {
            Expr::Var(name) => self.bound.push((name.id, None)),
            Expr::List(list) => list.items.iter().for_each(|part| self.bind_parts(part)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|part| self.bind_parts(part)),
            _ => {}
        }
    }

    /// The schema of what a loop over this binds.
    fn item(&mut self, list: &Expr<'a>) -> Option<&'a Value> {
        self.schema(list);
        let mut at = list;
        while let Expr::Filter(filter) = at {
            match &filter.expr {
                // `items` makes pairs.
                Some(inner) if LIST_FILTERS.contains(&filter.name) && filter.name != "items" => at = inner,
                _ => return None,
            }
        }
        // What it reads was looked at.
        let known = self.problems.len();
        let list = self.schema(at);
        self.problems.truncate(known);
        list.and_then(|list| of_list(list, None))
    }

    /// The schema of an expression, where it is known; what it reads is looked at on the way.
    fn schema(&mut self, expression: &Expr<'a>) -> Option<&'a Value> {
        match expression {
            Expr::Var(name) => match self.bound.iter().rev().find(|(bound, _)| *bound == name.id) {
                Some((_, schema)) => *schema,
                None => self.input["properties"].get(name.id),
            },
            Expr::GetAttr(of) => {
                let schema = self.schema(&of.expr)?;
                self.part(schema, of.name, expression)
            }
            Expr::GetItem(of) => {
                let schema = self.schema(&of.expr);
                self.schema(&of.subscript_expr);
                match &of.subscript_expr {
                    Expr::Const(name) => match name.value.as_str() {
                        Some(name) => self.part(schema?, name, expression),
                        // From the end it may be any.
                        None => of_list(schema?, name.value.as_usize()),
                    },
                    _ => None,
                }
            }
            Expr::Slice(slice) => {
                self.all([Some(&slice.expr), slice.start.as_ref(), slice.stop.as_ref(), slice.step.as_ref()]);
                None
            }
            Expr::UnaryOp(of) => self.all([Some(&of.expr)]),
            Expr::BinOp(of) => self.all([Some(&of.left), Some(&of.right)]),
            Expr::Compare(of) => {
                self.schema(&of.expr);
                self.all(of.ops.iter().map(|with| Some(&with.expr)))
            }
            Expr::IfExpr(of) => self.all([Some(&of.test_expr), Some(&of.true_expr), of.false_expr.as_ref()]),
            Expr::Filter(filter) => {
                self.all([filter.expr.as_ref()]);
                self.arguments(&filter.args)
            }
            Expr::Test(test) => {
                self.schema(&test.expr);
                self.arguments(&test.args)
            }
            // Calls are of `range`, and lists and maps are of constants.
            Expr::Const(_) | Expr::Call(_) | Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => None,
        }
    }

    fn all<'e>(&mut self, parts: impl IntoIterator<Item = Option<&'e Expr<'a>>>) -> Option<&'a Value>
    where
        'a: 'e,
    {
        for part in parts.into_iter().flatten() {
            self.schema(part);
        }
        None
    }

    fn arguments(&mut self, arguments: &[CallArg<'a>]) -> Option<&'a Value> {
        self.all(arguments.iter().map(|argument| match argument {
            CallArg::Pos(value) | CallArg::Kwarg(_, value) => Some(value),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => None,
        }))
    }

    /// A part of what has this schema.
    fn part(&mut self, schema: &'a Value, name: &str, at: &Expr<'a>) -> Option<&'a Value> {
        let why = match step(schema, name) {
            Step::To(part) => return Some(part),
            // Parts of lists have numbers.
            Step::Unknown if schema["type"] == "array" => {
                "that is of a list: name a part by its number, such as `[0]`, or use a `for`".to_owned()
            }
            Step::Unknown => return None,
            Step::Nowhere => match schema["properties"].as_object() {
                Some(fields) if schema["type"] == "object" => {
                    match mcp::tool::nearest(name, fields.keys().map(String::as_str)) {
                        Some(near) => format!("there is no `{name}`; did you mean `{near}`?"),
                        None => format!("there is no `{name}`"),
                    }
                }
                _ => format!("{} has no parts", word(schema)),
            },
        };
        let line = usize::from(at.span().start_line);
        self.problems.push(Problem::at(line, format!("the template reads `{}`, and {why}", path(at))));
        None
    }
}

/// The schema of an item, where it is known.
fn of_list(list: &Value, index: Option<usize>) -> Option<&Value> {
    match item(list, index) {
        Step::To(item) if list["type"] == "array" => Some(item),
        _ => None,
    }
}

/// An expression as it is written, where it is a path.
fn path(expression: &Expr<'_>) -> String {
    match expression {
        Expr::Var(name) => name.id.to_owned(),
        Expr::GetAttr(of) => format!("{}.{}", path(&of.expr), of.name),
        Expr::GetItem(of) => match &of.subscript_expr {
            Expr::Const(name) => match name.value.as_str() {
                Some(name) => format!("{}.{name}", path(&of.expr)),
                None => format!("{}[{}]", path(&of.expr), name.value),
            },
            other => format!("{}[{}]", path(&of.expr), path(other)),
        },
        _ => "…".to_owned(),
    }
}
