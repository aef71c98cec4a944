//! A program as text. Parentheses stand only where precedence asks for them, so that precedence is part of the proof.

use super::templates;
use super::tree::*;

/// How strongly an operator binds, and whether it groups to the right.
fn power(operator: &str) -> (u8, bool) {
    match operator {
        "|>" => (1, false),
        "or" | "as" => (2, false),
        "and" => (3, false),
        "<" | ">" | "<=" | ">=" | "==" | "!=" => (5, false),
        "<*" => (7, false),
        "<$" => (8, false),
        "+" | "-" => (10, false),
        "++" | "<>" | "--" => (15, true),
        _ => (20, false),
    }
}

/// Above all operators: what stands behind a unary one.
const TIGHT: u8 = 30;

impl Program {
    /// The text.
    pub(crate) fn text(&self) -> String {
        let mut writer = Writer { program: self, outside: false };
        let mut text = String::new();
        match self.library {
            None => {
                text.push_str(&format!("module {} do\n", self.name));
                writer.types(&mut text);
                writer.functions(&mut text, 0..self.functions.len());
                writer.class(&mut text);
            }
            Some(count) => {
                text.push_str(&format!("module {}Lib do\n", self.name));
                writer.types(&mut text);
                writer.functions(&mut text, 0..count);
                writer.class(&mut text);
                text.push_str(&format!("end\n\nmodule {0} do\n  export [main/0]\n  import {0}Lib\n", self.name));
                writer.outside = true;
                writer.functions(&mut text, count..self.functions.len());
            }
        }
        if let Some(definition) = self.definition {
            text.push_str(&format!("  {definition}\n"));
        }
        writer.main(&mut text);
        text.push_str("end\n");
        text
    }

    pub(crate) fn type_text(&self, ty: &Type) -> String {
        let list = |types: &[Type]| types.iter().map(|ty| self.type_text(ty)).collect::<Vec<_>>().join(", ");
        match ty {
            Type::Int => "Int".to_owned(),
            Type::Float => "Float".to_owned(),
            Type::Bool => "Bool".to_owned(),
            Type::Text => "String".to_owned(),
            Type::Atom => "Atom".to_owned(),
            Type::Unit => "Unit".to_owned(),
            Type::Ordering => "Ordering".to_owned(),
            Type::List(of) => format!("List({})", self.type_text(of)),
            Type::Vector(of, length) => format!("Vector({}, {length})", self.type_text(of)),
            Type::Tuple(parts) => format!("{{{}}}", list(parts)),
            Type::Option(of) => format!("Option({})", self.type_text(of)),
            Type::Result(of, error) => format!("Result({}, {})", self.type_text(of), self.type_text(error)),
            Type::Named(data, args) if args.is_empty() => self.data[*data].name.clone(),
            Type::Named(data, args) => format!("{}({})", self.data[*data].name, list(args)),
            Type::Fn(params, result) => match &params[..] {
                [only] if !matches!(only, Type::Fn(..)) => {
                    format!("{} => {}", self.type_text(only), self.type_text(result))
                }
                _ => format!("fn({}) -> {}", list(params), self.type_text(result)),
            },
            Type::Refined(at) => REFINEMENTS[*at].name.to_owned(),
            Type::Param(name) => (*name).to_owned(),
        }
    }
}

struct Writer<'p> {
    program: &'p Program,
    /// Whether it is at the second of two modules, which may call into the first by full name.
    outside: bool,
}

