//! Prints modules and their items, in any order.

use super::Writer;
use crate::generator::templates;
use crate::generator::tree::*;

impl Writer<'_> {
    /// All modules.
    pub(super) fn program(&mut self) -> String {
        self.modules() + self.program.behind.unwrap_or_default()
    }

    fn modules(&mut self) -> String {
        let (program, name) = (self.program, &self.program.name);
        let all = program.functions.len();
        let Some(count) = program.library else {
            let mut items = self.shared();
            items.extend(self.functions(0..all));
            items.extend(self.own_items());
            return self.module(name, items);
        };
        let library = program.library_name();
        let mut items = self.shared();
        items.extend(self.functions(0..count));
        let first = self.module(&library, items);
        self.outside = true;
        let mut items = vec!["  export [main/0]\n".to_owned(), format!("  import {library}\n")];
        items.extend(self.functions(count..all));
        items.extend(self.own_items());
        let second = self.module(name, items);
        // The order of modules is free, too.
        if self.chance(50) { format!("{first}\n{second}") } else { format!("{second}\n{first}") }
    }

    /// A module. The order of its items, indentation and comments have no meaning.
    fn module(&self, name: &str, mut items: Vec<String>) -> String {
        items.extend(self.imports());
        if self.chance(50) {
            self.note("items in any order");
            self.random.borrow_mut().shuffle(&mut items);
        }
        let mut text = format!("module {name} do\n");
        for item in items {
            if self.chance(10) {
                self.note("comments");
                text.push_str("  # What follows, with \"quotes\" and #{braces}.\n");
            }
            if self.chance(10) {
                text.push('\n');
            }
            if !self.ragged {
                text.push_str(&item);
                continue;
            }
            self.note("any indentation");
            for line in item.lines() {
                text.push_str(&" ".repeat(self.below(9)));
                text.push_str(line.trim_start());
                if self.chance(5) {
                    text.push_str("  # behind a line");
                }
                text.push('\n');
            }
        }
        text.push_str("end\n");
        text
    }

    /// The definitions that both of two modules may use.
    fn shared(&self) -> Vec<String> {
        let mut items = self.aliases();
        items.extend(self.program.data.iter().map(|data| self.data(data)));
        items.extend(self.class());
        items.extend(self.containers());
        let wanted = |template: &&(&str, &str)| self.program.templates.contains(template.0);
        items.extend(templates::ALL.iter().filter(wanted).map(|template| template.1.to_owned()));
        items
    }

    /// Writes the definitions other than `main`.
    fn own_items(&self) -> Vec<String> {
        let mut items: Vec<String> = self.program.machines.iter().map(|machine| self.machine(machine)).collect();
        items.extend(self.program.definition.map(|definition| format!("  {definition}\n")));
        items.push(self.main());
        items
    }

    fn data(&self, data: &Data) -> String {
        let params = if data.params.is_empty() { String::new() } else { format!("({})", data.params.join(", ")) };
        let derive = if data.derives { " derive Show, Eq, Ord" } else { "" };
        match &data.shape {
            Shape::Record(fields) => {
                let between = if self.chance(20) { "," } else { "" };
                let fields: Vec<_> =
                    fields.iter().map(|(name, ty)| format!("    {name}: {}{between}\n", self.ty(ty))).collect();
                format!("  record {}{params} do\n{}  end{derive}\n", data.name, fields.concat())
            }
            Shape::Sum(constructors) => {
                let all = constructors.iter().map(|(name, fields)| {
                    let fields: Vec<_> = fields.iter().map(|ty| self.ty(ty)).collect();
                    if fields.is_empty() { name.clone() } else { format!("{name}({})", fields.join(", ")) }
                });
                let all: Vec<_> = all.collect();
                format!("  type {}{params} = {}{derive}\n", data.name, all.join(" | "))
            }
        }
    }

    fn functions(&self, which: std::ops::Range<usize>) -> Vec<String> {
        // Later definitions first: their order has no meaning.
        self.program.functions[which].iter().rev().map(|function| self.function(function)).collect()
    }

    fn function(&self, function: &Function) -> String {
        let mut text = String::new();
        let name = if function.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            function.name.clone()
        } else {
            format!("({})", function.name)
        };
        let (generics, wants) = match function.wants {
            Some(class) if self.chance(40) => {
                self.note("bounds of type parameters");
                (format!("<T: {}>", class.replace(", ", " + ")), String::new())
            }
            Some(classes) => {
                let each: Vec<_> = classes.split(", ").map(|class| format!("{class}(T)")).collect();
                (String::new(), format!(" where {}", each.join(", ")))
            }
            None => (String::new(), String::new()),
        };
        // The result of a single clause determines a simple type.
        let simple = matches!(function.result, Type::Int | Type::Text | Type::Bool);
        let plain = function.clauses.len() == 1 && function.type_params.is_empty() && !function.recursive;
        let result = if simple && plain && self.chance(15) {
            self.note("results without a type");
            if self.chance(30) {
                self.note("`_` as a result");
                ": _".to_owned()
            } else {
                String::new()
            }
        } else {
            format!(": {}", self.ty(&function.result))
        };
        // All clauses of one function declare the same type.
        let params: Vec<_> = function.params.iter().map(|(name, ty)| format!("{name}: {}", self.ty(ty))).collect();
        for (guard, body) in &function.clauses {
            let guard = guard.as_ref().map_or_else(String::new, |guard| format!(" when {}", self.expr(guard, 0)));
            let body = self.body(body, 4);
            let head = format!("  def {name}{generics}({}){result}{guard}{wants}", params.join(", "));
            if function.in_block {
                text.push_str(&format!("{head} do\n    {body}\n  end\n"))
            } else {
                text.push_str(&format!("{head} =\n    {body}\n"))
            }
        }
        text
    }

    fn class(&self) -> Vec<String> {
        let Some(class) = &self.program.class else { return Vec::new() };
        let (default, var) = (self.expr(&class.default, 0), class.var);
        let mut items = Vec::new();
        let param = |of: &str| if class.var == "self" { "self".to_owned() } else { format!("x: {of}") };
        if class.as_trait {
            let of = param("Self");
            let upon = if class.upon { ": Base" } else { "" };
            items.push(format!(
                "  trait Score{upon} {{\n    def score({of}): Int\n    def twice({of}): Int = {default}\n    def step({of}): Self = {var}\n  }}\n"
            ));
        } else {
            let upon = if class.upon { " when Base(T)" } else { "" };
            items.push(format!(
                "  typeclass Score(T){upon} do\n    def score(x: T): Int\n    def twice(x: T): Int = {default}\n    def step(x: T): T = x\n  end\n"
            ));
        }
        if class.upon {
            items.push("  typeclass Base(T) do\n    def base(x: T) -> Int\n  end\n".to_owned());
        }
        for instance in &class.instances {
            let of = self.plain(&instance.of);
            let condition = matches!(instance.of, Type::List(_) | Type::Option(_));
            let context = if condition { " when Score(T)" } else { "" };
            let param = param(&of);
            let score = self.expr(&instance.score, 0);
            let twice = instance
                .twice
                .as_ref()
                .map_or_else(String::new, |body| format!("    def twice({param}): Int = {}\n", self.expr(body, 0)));
            let own = class.as_trait && self.chance(50);
            if own && instance.step.is_some() {
                self.note("Self");
            }
            let result = if own { "Self" } else { &of };
            let step = instance
                .step
                .as_ref()
                .map_or_else(String::new, |body| format!("    def step({param}): {result} = {}\n", self.expr(body, 0)));
            let (open, close) = if class.as_trait {
                (format!("impl Score for {of}{context} {{"), "}")
            } else {
                (format!("instance Score({of}){context} do"), "end")
            };
            items.push(format!("  {open}\n    def score({param}): Int = {score}\n{twice}{step}  {close}\n"));
            if let Some(base) = &instance.base {
                let base = self.expr(base, 0);
                items.push(format!("  instance Base({of}) do\n    def base(x: {of}): Int = {base}\n  end\n"));
            }
        }
        items
    }

    /// A class of type constructors, its instances, and functions over all of them.
    fn containers(&self) -> Vec<String> {
        let Some(containers) = &self.program.containers else { return Vec::new() };
        let (class, method) = containers.names();
        let mut items = Vec::new();
        if containers.own {
            items.push(format!("  typeclass {class}(F) do\n    def {method}(x: F(A), f: A => B): F(B)\n  end\n"));
        } else {
            items.push("  import Std.Typeclasses [Functor]\n".to_owned());
        }
        for (of, body) in &containers.instances {
            let head = match of {
                Type::List(_) => "List".to_owned(),
                Type::Option(_) => "Option".to_owned(),
                Type::Named(data, _) => self.program.data[*data].name.clone(),
                other => panic!("{other:?} is no container"),
            };
            let result = crate::generator::types::with_param(of, &Type::Param("B"));
            items.push(format!(
                "  instance {class}({head}) do\n    def {method}(x: {}, f: A => B): {} = {}\n  end\n",
                self.plain(of),
                self.plain(&result),
                self.expr(body, 0)
            ));
        }
        for (name, from, to, body) in &containers.lifts {
            items.push(format!(
                "  def {name}(x: F({})): F({}) where {class}(F) =\n    {}\n",
                self.ty(from),
                self.ty(to),
                self.expr(body, 0)
            ));
        }
        items
    }

    fn machine(&self, machine: &Fsm) -> String {
        let mut text = format!("  fsm {}", machine.name);
        let fields = |data: usize| match &self.program.data[data].shape {
            Shape::Record(fields) => fields,
            Shape::Sum(_) => panic!("the data of a machine is a record"),
        };
        if let Some((data, values)) = &machine.data {
            let values = fields(*data).iter().zip(values);
            let values: Vec<_> = values.map(|((name, _), value)| format!("{name}: {}", self.expr(value, 0))).collect();
            text.push_str(&format!("{{{}}}", values.join(", ")));
        }
        text.push_str(" do\n");
        let actions = |edge: &Edge, between: &str| {
            let (data, _) = machine.data.as_ref().expect("only data is changed");
            let each = edge.actions.iter().map(|(at, value)| {
                let name = &fields(*data)[*at].0;
                format!("{name} = {}", self.expr(value, 0))
            });
            each.collect::<Vec<_>>().join(between)
        };
        let guard = |edge: &Edge| {
            edge.guard.as_ref().map_or_else(String::new, |guard| format!(" when {}", self.expr(guard, 0)))
        };
        if !machine.in_blocks {
            for edge in &machine.transitions {
                let On::Event(event) = &edge.on else { panic!("arrows are fired by events") };
                let (from, to) = (&machine.states[edge.from], &machine.states[edge.to]);
                let colon = if self.chance(10) { ":" } else { "" };
                let acts =
                    if edge.actions.is_empty() { String::new() } else { format!(" {{{}}}", actions(edge, "; ")) };
                text.push_str(&format!("    {from} --> |{colon}{event}| {to}{}{acts}\n", guard(edge)));
            }
            for end in &machine.terminal {
                text.push_str(&format!("    {} --> [*]\n", machine.states[*end]));
            }
            return text + "  end\n";
        }
        if machine.listed {
            text.push_str(&format!("    states: [{}]\n", machine.states.join(", ")));
        }
        if machine.initial != 0 || self.chance(50) {
            text.push_str(&format!("    initial: {}\n", machine.states[machine.initial]));
        }
        if !machine.terminal.is_empty() {
            let ends: Vec<_> = machine.terminal.iter().map(|end| &*machine.states[*end]).collect();
            text.push_str(&format!("    terminal: [{}]\n", ends.join(", ")));
        }
        for (at, state) in machine.states.iter().enumerate() {
            text.push_str(&format!("    state {state} do\n"));
            for edge in machine.transitions.iter().filter(|edge| edge.from == at) {
                let on = match &edge.on {
                    On::Event(event) => format!("event(:{event})"),
                    On::Timeout(ms) => format!("timeout({ms})"),
                };
                let acts = if edge.actions.is_empty() {
                    String::new()
                } else {
                    format!(" do\n        {}\n      end", actions(edge, "\n        "))
                };
                text.push_str(&format!("      {on}{} -> {}{acts}\n", guard(edge), machine.states[edge.to]));
            }
            text.push_str("    end\n");
        }
        text + "  end\n"
    }

    fn main(&self) -> String {
        let mut text = "  def main(): Any =\n".to_owned();
        if self.chance(10) {
            self.note("values that nobody uses");
            text.push_str("    1 == 2\n    [\"a\"], :b\n");
        }
        for print in &self.program.prints {
            // A statement whose value is unused needs no `let`.
            let bare = self.chance(30);
            if bare {
                self.note("statements without `let`");
            }
            let call = format!("{}({})", self.library("Std.Io.println", 1), self.expr(print, 0));
            text.push_str(&format!("    {}{call}\n", if bare { "" } else { "let _ = " }));
        }
        let parts: Vec<_> = self.program.main.iter().map(|part| self.expr(part, 0)).collect();
        text.push_str(&format!("    {{{}}}\n", parts.join(",\n     ")));
        text
    }
}
