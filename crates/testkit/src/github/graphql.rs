//! The subset of GraphQL (October 2021, sections 2 and 6) that a client of GitHub needs: operations, variables,
//! aliases, arguments, `@skip` and `@include`, fragments. An object is a JSON object. A missing field is an error with
//! GitHub's text.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Resolves a field with arguments on an object; `None` selects the object's own value.
pub(super) type Resolver<'a> = &'a dyn Fn(&Value, &str, &Map<String, Value>) -> Option<Value>;

#[derive(Debug, Clone)]
enum Selection {
    Field { alias: String, name: String, arguments: Vec<(String, Argument)>, when: Vec<When>, inner: Vec<Selection> },
    Fragment(String),
    Inline { on: Option<String>, inner: Vec<Selection> },
}

#[derive(Debug, Clone)]
enum Argument {
    Value(Value),
    Variable(String),
    Object(Vec<(String, Argument)>),
}

#[derive(Debug, Clone)]
struct When {
    includes: bool,
    condition: Argument,
}

struct Document {
    operation: Vec<Selection>,
    fragments: BTreeMap<String, (String, Vec<Selection>)>,
    variables: Vec<String>,
}

/// Returns the answer to a query: `{data}` with or without `errors`.
pub(super) fn answer(query: &str, variables: &Map<String, Value>, root: &Value, resolve: Resolver<'_>) -> Value {
    let parsed = Parser::new(query).and_then(|mut parser| parser.document());
    let document = match parsed {
        Ok(document) => document,
        Err(why) => return json!({"errors": [{"message": format!("Parse error: {why}")}]}),
    };
    if let Some(name) = variables.keys().find(|name| !document.variables.contains(name)) {
        return json!({"errors": [{"message": format!("Variable ${name} is not declared")}]});
    }
    let mut run = Run { document: &document, variables, resolve, faults: Vec::new(), missing: Vec::new() };
    let data = run.object(root, &document.operation, &mut Vec::new());
    if !run.faults.is_empty() {
        // A query that does not match the schema is not run.
        return json!({"errors": run.faults});
    }
    if run.missing.is_empty() { json!({"data": data}) } else { json!({"data": data, "errors": run.missing}) }
}

struct Run<'a> {
    document: &'a Document,
    variables: &'a Map<String, Value>,
    resolve: Resolver<'a>,
    faults: Vec<Value>,
    missing: Vec<Value>,
}