impl Writer<'_> {
    fn types(&self, text: &mut String) {
        for refinement in REFINEMENTS {
            if let Some(definition) = refinement.definition {
                text.push_str(&format!("  type {} = {definition}\n", refinement.name));
            }
        }
        for data in &self.program.data {
            let params = if data.params.is_empty() { String::new() } else { format!("({})", data.params.join(", ")) };
            let derive = if data.derives { " derive Show, Eq, Ord" } else { "" };
            match &data.shape {
                Shape::Record(fields) => {
                    text.push_str(&format!("  record {}{params} do\n", data.name));
                    for (name, ty) in fields {
                        text.push_str(&format!("    {name}: {}\n", self.program.type_text(ty)));
                    }
                    text.push_str(&format!("  end{derive}\n"));
                }
                Shape::Sum(constructors) => {
                    let all = constructors.iter().map(|(name, fields)| {
                        let fields: Vec<_> = fields.iter().map(|ty| self.program.type_text(ty)).collect();
                        if fields.is_empty() { name.clone() } else { format!("{name}({})", fields.join(", ")) }
                    });
                    let all: Vec<_> = all.collect();
                    text.push_str(&format!("  type {}{params} = {}{derive}\n", data.name, all.join(" | ")));
                }
            }
        }
        for template in templates::ALL {
            if self.program.templates.contains(template.0) {
                text.push_str(template.1);
            }
        }
    }

    fn functions(&self, text: &mut String, which: std::ops::Range<usize>) {
        // Later ones first: the order of definitions has no meaning.
        for function in self.program.functions[which].iter().rev() {
            let params: Vec<_> =
                function.params.iter().map(|(name, ty)| format!("{name}: {}", self.program.type_text(ty))).collect();
            let wants = function.wants.map_or_else(String::new, |class| format!(" where {class}(T)"));
            let name = match function.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                true => function.name.clone(),
                false => format!("({})", function.name),
            };
            for (guard, body) in &function.clauses {
                let guard = guard.as_ref().map_or_else(String::new, |guard| format!(" when {}", self.expr(guard, 0)));
                let (result, body) = (self.program.type_text(&function.result), self.body(body, 4));
                let head = format!("  def {name}({}): {result}{guard}{wants}", params.join(", "));
                match function.in_block {
                    true => text.push_str(&format!("{head} do\n    {body}\n  end\n")),
                    false => text.push_str(&format!("{head} =\n    {body}\n")),
                }
            }
        }
    }

    fn class(&self, text: &mut String) {
        let Some(class) = &self.program.class else { return };
        let default = self.expr(&class.default, 0);
        if class.as_trait {
            text.push_str(&format!(
                "  trait Score {{\n    def score(x: Self): Int\n    def twice(x: Self): Int = {default}\n  }}\n"
            ));
        } else {
            text.push_str(&format!(
                "  typeclass Score(T) do\n    def score(x: T): Int\n    def twice(x: T): Int = {default}\n  end\n"
            ));
        }
        for instance in &class.instances {
            let of = self.program.type_text(&instance.of);
            let context = if matches!(instance.of, Type::List(_) | Type::Option(_)) { " when Score(T)" } else { "" };
            let score = self.expr(&instance.score, 0);
            let twice = instance
                .twice
                .as_ref()
                .map_or_else(String::new, |body| format!("    def twice(x: {of}): Int = {}\n", self.expr(body, 0)));
            let (open, close) = match class.as_trait {
                true => (format!("impl Score for {of} {{"), "}"),
                false => (format!("instance Score({of}){context} do"), "end"),
            };
            text.push_str(&format!("  {open}\n    def score(x: {of}): Int = {score}\n{twice}  {close}\n"));
        }
    }

    fn main(&self, text: &mut String) {
        text.push_str("  def main(): Any =\n");
        for print in &self.program.prints {
            text.push_str(&format!("    let _ = Std.Io.println({})\n", self.expr(print, 0)));
        }
        let parts: Vec<_> = self.program.main.iter().map(|part| self.expr(part, 0)).collect();
        text.push_str(&format!("    {{{}}}\n", parts.join(",\n     ")));
    }

    /// A body: `let`s as statements of their own.
    fn body(&self, expr: &Expr, indent: usize) -> String {
        match expr {
            Expr::Let(bindings, body) => {
                let mut text = String::new();
                for (pattern, ty, value) in bindings {
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(": {}", self.program.type_text(ty)));
                    let value = self.expr(value, 0);
                    text.push_str(&format!("let {}{ty} = {value}\n{}", self.pattern(pattern), " ".repeat(indent)));
                }
                let rest = self.body(body, indent);
                // On a line of its own a sign or a parenthesis would continue the line above.
                match rest.starts_with(['-', '+', '(']) {
                    true => format!("{} in\n{}{rest}", text.trim_end(), " ".repeat(indent)),
                    false => text + &rest,
                }
            }
            _ => self.expr(expr, 0),
        }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        exprs.iter().map(|expr| self.expr(expr, 0)).collect::<Vec<_>>().join(", ")
    }

    /// An expression where everything weaker than `least` stands in parentheses.
    fn expr(&self, expr: &Expr, least: u8) -> String {
        let wrap = |text: String, wraps: bool| if wraps { format!("({text})") } else { text };
        match expr {
            Expr::Int(value) => {
                let text = value.to_string();
                wrap(text.clone(), least > TIGHT && text.starts_with('-'))
            }
            Expr::Float(value) => {
                let text = format!("{value:?}");
                let text = match text.split_once('e') {
                    Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
                    _ => text,
                };
                wrap(text.clone(), least > TIGHT && text.starts_with('-'))
            }
            Expr::Bool(value) => value.to_string(),
            Expr::Text(text) => format!("\"{}\"", escaped(text)),
            Expr::Atom(name) => format!(":{name}"),
            Expr::Unit => "()".to_owned(),
            Expr::Var(name) => name.clone(),
            Expr::Binary(operator, left, right) => self.binary(operator, left, right, least),
            Expr::Not(inner) => wrap(format!("not {}", self.expr(inner, TIGHT + 1)), least > TIGHT),
            Expr::Negate(inner) => wrap(format!("-{}", self.expr(inner, TIGHT + 1)), least > TIGHT),
            Expr::If(test, then, otherwise) => {
                let text =
                    format!("if {} then {} else {}", self.expr(test, 0), self.expr(then, 0), self.expr(otherwise, 0));
                wrap(text, least > 0)
            }
            Expr::Let(bindings, body) => {
                let mut text = String::new();
                for (pattern, ty, value) in bindings {
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(": {}", self.program.type_text(ty)));
                    text.push_str(&format!("let {}{ty} = {} in ", self.pattern(pattern), self.expr(value, 0)));
                }
                format!("({text}{})", self.expr(body, 0))
            }
            Expr::Match(scrutinee, clauses) => {
                let clauses: Vec<_> = clauses.iter().map(|clause| self.clause(clause)).collect();
                wrap(format!("match {} do {} end", self.expr(scrutinee, 0), clauses.join("\n      ")), least > TIGHT)
            }
            Expr::List(items, None) => format!("[{}]", self.list(items)),
            Expr::List(items, Some(rest)) => format!("[{} | {}]", self.list(items), self.expr(rest, 0)),
            Expr::Vector(items) => format!("‹{}›", self.list(items)),
            Expr::Tuple(parts) => format!("{{{}}}", self.list(parts)),
            Expr::Construct(name, fields, parens) => match (fields.is_empty(), parens) {
                (true, false) => name.clone(),
                _ => format!("{name}({})", self.list(fields)),
            },
            Expr::Record(data, fields) => {
                format!("{}{{{}}}", self.program.data[*data].name, self.fields(*data, fields))
            }
            Expr::Update(data, base, fields) => {
                let name = &self.program.data[*data].name;
                format!("{name}{{{} | {}}}", self.expr(base, TIGHT + 1), self.fields(*data, fields))
            }
            Expr::Field(data, at, base) => {
                let Shape::Record(fields) = &self.program.data[*data].shape else { panic!("only records have fields") };
                format!("{}.{}", self.expr(base, TIGHT + 1), fields[*at].0)
            }
            Expr::Call(function, _, args) => {
                let name = &self.program.functions[*function].name;
                match &args[..] {
                    [left, right] if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                        self.binary(name, left, right, least)
                    }
                    // Every third call from outside says where the function is.
                    _ => match self.program.library {
                        Some(count) if *function < count && function % 3 == 1 && self.outside => {
                            format!("{}Lib.{name}({})", self.program.name, self.list(args))
                        }
                        _ => format!("{name}({})", self.list(args)),
                    },
                }
            }
            Expr::Native(name, args) => format!("{name}({})", self.list(args)),
            Expr::Apply(function, args) => match &**function {
                Expr::Lambda(..) => format!("({})({})", self.expr(function, 0), self.list(args)),
                _ => format!("{}({})", self.expr(function, TIGHT + 1), self.list(args)),
            },
            Expr::Lambda(params, body) => {
                let params = params.iter().map(|(name, ty)| match ty {
                    Some(ty) => format!("{name}: {}", self.program.type_text(ty)),
                    None => name.clone(),
                });
                format!("fn({}) -> {} end", params.collect::<Vec<_>>().join(", "), self.body(body, 6))
            }
            Expr::FunctionValue(function) => self.program.functions[*function].name.clone(),
            Expr::Method(at, _, args) => format!("{}({})", ["score", "twice"][*at], self.list(args)),
            Expr::Show(_, inner) => format!("Std.Show.show({})", self.expr(inner, 0)),
            Expr::Equal(a, b) => format!("Std.Eq.eq({}, {})", self.expr(a, 0), self.expr(b, 0)),
            Expr::Compare(_, a, b) => format!("Std.Ord.compare({}, {})", self.expr(a, 0), self.expr(b, 0)),
            Expr::Interpolation(pieces) => {
                let pieces = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => escaped(text),
                    Piece::Value(_, inner) => format!("#{{{}}}", self.expr(inner, 0)),
                });
                format!("\"{}\"", pieces.collect::<String>())
            }
            Expr::Pipe(left, function, _) => {
                wrap(format!("{} |> {}", self.expr(left, 1), self.expr(function, 2)), least > 1)
            }
            Expr::As(inner, ty) => {
                wrap(format!("{} as {}", self.expr(inner, 3), self.program.type_text(ty)), least > 2)
            }
            Expr::Raw(text) => format!("({text})"),
        }
    }

    fn binary(&self, operator: &str, left: &Expr, right: &Expr, least: u8) -> String {
        let (power, to_the_right) = power(operator);
        let (on_left, on_right) = if to_the_right { (power + 1, power) } else { (power, power + 1) };
        let text = format!("{} {operator} {}", self.expr(left, on_left), self.expr(right, on_right));
        if power < least { format!("({text})") } else { text }
    }

    fn fields(&self, data: usize, fields: &[(usize, Expr)]) -> String {
        let Shape::Record(names) = &self.program.data[data].shape else { panic!("only records have fields") };
        let fields = fields.iter().map(|(at, value)| format!("{}: {}", names[*at].0, self.expr(value, 0)));
        fields.collect::<Vec<_>>().join(", ")
    }

    fn clause(&self, clause: &Clause) -> String {
        let guard = clause.guard.as_ref().map_or_else(String::new, |guard| format!(" when {}", self.expr(guard, 0)));
        format!("{}{guard} -> {}", self.pattern(&clause.pattern), self.expr(&clause.body, 0))
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        let list = |patterns: &[Pattern]| patterns.iter().map(|one| self.pattern(one)).collect::<Vec<_>>().join(", ");
        match pattern {
            Pattern::Any => "_".to_owned(),
            Pattern::Var(name) => name.clone(),
            Pattern::Int(value) => value.to_string(),
            Pattern::Bool(value) => value.to_string(),
            Pattern::Text(text) => format!("\"{}\"", escaped(text)),
            Pattern::Atom(name) => format!(":{name}"),
            Pattern::List(heads, None) => format!("[{}]", list(heads)),
            Pattern::List(heads, Some(rest)) => format!("[{} | {}]", list(heads), self.pattern(rest)),
            Pattern::Tuple(parts) => format!("{{{}}}", list(parts)),
            Pattern::Construct(name, fields, parens) => match (fields.is_empty(), parens) {
                (true, false) => name.clone(),
                _ => format!("{name}({})", list(fields)),
            },
            Pattern::Record(data, fields) => {
                let data = &self.program.data[*data];
                let Shape::Record(names) = &data.shape else { panic!("only records have fields") };
                let fields = fields.iter().map(|(at, one)| format!("{}: {}", names[*at].0, self.pattern(one)));
                format!("{}{{{}}}", data.name, fields.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
