//! Prints expressions and patterns.

use num_bigint::BigInt;

use super::{WRONG, Writer};
use crate::generator::tree::*;

/// The methods of the program's classes.
const METHODS: [&str; 4] = ["score", "twice", "base", "step"];

/// The precedence of an operator, and whether it associates to the right.
fn power(operator: &str) -> (u8, bool) {
    match operator {
        "|>" | "|->" | ">>=" | ">>" => (1, false),
        "or" | "as" => (2, false),
        "and" => (3, false),
        "<" | ">" | "<=" | ">=" | "==" | "!=" => (5, false),
        "<*" | "*>" | "<*>" => (7, false),
        "<$" | "$>" => (8, false),
        "+" | "-" => (10, false),
        "++" | "<>" | "--" => (15, true),
        _ => (20, false),
    }
}

/// Above all operators: the operand of a unary one.
const TIGHT: u8 = 30;

impl Writer<'_> {
    /// A body: `let`s become statements.
    pub(super) fn body(&self, expr: &Expr, indent: usize) -> String {
        match expr {
            Expr::Let(bindings, body) => {
                let mut text = String::new();
                let mut ends = " in";
                for (pattern, ty, value) in bindings {
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(": {}", self.ty(ty)));
                    let value = self.expr(value, 0);
                    let bare = matches!(pattern, Pattern::Any) && ty.is_empty() && !value.starts_with(['-', '+', '(']);
                    if bare && self.chance(50) {
                        self.note("values that nobody uses");
                        text.push_str(&format!("{value}\n{}", " ".repeat(indent)));
                        ends = ",";
                        continue;
                    }
                    ends = " in";
                    text.push_str(&format!("let {}{ty} = {value}\n{}", self.pattern(pattern), " ".repeat(indent)));
                }
                let rest = self.body(body, indent);
                // At the start of a line, a sign or a parenthesis would continue the line above.
                if rest.starts_with(['-', '+', '(']) {
                    format!("{}{ends}\n{}{rest}", text.trim_end(), " ".repeat(indent))
                } else {
                    text + &rest
                }
            }
            _ => self.expr(expr, 0),
        }
    }

    fn list(&self, exprs: &[Expr]) -> String {
        let between = if self.chance(5) { ",\n      " } else { ", " };
        exprs.iter().map(|expr| self.expr(expr, 0)).collect::<Vec<_>>().join(between)
    }

    fn number(&self, value: &BigInt) -> String {
        let sign = if *value < BigInt::ZERO { "-" } else { "" };
        let digits = value.magnitude().to_string();
        match self.below(20) {
            0 => {
                self.note("numbers to the base of sixteen");
                format!("{sign}0x{:X}", value.magnitude())
            }
            1 if digits.len() > 3 => {
                self.note("numbers with `_`");
                let (front, back) = digits.split_at(digits.len() - 3);
                format!("{sign}{front}_{back}")
            }
            _ => format!("{sign}{digits}"),
        }
    }

    /// A list of characters, occasionally as `‘text’`.
    fn characters(&self, codes: &[BigInt]) -> Option<String> {
        let character =
            |code: &BigInt| u32::try_from(code).ok().and_then(char::from_u32).filter(|c| *c >= ' ' && *c != '’');
        let text: String = codes.iter().map(character).collect::<Option<_>>()?;
        if text.is_empty() || self.chance(50) {
            return None;
        }
        self.note("character lists");
        Some(format!("‘{text}’"))
    }

    /// The text between quotes, with its line breaks or on one line.
    fn text(&self, text: &str) -> String {
        let text = escaped(text);
        if self.ragged || !text.contains("\\n") || self.chance(70) {
            return text;
        }
        self.note("texts of several lines");
        text.replace("\\n", "\n")
    }

    fn atom(&self, name: &str) -> String {
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !self.chance(5) {
            return format!(":{name}");
        }
        self.note("atoms in quotes");
        format!("'{name}'")
    }

    /// A constructor; outside its module occasionally by its full name.
    fn constructor(&self, name: &str) -> String {
        if self.outside && name.starts_with("Ctor") && self.chance(20) {
            self.note("constructors of another module");
            return format!("{}.{name}", self.program.library_name());
        }
        name.to_owned()
    }

    /// An expression in which everything weaker than `least` is in parentheses.
    pub(super) fn expr(&self, expr: &Expr, least: u8) -> String {
        let wrap = |text: String, wraps: bool| if wraps { format!("({text})") } else { text };
        match expr {
            Expr::Int(value) => wrap(self.number(value), least > TIGHT && *value < BigInt::ZERO),
            Expr::Float(value) => wrap(float(*value), least > TIGHT && value.is_sign_negative()),
            Expr::Bool(value) => value.to_string(),
            Expr::Text(text) => format!("\"{}\"", self.text(text)),
            Expr::Atom(name) => self.atom(name),
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
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(": {}", self.ty(ty)));
                    text.push_str(&format!("let {}{ty} = {} in ", self.pattern(pattern), self.expr(value, 0)));
                }
                format!("({text}{})", self.expr(body, 0))
            }
            Expr::Match(scrutinee, clauses) => {
                let scrutinee = self.expr(scrutinee, 0);
                let clauses: Vec<_> = clauses.iter().map(|clause| self.clause(clause)).collect();
                wrap(format!("match {scrutinee} do {} end", clauses.join("\n      ")), least > TIGHT)
            }
            Expr::List(items, None) => {
                let code = |item: &Expr| if let Expr::Int(code) = item { Some(code.clone()) } else { None };
                let codes = items.iter().map(code).collect::<Option<Vec<_>>>();
                codes.and_then(|codes| self.characters(&codes)).unwrap_or_else(|| format!("[{}]", self.list(items)))
            }
            Expr::List(items, Some(rest)) => {
                // After a type, a bar would continue the type.
                let items: Vec<_> = items.iter().map(|item| self.expr(item, 3)).collect();
                format!("[{} | {}]", items.join(", "), self.expr(rest, 0))
            }
            Expr::Vector(items) => format!("‹{}›", self.list(items)),
            Expr::Tuple(parts) => format!("{{{}}}", self.list(parts)),
            Expr::Construct(name, fields, parens) => match (fields.is_empty(), parens) {
                (true, false) => self.constructor(name),
                _ => format!("{}({})", self.constructor(name), self.list(fields)),
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
                    // Every third call from outside qualifies the function.
                    _ => match self.program.library {
                        Some(count) if *function < count && function % 3 == 1 && self.outside => {
                            format!("{}.{name}({})", self.program.library_name(), self.list(args))
                        }
                        _ => format!("{name}({})", self.list(args)),
                    },
                }
            }
            Expr::Native(name, args) => format!("{}({})", self.library(name, args.len()), self.list(args)),
            Expr::Apply(function, args) => match &**function {
                Expr::Lambda(..) | Expr::Taking(..) => format!("({})({})", self.expr(function, 0), self.list(args)),
                _ => format!("{}({})", self.expr(function, TIGHT + 1), self.list(args)),
            },
            Expr::Taking(params, body) => {
                let params = params.iter().map(|(pattern, ty)| {
                    let ty = ty.as_ref().map_or_else(String::new, |ty| format!(": {}", self.ty(ty)));
                    format!("{}{ty}", self.pattern(pattern))
                });
                format!("fn({}) -> {} end", params.collect::<Vec<_>>().join(", "), self.expr(body, 0))
            }
            Expr::Lambda(params, body) => {
                let params = params.iter().map(|(name, ty)| match ty {
                    Some(ty) => format!("{name}: {}", self.ty(ty)),
                    None => name.clone(),
                });
                format!("fn({}) -> {} end", params.collect::<Vec<_>>().join(", "), self.body(body, 6))
            }
            Expr::FunctionValue(function) => self.program.functions[*function].name.clone(),
            Expr::Method(at, _, args) => format!("{}({})", METHODS[*at], self.list(args)),
            Expr::Show(_, inner) => format!("{}({})", self.library("Std.Show.show", 1), self.expr(inner, 0)),
            Expr::ConstructorValue(name) => self.constructor(name),
            Expr::MethodValue(at, _) => METHODS[*at].to_owned(),
            Expr::ShowValue(_) => self.library("Std.Show.show", 1),
            Expr::Contained(name, _, args) => {
                let name = match *name {
                    "fmap" => self.library("Std.Typeclasses.fmap", 2),
                    "bind" => self.library("Std.Typeclasses.bind", 2),
                    "pure" => self.library("Std.Typeclasses.pure", 1),
                    own => own.to_owned(),
                };
                format!("{name}({})", self.list(args))
            }
            Expr::Lift(at, _, arg) => {
                let containers = self.program.containers.as_ref().expect("there are functions over containers");
                format!("{}({})", containers.lifts[*at].0, self.expr(arg, 0))
            }
            Expr::Natural(name, args) if args.is_empty() => (*name).to_owned(),
            Expr::Natural(name, args) => format!("{name}({})", self.list(args)),
            Expr::Machine(at, name, args) => {
                format!("{}_{name}({})", self.program.machines[*at].name, self.list(args))
            }
            Expr::Equal(a, b) => format!("Std.Eq.eq({}, {})", self.expr(a, 0), self.expr(b, 0)),
            Expr::Compare(_, a, b) => format!("Std.Ord.compare({}, {})", self.expr(a, 0), self.expr(b, 0)),
            Expr::Interpolation(pieces) => {
                let pieces = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => self.text(text),
                    Piece::Value(_, inner) => format!("#{{{}}}", self.expr(inner, 0)),
                });
                format!("\"{}\"", pieces.collect::<String>())
            }
            Expr::Pipe(left, function, _) => {
                wrap(format!("{} |> {}", self.expr(left, 1), self.expr(function, 2)), least > 1)
            }
            Expr::Piped(call) => {
                let (first, rest) = match &**call {
                    Expr::Call(function, types, args) => {
                        (&args[0], Expr::Call(*function, types.clone(), args[1..].to_vec()))
                    }
                    other => panic!("{other:?} is no call"),
                };
                wrap(format!("{} |> {}", self.expr(first, 1), self.expr(&rest, 2)), least > 1)
            }
            Expr::As(inner, ty) => wrap(format!("{} as {}", self.expr(inner, 3), self.ty(ty)), least > 2),
            Expr::Raw(text) => format!("({text})"),
            Expr::Wrong(wrong) => {
                self.note(WRONG);
                self.expr(wrong, least)
            }
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
        let pattern = self.pattern(&clause.pattern);
        if self.chance(30) {
            return format!("{pattern}{guard} ->\n        {}", self.body(&clause.body, 8));
        }
        format!("{pattern}{guard} -> {}", self.expr(&clause.body, 0))
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        let list = |patterns: &[Pattern]| patterns.iter().map(|one| self.pattern(one)).collect::<Vec<_>>().join(", ");
        match pattern {
            Pattern::Any => "_".to_owned(),
            Pattern::Var(name) => name.clone(),
            Pattern::Int(value) => self.number(value),
            Pattern::Float(value) => float(*value),
            Pattern::Unit => "()".to_owned(),
            Pattern::Bool(value) => value.to_string(),
            Pattern::Text(text) => format!("\"{}\"", escaped(text)),
            Pattern::Atom(name) => self.atom(name),
            Pattern::List(heads, None) => {
                let code = |head: &Pattern| if let Pattern::Int(code) = head { Some(code.clone()) } else { None };
                let codes = heads.iter().map(code).collect::<Option<Vec<_>>>();
                codes.and_then(|codes| self.characters(&codes)).unwrap_or_else(|| format!("[{}]", list(heads)))
            }
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

fn float(value: f64) -> String {
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
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
