//! The allowed subset of Jinja, which bounds rendering. No tag binds a computed value, so a text cannot grow by repetition.
//! Tags and blocks are small, so the engine's recursive parser never gets a deeply nested text.

use minijinja::machinery::ast::{CallArg, Expr, Stmt};
use minijinja::machinery::{Token, parse, parse_expr, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;

use super::Problem;

/// The maximum number of words and operators in a tag, without constants and commas.
const TAG_MAX: usize = 200;
/// The maximum nesting depth of `if`, `elif`, `for` and `block`.
const NESTED_MAX: usize = 32;
/// The maximum length of a quoted text in bytes.
const TEXT_MAX: usize = 1_000;
const RANGE_MAX: u64 = 1_000;
const CHAIN_MAX: usize = 8;
/// The maximum indent of `tojson` per level. The engine checks the output size only afterwards.
const INDENT_MAX: u64 = 8;
const FILTERS: &[&str] = &[
    "abs",
    "bool",
    "capitalize",
    "count",
    "d",
    "data",
    "default",
    "first",
    "float",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "max",
    "min",
    "reverse",
    "round",
    "safe",
    "sort",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
];
/// The filters that are allowed on the list of a loop.
pub(super) const LIST_FILTERS: &[&str] = &["items", "list", "reverse", "sort", "unique"];

/// Returns the constructs of a text that are not allowed. Lines are from 1.
pub(super) fn body(text: &str) -> Vec<Problem> {
    if let Err(problem) = scan(text, false) {
        return vec![problem];
    }
    let mut walk = Walk::default();
    // Syntax errors are reported when the text is compiled.
    if let Ok(Stmt::Template(template)) = parse(text, "body", SyntaxConfig::default()) {
        walk.statements(&template.children);
    }
    walk.problems
}

/// Checks a condition in the same way.
pub(super) fn condition(text: &str) -> Result<(), String> {
    scan(text, true).map_err(|problem| problem.message)?;
    let mut walk = Walk::default();
    if let Ok(expression) = parse_expr(text) {
        walk.expression(&expression);
    }
    walk.problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.message))
}

/// Checks the limits on tokens, before any recursion.
fn scan(text: &str, is_condition: bool) -> Result<(), Problem> {
    let (mut in_tag, mut is_first) = (0, false);
    // The nesting depth of each open block: each `elif` is inside the one before.
    let mut open: Vec<usize> = Vec::new();
    for token in tokenize(text, is_condition, SyntaxConfig::default()) {
        // The compiler reports this error.
        let Ok((token, span)) = token else { return Ok(()) };
        let refuse = |why: String| Err(refused(usize::from(span.start_line), &why));
        match &token {
            Token::TemplateData(_) => continue,
            Token::VariableStart | Token::BlockStart => {
                (in_tag, is_first) = (0, matches!(token, Token::BlockStart));
                continue;
            }
            Token::Str(text) if text.len() > TEXT_MAX => return refuse(long_text()),
            Token::String(text) if text.len() > TEXT_MAX => return refuse(long_text()),
            Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_) | Token::Comma => {}
            Token::Tilde => {
                return refuse(
                    "`~` is not supported: write the parts one after another, each in its own `{{ }}`".to_owned(),
                );
            }
            Token::Mul | Token::Pow => {
                return refuse(format!(
                    "{token} is not supported: give the product as an input, or write the text out"
                ));
            }
            Token::Ident(word) if is_first => match *word {
                "if" | "for" | "block" => open.push(1),
                "elif" => open.last_mut().into_iter().for_each(|depth| *depth += 1),
                "endif" | "endfor" | "endblock" => drop(open.pop()),
                "else" | "include" => {}
                word => return refuse(statement(word)),
            },
            _ => in_tag += 1,
        }
        is_first = false;
        if in_tag > TAG_MAX {
            return refuse(format!(
                "an expression has at most {TAG_MAX} words and operators: split it, or give its result as an input"
            ));
        }
        if open.iter().sum::<usize>() > NESTED_MAX {
            return refuse(format!("`if`, `elif`, `for` and `block` can be nested at most {NESTED_MAX} deep"));
        }
    }
    Ok(())
}

fn refused(line: usize, why: &str) -> Problem {
    Problem::at(line, format!("the template: {why}"))
}

fn long_text() -> String {
    format!("a text in quotes has at most {TEXT_MAX} bytes: write it outside of the braces, or give it as an input")
}

fn statement(word: &str) -> String {
    let word = project::visible(word);
    let instead = match word.as_str() {
        "set" | "with" => "write the expression where it is used, or give its value as an input",
        "macro" | "call" | "import" | "from" | "extends" => "put repeated text into a file, and `include` it",
        "filter" => "write the filter at the expression, such as {{ text | upper }}",
        _ => "there are `if`, `for`, `block`, `include` and `raw`",
    };
    format!("`{word}` is not supported: {instead}")
}

#[derive(Default)]
struct Walk {
    problems: Vec<Problem>,
}

