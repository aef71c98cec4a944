//! Checks the paths that a template reads, such as `{{ a.b }}`. A path that no input can have is an error, because a call would
//! always fail there. A path that a call may omit gets a note, because only such calls fail.
//! [`template`](super::template) finds names that are not inputs at all.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::syntax::SyntaxConfig;
use serde_json::{Map, Value};

use super::Problem;
use super::impossible_parts::{Step, item, step, word};
use super::subset::LIST_FILTERS;

/// The problems of the paths that a template reads. Lines are from 1.
#[derive(Default)]
pub(super) struct PathProblems {
    /// Paths that no input has.
    pub impossible: Vec<Problem>,
    /// Paths that a call may omit, without a surrounding condition that checks for them.
    pub absent: Vec<Problem>,
}

/// Checks a text. `defaults` has the inputs that have a value if a call gives none.
pub(super) fn read(text: &str, input: &Value, defaults: &Map<String, Value>) -> PathProblems {
    let mut reads = Reads { input, defaults, bound: Vec::new(), looked_at: Vec::new(), read: PathProblems::default() };
    if let Ok(Stmt::Template(template)) = parse(text, "body", SyntaxConfig::default()) {
        reads.statements(&template.children);
    }
    reads.read
}

struct Reads<'a> {
    input: &'a Value,
    defaults: &'a Map<String, Value>,
    /// The loop variables, the innermost last, each with its schema if known.
    bound: Vec<(&'a str, Option<&'a Value>)>,
    /// The paths in surrounding conditions, which may have checked for the presence of a value.
    looked_at: Vec<String>,
    read: PathProblems,
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
                    self.check_conditional([&branch.expr], |reads| {
                        reads.statements(&branch.true_body);
                        reads.statements(&branch.false_body);
                    });
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
                    self.check_conditional(&each.filter_expr, |reads| reads.statements(&each.body));
                    self.bound.truncate(outside);
                    self.statements(&each.else_body);
                }
                Stmt::Block(block) => self.statements(&block.body),
                // No other statement of the subset contains an expression.
                _ => {}
            }
        }
    }

    /// Binds the variables of `for key, value in …`.
    fn bind_parts(&mut self, target: &Expr<'a>) {
        match target {
            Expr::Var(name) => self.bound.push((name.id, None)),
            Expr::List(list) => list.items.iter().for_each(|part| self.bind_parts(part)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|part| self.bind_parts(part)),
            _ => {}
        }
    }

    /// Returns the schema of the loop variable of a loop over this list.
    fn item(&mut self, list: &Expr<'a>) -> Option<&'a Value> {
        self.schema(list);
        let mut at = list;
        while let Expr::Filter(filter) = at {
            match &filter.expr {
                // `items` yields pairs.
                Some(inner) if LIST_FILTERS.contains(&filter.name) && filter.name != "items" => at = inner,
                _ => return None,
            }
        }
        // The paths inside were checked already.
        let known = (self.read.impossible.len(), self.read.absent.len());
        let list = self.schema(at);
        self.read.impossible.truncate(known.0);
        self.read.absent.truncate(known.1);
        list.and_then(|list| of_list(list, None))
    }

    /// Returns the schema of an expression, if known, and checks the paths in it.
    fn schema(&mut self, expression: &Expr<'a>) -> Option<&'a Value> {
        match expression {
            Expr::Var(name) => match self.bound.iter().rev().find(|(bound, _)| *bound == name.id) {
                Some((_, schema)) => *schema,
                None => self.input["properties"].get(name.id),
            },
            Expr::GetAttr(of) => {
                let schema = self.schema(&of.expr)?;
                self.part(schema, of.name, (&of.expr, expression))
            }
            Expr::GetItem(of) => {
                let schema = self.schema(&of.expr);
                self.schema(&of.subscript_expr);
                match &of.subscript_expr {
                    Expr::Const(name) => match name.value.as_str() {
                        Some(name) => self.part(schema?, name, (&of.expr, expression)),
                        // An index from the end may refer to any item.
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
            Expr::BinOp(of) if matches!(of.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
                self.schema(&of.left);
                self.check_conditional([&of.left], |reads| reads.all([Some(&of.right)]))
            }
            Expr::BinOp(of) => self.all([Some(&of.left), Some(&of.right)]),
            Expr::Compare(of) => {
                self.schema(&of.expr);
                self.all(of.ops.iter().map(|with| Some(&with.expr)))
            }
            Expr::IfExpr(of) => {
                self.schema(&of.test_expr);
                self.check_conditional([&of.test_expr], |reads| {
                    reads.all([Some(&of.true_expr), of.false_expr.as_ref()])
                })
            }
            Expr::Filter(filter) => {
                // A missing value gets the default.
                let itself = filter.expr.iter().filter(|_| matches!(filter.name, "default" | "d"));
                self.check_conditional(itself, |reads| reads.all([filter.expr.as_ref()]));
                self.arguments(&filter.args)
            }
            Expr::Test(test) => {
                let itself = Some(&test.expr).filter(|_| matches!(test.name, "defined" | "undefined"));
                self.check_conditional(itself, |reads| reads.all([Some(&test.expr)]));
                self.arguments(&test.args)
            }
            // Only `range` is called, and lists and maps contain only constants.
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

    /// Checks expressions behind a condition.
    fn check_conditional<'e, T>(
        &mut self,
        looks: impl IntoIterator<Item = &'e Expr<'a>>,
        at: impl FnOnce(&mut Self) -> T,
    ) -> T
    where
        'a: 'e,
    {
        let outside = self.looked_at.len();
        looks.into_iter().for_each(|look| paths(look, &mut self.looked_at));
        let seen = at(self);
        self.looked_at.truncate(outside);
        seen
    }

    /// Adds a note if a call may omit the part or the value that contains it.
    fn note_absent(&mut self, schema: &Value, name: &str, (whole, at): (&Expr<'a>, &Expr<'a>)) {
        let is_required = |of: &Value, name: &str| {
            of["required"].as_array().is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
        };
        let (absent, look) = match whole {
            Expr::Var(input)
                if !self.bound.iter().any(|(bound, _)| *bound == input.id)
                    && !is_required(self.input, input.id)
                    && !self.defaults.contains_key(input.id) =>
            {
                (input.id.to_owned(), format!("{{% if {} %}}", input.id))
            }
            _ if schema["type"] == "object" && !is_required(schema, name) => {
                (path(at), format!("{{% if {} is defined %}}", path(at)))
            }
            _ => return,
        };
        let is_it =
            |seen: &String| seen.strip_prefix(&absent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if self.looked_at.iter().any(is_it) {
            return;
        }
        let line = usize::from(at.span().start_line);
        let read = if absent == path(at) { String::new() } else { format!("`{}`, and ", path(at)) };
        let message = format!(
            "the template reads {read}`{absent}`, which a call may leave out; rendering would then fail: put it \
             between `{look}` and `{{% endif %}}`"
        );
        self.read.absent.push(Problem::at(line, message));
    }

    /// Returns the schema of a property. Takes the expression of the value and the whole expression.
    fn part(&mut self, schema: &'a Value, name: &str, (whole, at): (&Expr<'a>, &Expr<'a>)) -> Option<&'a Value> {
        let why = match step(schema, name) {
            Step::To(part) => {
                self.note_absent(schema, name, (whole, at));
                return Some(part);
            }
            // Parts of lists are accessed by number.
            Step::Unknown if schema["type"] == "array" => {
                "its parent is a list: use an index, such as `[0]`, or a `for`".to_owned()
            }
            Step::Unknown => return None,
            Step::Nowhere => match schema["properties"].as_object() {
                Some(fields) if schema["type"] == "object" => {
                    match mcp::tool::nearest(name, fields.keys().map(String::as_str)) {
                        Some(near) => format!("`{name}` does not exist; did you mean `{near}`?"),
                        None => format!("`{name}` does not exist"),
                    }
                }
                _ => format!("{} has no parts", word(schema)),
            },
        };
        let line = usize::from(at.span().start_line);
        self.read.impossible.push(Problem::at(line, format!("the template reads `{}`, but {why}", path(at))));
        None
    }
}

/// Returns the schema of an item, if known.
fn of_list(list: &Value, index: Option<usize>) -> Option<&Value> {
    match item(list, index) {
        Step::To(item) if list["type"] == "array" => Some(item),
        _ => None,
    }
}

/// Collects all paths in an expression.
fn paths(expression: &Expr<'_>, found: &mut Vec<String>) {
    match expression {
        Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => found.push(path(expression)),
        Expr::UnaryOp(of) => paths(&of.expr, found),
        Expr::BinOp(of) => [&of.left, &of.right].into_iter().for_each(|side| paths(side, found)),
        Expr::Compare(of) => {
            paths(&of.expr, found);
            of.ops.iter().for_each(|with| paths(&with.expr, found));
        }
        Expr::Filter(filter) => filter.expr.iter().for_each(|of| paths(of, found)),
        Expr::Test(test) => paths(&test.expr, found),
        _ => {}
    }
}

/// Renders an expression as written, if it is a path.
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

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use crate::Node;

    fn check(body: &str, expected: Expect) {
        let input = "{ schema: { at?: { file: string, line?: integer }, of: { name?: string }, list(array): { a?: string }, \
                     kept?: { x: string } }, default: { kept: { x: a } } }";
        let head = format!("description: a\ninput: {input}\noutput: {{ schema: {{ a: string }} }}");
        let node = Node::parse("n", &format!("---\n{head}\n---\n{body}\n")).unwrap();
        let notes = node.lints.iter().filter(|note| !note.message.contains("never reads"));
        let notes: String = notes.map(|note| format!("{note}\n")).collect();
        expected.assert_eq(&notes);
        // The note is correct: a call that omits the value fails, and a call without a note succeeds.
        let least = json!({"of": {}, "list": [{}]});
        let rendered = node.render(&node.complete(least.as_object().unwrap().clone()).unwrap());
        assert_eq!(rendered.is_err(), !notes.is_empty(), "{body}: {rendered:?}");
    }

    #[test]
    fn unchecked_optional_paths_get_a_note() {
        check(
            "{{ at.file }}",
            expect![[r#"
            6: the template reads `at.file`, and `at`, which a call may leave out; rendering would then fail: put it between `{% if at %}` and `{% endif %}`
        "#]],
        );
        check(
            "\n{{ of.name }}",
            expect![[r#"
            7: the template reads `of.name`, which a call may leave out; rendering would then fail: put it between `{% if of.name is defined %}` and `{% endif %}`
        "#]],
        );
        check(
            "{% if at.line %}{{ at.line }}{% endif %}",
            expect![[r#"
            6: the template reads `at.line`, and `at`, which a call may leave out; rendering would then fail: put it between `{% if at %}` and `{% endif %}`
        "#]],
        );
        check(
            "{% for one in list %}{{ one.a | upper }}{% endfor %}",
            expect![[r#"
            6: the template reads `one.a`, which a call may leave out; rendering would then fail: put it between `{% if one.a is defined %}` and `{% endif %}`
        "#]],
        );
        check("{{ at }}{{ kept.x }}{% if at %}{{ at.file }}{% else %}{{ of }}{% endif %}", expect![[""]]);
        check("{{ at.file | default('-') }}{{ 1 if of.name is defined }}{{ at.file if at }}", expect![[""]]);
        check("{% if at and at.file == 'a' %}{{ at.file }}{% endif %}", expect![[""]]);
        check("{% for one in list if one.a is defined %}{{ one.a }}{% endfor %}", expect![[""]]);
    }
}