impl Run<'_> {
    fn object(&mut self, of: &Value, selections: &[Selection], path: &mut Vec<String>) -> Value {
        let mut out = Map::new();
        self.select(of, selections, path, &mut out);
        Value::Object(out)
    }

    fn select(&mut self, of: &Value, selections: &[Selection], path: &mut Vec<String>, out: &mut Map<String, Value>) {
        let kind = of["__typename"].as_str().unwrap_or("Query").to_owned();
        for selection in selections {
            match selection {
                Selection::Fragment(name) => match self.document.fragments.get(name) {
                    Some((on, inner)) if *on == kind => self.select(of, inner, path, out),
                    Some((on, _)) => self.fault(
                        &format!("Fragment {name} on {on} can't be spread inside {kind}"),
                        "cannotSpreadFragment",
                    ),
                    None => self.fault(&format!("Fragment {name} was used, but not defined"), "useAndDefineFragment"),
                },
                Selection::Inline { on, inner } => {
                    if on.as_ref().is_none_or(|on| *on == kind) {
                        self.select(of, inner, path, out);
                    }
                }
                Selection::Field { alias, name, arguments, when, inner } => {
                    let is_wanted = when.iter().all(|when| (self.value(&when.condition) == true) == when.includes);
                    if is_wanted {
                        path.push(alias.clone());
                        let value = self.field(of, &kind, name, arguments, inner, path);
                        path.pop();
                        out.insert(alias.clone(), value);
                    }
                }
            }
        }
    }

    fn field(
        &mut self,
        of: &Value,
        kind: &str,
        name: &str,
        arguments: &[(String, Argument)],
        inner: &[Selection],
        path: &mut Vec<String>,
    ) -> Value {
        let arguments: Map<String, Value> =
            arguments.iter().map(|(name, argument)| (name.clone(), self.value(argument))).collect();
        let resolved = (self.resolve)(of, name, &arguments).or_else(|| of.get(name).cloned());
        let Some(value) = resolved else {
            self.fault(&format!("Field '{name}' doesn't exist on type '{kind}'"), "undefinedField");
            return Value::Null;
        };
        if let Some(why) = value.get("__missing").and_then(Value::as_str) {
            self.missing.push(json!({"type": "NOT_FOUND", "path": path, "message": why}));
            return Value::Null;
        }
        let is_leaf = |value: &Value| !value.is_object();
        match &value {
            Value::Array(all) if inner.is_empty() => Value::Array(all.clone()),
            Value::Array(all) => {
                all.iter().map(|one| if one.is_null() { Value::Null } else { self.object(one, inner, path) }).collect()
            }
            Value::Null => Value::Null,
            leaf if is_leaf(leaf) => value,
            _ if inner.is_empty() => {
                self.fault(
                    &format!("Field must have selections (field '{name}' returns an object)"),
                    "selectionMismatch",
                );
                Value::Null
            }
            object => self.object(object, inner, path),
        }
    }

    fn value(&self, argument: &Argument) -> Value {
        match argument {
            Argument::Value(value) => value.clone(),
            Argument::Variable(name) => self.variables.get(name).cloned().unwrap_or(Value::Null),
            Argument::Object(fields) => {
                fields.iter().map(|(name, argument)| (name.clone(), self.value(argument))).collect()
            }
        }
    }

    fn fault(&mut self, message: &str, code: &str) {
        self.faults.push(json!({"message": message, "extensions": {"code": code}}));
    }
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn new(query: &str) -> Result<Parser, String> {
        let mut tokens = Vec::new();
        let mut rest = query.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let length = match first {
                '"' => rest[1..].find('"').ok_or("a text has no end")? + 2,
                _ if rest.starts_with("...") => 3,
                c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                c if "{}()[]:$@!=|,".contains(c) => 1,
                c => return Err(format!("unexpected {c:?}")),
            };
            // Commas are ignored.
            if first != ',' {
                tokens.push(rest[..length].to_owned());
            }
            rest = rest[length..].trim_start();
        }
        Ok(Parser { tokens, at: 0 })
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> Result<String, String> {
        let token = self.tokens.get(self.at).cloned().ok_or("it ends too early")?;
        self.at += 1;
        Ok(token)
    }

    fn is(&mut self, token: &str) -> bool {
        let is = self.peek() == token && self.at < self.tokens.len();
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.is(token) { Ok(()) } else { Err(format!("expected {token:?}, found {:?}", self.peek())) }
    }

    fn document(&mut self) -> Result<Document, String> {
        let mut document = Document { operation: Vec::new(), fragments: BTreeMap::new(), variables: Vec::new() };
        while self.at < self.tokens.len() {
            if self.is("fragment") {
                let name = self.next()?;
                self.expect("on")?;
                let on = self.next()?;
                let inner = self.selections()?;
                document.fragments.insert(name, (on, inner));
                continue;
            }
            self.is("query");
            if self.is("(") {
                while !self.is(")") {
                    self.expect("$")?;
                    document.variables.push(self.next()?);
                    self.expect(":")?;
                    while self.is("[") {}
                    self.next()?;
                    while self.is("!") || self.is("]") {}
                }
            }
            document.operation = self.selections()?;
        }
        Ok(document)
    }

    fn selections(&mut self) -> Result<Vec<Selection>, String> {
        self.expect("{")?;
        let mut selections = Vec::new();
        while !self.is("}") {
            selections.push(self.selection()?);
        }
        Ok(selections)
    }

    fn selection(&mut self) -> Result<Selection, String> {
        if self.is("...") {
            let on = if self.is("on") { Some(self.next()?) } else { None };
            return Ok(match (on, self.peek()) {
                (None, name) if name != "{" => Selection::Fragment(self.next()?),
                (on, _) => Selection::Inline { on, inner: self.selections()? },
            });
        }
        let mut name = self.next()?;
        let alias = name.clone();
        if self.is(":") {
            name = self.next()?;
        }
        let arguments = if self.peek() == "(" { self.arguments()? } else { Vec::new() };
        let mut when = Vec::new();
        while self.is("@") {
            let includes = self.next()? == "include";
            let condition = self.arguments()?.into_iter().next().ok_or("a directive without a condition")?.1;
            when.push(When { includes, condition });
        }
        let inner = if self.peek() == "{" { self.selections()? } else { Vec::new() };
        Ok(Selection::Field { alias, name, arguments, when, inner })
    }

    fn arguments(&mut self) -> Result<Vec<(String, Argument)>, String> {
        self.expect("(")?;
        self.fields(")")
    }

    fn fields(&mut self, end: &str) -> Result<Vec<(String, Argument)>, String> {
        let mut fields = Vec::new();
        while !self.is(end) {
            let name = self.next()?;
            self.expect(":")?;
            fields.push((name, self.argument()?));
        }
        Ok(fields)
    }

    fn argument(&mut self) -> Result<Argument, String> {
        if self.is("$") {
            return Ok(Argument::Variable(self.next()?));
        }
        if self.is("{") {
            return Ok(Argument::Object(self.fields("}")?));
        }
        let token = self.next()?;
        let text = || Value::String(token.trim_matches('"').to_owned());
        let is_number = token.parse::<i64>().is_ok() || ["true", "false", "null"].contains(&token.as_str());
        Ok(Argument::Value(if is_number { serde_json::from_str(&token).unwrap_or_default() } else { text() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_answered_by_its_own_words() {
        let root =
            json!({"viewer": {"__typename": "User", "login": "ann", "dogs": [{"__typename": "Dog", "name": "Rex"}]}});
        let resolve = |_: &Value, name: &str, arguments: &Map<String, Value>| {
            (name == "twice").then(|| json!(arguments["of"].as_i64().unwrap_or_default() * 2))
        };
        let variables = json!({"n": 4, "yes": true}).as_object().cloned().unwrap();
        let ask = |query: &str| answer(query, &variables, &root, &resolve);
        let query = "query($n: Int!, $yes: Boolean!) { viewer { me: login @include(if: $yes) no: login @skip(if: $yes)
          t: twice(of: $n) dogs { ...d ... on Cat { claws } } } } fragment d on Dog { __typename name }";
        let expected =
            json!({"data": {"viewer": {"me": "ann", "t": 8, "dogs": [{"__typename": "Dog", "name": "Rex"}]}}});
        assert_eq!(ask(query), expected);
        let wrong = ask("query($n: Int, $yes: Boolean) { viewer { cats { name } } }");
        assert_eq!(wrong["errors"][0]["message"], "Field 'cats' doesn't exist on type 'User'");
        assert!(wrong.get("data").is_none());
        assert!(ask("{ viewer { login }")["errors"][0]["message"].as_str().unwrap().starts_with("Parse error"));
    }
}
