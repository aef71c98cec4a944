//! Evaluates methods: of the program's classes, of classes of type constructors, of Show and Ord.

use std::cmp::Ordering;

use super::evaluate::{Env, Evaluator, Outcome};
use super::tree::{STEP, Shape, Type};
use super::value::Value;

impl Evaluator<'_> {
    pub(super) fn method(&mut self, at: usize, ty: &Type, arg: Value) -> Outcome {
        let program = self.program;
        let class = program.class.as_ref().expect("there is a class");
        let heads = |of: &Type| match (of, ty) {
            (Type::List(_), Type::List(inner)) | (Type::Option(_), Type::Option(inner)) => Some((**inner).clone()),
            (of, ty) => (of == ty).then(|| ty.clone()),
        };
        let found = class.instances.iter().find_map(|one| Some((one, heads(&one.of)?)));
        let (instance, inner) = found.expect("there is an instance");
        let body = match (at, &instance.twice) {
            (0, _) => &instance.score,
            (1, Some(body)) => body,
            (1, None) => &class.default,
            (STEP, _) => match &instance.step {
                Some(body) => body,
                None => return Ok(arg),
            },
            _ => instance.base.as_ref().expect("the class is built upon another"),
        };
        // The default refers to the instance's type, the instance to its elements.
        let own = if at == 1 && instance.twice.is_none() { ty.clone() } else { inner };
        // The superclass's method is written over `x`, whatever the parameter of the other methods is called.
        let var = if at == 2 { "x" } else { class.var };
        self.eval(body, &Env::with_types(vec![("T", own)]).with(var, arg))
    }

    /// A method of a class of type constructors.
    pub(super) fn contained(&mut self, name: &str, ty: &Type, args: Vec<Value>) -> Outcome {
        let nothing = || Value::construct("None", Vec::new());
        Ok(match (name, ty, &args[..]) {
            ("pure", Type::List(_), [value]) => Value::list(vec![value.clone()]),
            ("pure", _, [value]) => Value::construct("Some", vec![value.clone()]),
            ("bind", _, [Value::List(items), f]) => {
                let mut all = Vec::new();
                for item in items.iter() {
                    let Value::List(more) = self.apply(f, vec![item.clone()])? else { panic!("a step gives a list") };
                    all.extend(more.iter().cloned());
                }
                Value::list(all)
            }
            ("bind", _, [option, f]) => match option.fields("some") {
                Some(inner) => self.apply(f, vec![inner[0].clone()])?,
                None => nothing(),
            },
            (_, _, [x, f]) => {
                let program = self.program;
                let containers = program.containers.as_ref().expect("there is a class of containers");
                let same = |of: &Type| std::mem::discriminant(of) == std::mem::discriminant(ty) && data(of) == data(ty);
                match containers.instances.iter().find(|(of, _)| same(of)) {
                    Some((_, body)) => self.eval(body, &Env::default().with("x", x.clone()).with("f", f.clone()))?,
                    None => match x {
                        Value::List(_) => self.native("Std.List.map", vec![x.clone(), f.clone()])?,
                        _ => self.native("Std.Core.map_option", vec![x.clone(), f.clone()])?,
                    },
                }
            }
            _ => panic!("{name} of {args:?}"),
        })
    }

    /// The result of the library's Show.
    pub(super) fn show(&self, ty: &Type, value: &Value) -> String {
        let listed =
            |of: &Type, items: &[Value]| items.iter().map(|item| self.show(of, item)).collect::<Vec<_>>().join(", ");
        match (ty, value) {
            (Type::Int | Type::Refined(_), Value::Int(value)) => value.to_string(),
            (Type::Bool, Value::Atom(name)) => name.to_string(),
            (Type::Text, Value::Text(text)) => text.to_string(),
            (Type::Atom, Value::Atom(name)) => format!(":{name}"),
            (Type::Unit, _) => "()".to_owned(),
            (Type::List(of), Value::List(items)) => format!("[{}]", listed(of, items)),
            (Type::Vector(of, _), Value::List(items)) => format!("‹{}›", listed(of, items)),
            (Type::Ordering, Value::Tuple(parts)) => {
                if parts[0].is("lt") {
                    "Lt".to_owned()
                } else if parts[0].is("eq") {
                    "Eq".to_owned()
                } else {
                    "Gt".to_owned()
                }
            }
            (Type::Option(of), value) => match value.fields("some") {
                Some(inner) => format!("Some({})", self.show(of, &inner[0])),
                None => "None".to_owned(),
            },
            (Type::Result(of, error), value) => match (value.fields("ok"), value.fields("error")) {
                (Some(inner), _) => format!("Ok({})", self.show(of, &inner[0])),
                (_, Some(inner)) => format!("Error({})", self.show(error, &inner[0])),
                _ => panic!("{value:?} is no Result"),
            },
            (Type::Named(data, args), Value::Tuple(parts)) => {
                let data = &self.program.data[*data];
                let (_, fields) = self.shape(data, parts, args);
                let shown = |at: usize, ty: &Type| self.show(ty, &parts[at + 1]);
                match &data.shape {
                    Shape::Record(labels) => {
                        let fields = fields.iter().zip(labels).enumerate();
                        let fields: Vec<_> =
                            fields.map(|(at, (ty, (label, _)))| format!("{label}: {}", shown(at, ty))).collect();
                        format!("{}{{{}}}", data.name, fields.join(", "))
                    }
                    Shape::Sum(all) => {
                        let (at, _) = self.shape(data, parts, args);
                        let name = &all[at].0;
                        let fields: Vec<_> = fields.iter().enumerate().map(|(at, ty)| shown(at, ty)).collect();
                        if fields.is_empty() { name.clone() } else { format!("{name}({})", fields.join(", ")) }
                    }
                }
            }
            _ => panic!("{value:?} is not shown as {ty:?}"),
        }
    }

    /// The constructor of a value, and the types of its fields.
    fn shape(&self, data: &super::tree::Data, parts: &[Value], args: &[Type]) -> (usize, Vec<Type>) {
        let types = data.params.iter().copied().zip(args.iter().cloned()).collect();
        let env = Env::with_types(types);
        match &data.shape {
            Shape::Record(fields) => (0, fields.iter().map(|(_, ty)| env.ty(ty)).collect()),
            Shape::Sum(all) => {
                let tag = |name: &str| {
                    let mut tag = name.to_owned();
                    tag[..1].make_ascii_lowercase();
                    parts[0].is(&tag)
                };
                let at = all.iter().position(|(name, _)| tag(name)).expect("the value has one of the constructors");
                (at, all[at].1.iter().map(|ty| env.ty(ty)).collect())
            }
        }
    }

    /// The result of the library's Ord, derived or not.
    pub(super) fn compare(&self, ty: &Type, a: &Value, b: &Value) -> Ordering {
        match (ty, a, b) {
            (Type::List(of), Value::List(a), Value::List(b)) => {
                let orders = a.iter().zip(b.iter()).map(|(a, b)| self.compare(of, a, b));
                let first = orders.into_iter().find(|order| order.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Type::Named(data, args), Value::Tuple(x), Value::Tuple(y)) => {
                let data = &self.program.data[*data];
                let ((one, fields), (other, _)) = (self.shape(data, x, args), self.shape(data, y, args));
                let orders = fields.iter().enumerate().map(|(at, ty)| self.compare(ty, &x[at + 1], &y[at + 1]));
                if one != other {
                    return one.cmp(&other);
                }
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
            _ => a.order(b),
        }
    }
}

/// The index of a program's type.
fn data(ty: &Type) -> Option<usize> {
    if let Type::Named(data, _) = ty { Some(*data) } else { None }
}
