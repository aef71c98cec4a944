//! Evaluates functions of the standard library and of [`super::templates`] by their documentation.

use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::Zero;
use unicode_segmentation::UnicodeSegmentation;

use super::evaluate::{Evaluator, Outcome};
use super::operators::{binary, int, ordering};
use super::value::{Closure, Value};

impl Evaluator<'_> {
    /// The documented behaviour of library functions and templates.
    pub(super) fn native(&mut self, name: &'static str, args: Vec<Value>) -> Outcome {
        use Value::{Function, Int, List, Text};
        let partial = |name: &'static str, args: Vec<Value>| Ok(Value::Function(Rc::new(Closure::Native(name, args))));
        Ok(match (name, &args[..]) {
            ("Std.List.length", [List(items)]) => Int(items.len().into()),
            ("Std.List.is_empty", [List(items)]) => Value::bool(items.is_empty()),
            ("Std.List.reverse", [List(items), List(rest)]) => {
                Value::list(items.iter().rev().chain(rest.iter()).cloned().collect())
            }
            ("Std.List.reverse", [List(items)]) => Value::list(items.iter().rev().cloned().collect()),
            ("Std.List.sort", [List(items)]) => {
                let mut items = items.to_vec();
                items.sort_by(Value::order);
                Value::list(items)
            }
            ("Std.List.unique", [List(items)]) => {
                let mut kept: Vec<Value> = Vec::new();
                for item in items.iter() {
                    if !kept.iter().any(|one| one.order(item).is_eq()) {
                        kept.push(item.clone());
                    }
                }
                Value::list(kept)
            }
            ("Std.List.any" | "Std.List.all", [List(items), function @ Function(_)]) => {
                let any = name == "Std.List.any";
                for item in items.iter() {
                    if self.apply(function, vec![item.clone()])?.is("true") == any {
                        return Ok(Value::bool(any));
                    }
                }
                Value::bool(!any)
            }
            ("Std.List.sum", [List(items)]) => {
                let all = items.iter().map(|item| if let Int(item) = item { item.clone() } else { BigInt::zero() });
                int(all.sum())?
            }
            ("Std.Math.gcd", [Int(a), Int(b)]) => {
                let (mut a, mut b) = (a.magnitude().clone(), b.magnitude().clone());
                while !b.is_zero() {
                    (a, b) = (b.clone(), a % b);
                }
                Int(a.into())
            }
            ("Std.String.capitalize", [Text(text)]) => {
                let first = text.graphemes(true).next().unwrap_or("");
                Value::text(&format!("{}{}", first.to_uppercase(), &text[first.len()..]))
            }
            ("Std.String.pad_left" | "Std.String.pad_right", [Text(text), Int(width), Text(filling)]) => {
                let missing = usize::try_from(width).unwrap_or(0).saturating_sub(text.graphemes(true).count());
                let filling = filling.repeat(missing);
                Value::text(&if name == "Std.String.pad_left" {
                    format!("{filling}{text}")
                } else {
                    format!("{text}{filling}")
                })
            }
            ("Std.Show.show_list", [List(items)]) => {
                let of = super::tree::Type::Int;
                let all: Vec<_> = items.iter().map(|item| self.show(&of, item)).collect();
                Value::text(&format!("[{}]", all.join(", ")))
            }
            ("Std.List.head", [List(items), default]) => items.first().unwrap_or(default).clone(),
            ("Std.List.tail", [List(items)]) => Value::list(items.iter().skip(1).cloned().collect()),
            ("Std.List.append" | "joined", [List(one), List(other)]) => {
                Value::list(one.iter().chain(other.iter()).cloned().collect())
            }
            ("Std.List.map", [List(items), function @ Function(_)]) => {
                let mapped: Result<_, _> = items.iter().map(|item| self.apply(function, vec![item.clone()])).collect();
                Value::list(mapped?)
            }
            ("Std.List.filter", [List(items), function @ Function(_)]) => {
                let mut kept = Vec::new();
                for item in items.iter() {
                    if self.apply(function, vec![item.clone()])?.is("true") {
                        kept.push(item.clone());
                    }
                }
                Value::list(kept)
            }
            ("Std.List.fold", [List(items), start, function @ Function(_)]) => {
                let mut so_far = start.clone();
                for item in items.iter().rev() {
                    let next = self.apply(function, vec![item.clone()])?;
                    so_far = self.apply(&next, vec![so_far])?;
                }
                so_far
            }
            ("Std.List.zip_with", [List(one), List(other), function @ Function(_)]) => {
                let mut zipped = Vec::new();
                for (a, b) in one.iter().zip(other.iter()) {
                    let next = self.apply(function, vec![a.clone()])?;
                    zipped.push(self.apply(&next, vec![b.clone()])?);
                }
                Value::list(zipped)
            }
            ("Std.List.nth", [List(items), Int(at), default]) => {
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                items.get(at).unwrap_or(default).clone()
            }
            ("Std.List.take" | "Std.List.drop", [List(items), Int(count)]) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX).min(items.len());
                Value::list(if name == "Std.List.take" { items[..count].to_vec() } else { items[count..].to_vec() })
            }
            ("Std.List.contains", [List(items), item]) => Value::bool(items.iter().any(|one| one.order(item).is_eq())),
            ("Std.Core.identity", [value]) => value.clone(),
            ("Std.Core.minimum", [a, b]) => if b.order(a).is_lt() { b } else { a }.clone(),
            ("Std.Core.maximum", [a, b]) => if b.order(a).is_gt() { b } else { a }.clone(),
            ("Std.Core.compare", [a, b]) => ordering(a.order(b)),
            ("Std.Core.compose", [_, _]) | ("Std.Core.const", [_]) => return partial(name, args),
            ("Std.Core.compose", [f, g, x]) => {
                let between = self.apply(g, vec![x.clone()])?;
                self.apply(f, vec![between])?
            }
            ("Std.Core.const", [value, _]) => value.clone(),
            ("Std.Core.option_or", [option, default]) => {
                option.fields("some").map_or_else(|| default.clone(), |inner| inner[0].clone())
            }
            ("Std.Core.map_option", [option, function]) => match option.fields("some") {
                Some(inner) => {
                    let mapped = self.apply(function, vec![inner[0].clone()])?;
                    Value::construct("Some", vec![mapped])
                }
                None => option.clone(),
            },
            ("Std.Core.map_ok", [result, function]) => match result.fields("ok") {
                Some(inner) => {
                    let mapped = self.apply(function, vec![inner[0].clone()])?;
                    Value::construct("Ok", vec![mapped])
                }
                None => result.clone(),
            },
            ("Std.Core.is_ok", [result]) => Value::bool(result.fields("ok").is_some()),
            ("Std.Core.is_some", [option]) => Value::bool(option.fields("some").is_some()),
            ("Std.Math.abs", [Int(value)]) => Int(if *value < BigInt::zero() { -value } else { value.clone() }),
            ("Std.String.length", [Text(text)]) => Int(text.graphemes(true).count().into()),
            ("Std.String.reverse", [Text(text)]) => Value::text(&text.graphemes(true).rev().collect::<String>()),
            ("Std.String.join", [List(parts), Text(between)]) => {
                let parts: Vec<_> =
                    parts.iter().filter_map(|part| if let Text(part) = part { Some(&**part) } else { None }).collect();
                Value::text(&parts.join(between))
            }
            ("dot", [List(a), List(b)]) => {
                let zero = BigInt::zero();
                let products =
                    a.iter().zip(b.iter()).map(|pair| if let (Int(a), Int(b)) = pair { a * b } else { zero.clone() });
                int(products.sum())?
            }
            ("plus_each", [List(a), List(b)]) => {
                let sums = a.iter().zip(b.iter()).map(|pair| binary("+", pair.0, pair.1));
                Value::list(sums.collect::<Result<_, _>>()?)
            }
            ("mean", [List(items)]) => {
                let all = items.iter().map(|item| if let Int(item) = item { item.clone() } else { BigInt::zero() });
                let sum = int(all.sum())?;
                if items.is_empty() { Int(BigInt::zero()) } else { binary("/", &sum, &Int(items.len().into()))? }
            }
            ("after", [Int(n)]) => int(n + 1)?,
            ("chance", [Value::Float(x)]) => Value::Float(x.clamp(0.0, 1.0)),
            ("rest_of", [Value::Float(x)]) => Value::Float(1.0 - if *x > 0.5 { *x } else { 0.5 }),
            ("filled", [Text(text)]) => Value::text(if text.is_empty() { "none" } else { text }),
            ("shouted", [Text(text)]) => Value::text(&format!("{text}!")),
            ("other_side", [side]) => Value::atom(if side.is("left") { "right" } else { "left" }),
            ("clipped", [Int(n)]) => Int(n.clone().clamp(BigInt::zero(), 9.into())),
            ("absolute", [Int(n)]) => Int(n.magnitude().clone().into()),
            ("counted", [List(items)]) => Int(items.len().into()),
            ("turned", [List(items)]) => Value::list(items.iter().rev().cloned().collect()),
            ("size_of", [List(items)]) => Int(items.len().into()),
            ("first_of", [List(items)]) => items.first().expect("its length was proved").clone(),
            ("longer", [List(items), item]) => {
                Value::list(std::iter::once(item).chain(items.iter()).cloned().collect())
            }
            ("Std.System.sleep", _) => self.fsm(name, &args)?,
            _ if name.starts_with("Std.Fsm.") => self.fsm(name, &args)?,
            _ => panic!("{name} of {args:?}"),
        })
    }
}