impl Walk {
    fn refuse(&mut self, at: &Expr<'_>, why: &str) {
        self.problems.push(refused(usize::from(at.span().start_line), why));
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            match statement {
                Stmt::EmitExpr(emit) => self.expression(&emit.expr),
                Stmt::IfCond(branch) => {
                    self.expression(&branch.expr);
                    self.statements(&branch.true_body);
                    self.statements(&branch.false_body);
                }
                Stmt::ForLoop(each) => {
                    if each.recursive {
                        self.refuse(&each.iter, "`recursive` is not supported: write a `for` inside of the `for`");
                    }
                    self.list(&each.iter);
                    each.filter_expr.iter().for_each(|only| self.expression(only));
                    self.statements(&each.body);
                    self.statements(&each.else_body);
                }
                Stmt::Block(block) => self.statements(&block.body),
                // The scan admits nothing else, and `include` is checked separately.
                _ => {}
            }
        }
    }

    /// Checks the list of a loop.
    fn list(&mut self, list: &Expr<'_>) {
        let mut at = list;
        while let Expr::Filter(filter) = at {
            match &filter.expr {
                Some(inner) if LIST_FILTERS.contains(&filter.name) => at = inner,
                _ => break,
            }
        }
        let is_range = matches!(at, Expr::Call(call) if matches!(&call.expr, Expr::Var(name) if name.id == "range"));
        if !is_range && !is_path(at) && constants(at).is_none() {
            let filters = LIST_FILTERS.join(", ");
            self.refuse(
                at,
                &format!("a `for` goes over an input or a part of one, with the filters {filters}, over a list of constants, or over range(N)"),
            );
        }
        self.expression(list);
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(slice) => {
                self.expression(&slice.expr);
                [&slice.start, &slice.stop, &slice.step].into_iter().flatten().for_each(|part| self.expression(part));
            }
            Expr::UnaryOp(of) => self.expression(&of.expr),
            Expr::BinOp(of) => {
                self.expression(&of.left);
                self.expression(&of.right);
            }
            Expr::Compare(of) => {
                self.expression(&of.expr);
                of.ops.iter().for_each(|with| self.expression(&with.expr));
            }
            Expr::IfExpr(of) => {
                self.expression(&of.test_expr);
                self.expression(&of.true_expr);
                of.false_expr.iter().for_each(|part| self.expression(part));
            }
            Expr::Filter(filter) => {
                if !FILTERS.contains(&filter.name) {
                    let name = project::visible(filter.name);
                    self.refuse(expression, &format!("unknown filter `{name}`; available: {}", FILTERS.join(", ")));
                }
                if chain(expression) == CHAIN_MAX + 1 {
                    self.refuse(expression, &format!("at most {CHAIN_MAX} filters can be chained"));
                }
                self.arguments(expression, filter.name, &filter.args);
                filter.expr.iter().for_each(|inner| self.expression(inner));
            }
            Expr::Test(test) => {
                self.expression(&test.expr);
                for argument in &test.args {
                    match argument {
                        CallArg::Pos(value) => self.expression(value),
                        _ => self.refuse(expression, "a test takes plain arguments, such as `is eq(1)`"),
                    }
                }
            }
            Expr::GetAttr(of) => self.expression(&of.expr),
            Expr::GetItem(of) => {
                self.expression(&of.expr);
                self.expression(&of.subscript_expr);
            }
            Expr::Call(call) => {
                if !matches!(&call.expr, Expr::Var(name) if name.id == "range") {
                    return self.refuse(
                        expression,
                        "only range(N) is called: write a filter, such as {{ list | length }}, or give the value as an input",
                    );
                }
                let numbers: Vec<Option<u64>> = call.args.iter().map(number).collect();
                if numbers.len() > 2 || numbers.iter().any(|number| number.is_none_or(|number| number > RANGE_MAX)) {
                    self.refuse(expression, &format!("range takes one or two whole numbers of at most {RANGE_MAX}"));
                }
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => {
                if constants(expression).is_none() {
                    self.refuse(
                        expression,
                        "a list or map in a template can contain only constants: give computed ones as an input",
                    );
                }
            }
        }
    }

    /// Checks that a filter inserts only short constants.
    fn arguments(&mut self, at: &Expr<'_>, filter: &str, arguments: &[CallArg<'_>]) {
        let is_default = matches!(filter, "default" | "d");
        for argument in arguments {
            let (CallArg::Pos(value) | CallArg::Kwarg(_, value)) = argument else {
                return self.refuse(at, "`*` is not supported: write each argument out");
            };
            if constants(value).is_none() && !(is_default && is_path(value)) {
                self.refuse(at, &format!("the filter `{filter}` takes constants, such as `join(\", \")`"));
            } else if filter == "tojson" && !is_indent(value) {
                self.refuse(
                    at,
                    &format!("`tojson` takes an indent of at most {INDENT_MAX}, such as `tojson(indent=2)`"),
                );
            }
        }
    }
}

/// Returns true if it is an input or a part of one.
fn is_path(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::Var(_) => true,
        Expr::GetAttr(of) => is_path(&of.expr),
        Expr::GetItem(of) => {
            is_path(&of.expr) && (is_path(&of.subscript_expr) || constants(&of.subscript_expr).is_some())
        }
        _ => false,
    }
}

/// Returns `Some` for a constant, or a flat list or map of constants.
fn constants(expression: &Expr<'_>) -> Option<()> {
    match expression {
        Expr::Const(_) => Some(()),
        Expr::UnaryOp(of) => matches!(of.expr, Expr::Const(_)).then_some(()),
        Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => expression.as_const().map(drop),
        _ => None,
    }
}

fn number(argument: &CallArg<'_>) -> Option<u64> {
    match argument {
        CallArg::Pos(Expr::Const(constant)) => u64::try_from(constant.value.clone()).ok(),
        _ => None,
    }
}

fn is_indent(argument: &Expr<'_>) -> bool {
    let Expr::Const(constant) = argument else { return false };
    let is_switch = constant.value.kind() == ValueKind::Bool;
    is_switch || u64::try_from(constant.value.clone()).is_ok_and(|indent| indent <= INDENT_MAX)
}

/// Returns the number of chained filters.
fn chain(expression: &Expr<'_>) -> usize {
    let (mut count, mut at) = (0, expression);
    while let Expr::Filter(filter) = at {
        count += 1;
        let Some(inner) = &filter.expr else { break };
        at = inner;
    }
    count
}
