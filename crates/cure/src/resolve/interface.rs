//! A module's interface: the signatures of its functions, its types, classes and instances.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::ir::ty::Ty;
use crate::syntax::ast::{Expr, Name};

/// What one module offers. Holds the private things too, marked so, for messages and for the module itself.
#[derive(Debug, Default, Clone)]
pub(crate) struct Interface {
    /// The module's name.
    pub module: Option<Name>,
    /// Functions by name and number of parameters.
    pub functions: HashMap<(Name, u32), Arc<Signature>>,
    /// Types and records by their short names.
    pub types: HashMap<Name, Arc<TypeInfo>>,
    /// Constructors of sum types.
    pub constructors: HashMap<Name, Arc<Constructor>>,
    /// Classes by their short names.
    pub classes: HashMap<Name, Arc<ClassInfo>>,
    /// Instances of any class.
    pub instances: Vec<Arc<InstanceInfo>>,
    /// Names of the state machines.
    pub machines: Vec<Name>,
}

/// A function as callers see it.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// The module it is in.
    pub module: Name,
    pub name: Name,
    /// Its type parameters.
    pub type_params: Vec<Name>,
    /// Its length parameters.
    pub len_params: Vec<Name>,
    /// Its parameters, with types over the above.
    pub params: Vec<(Name, Ty)>,
    /// What it returns.
    pub result: Ty,
    /// What callers must prove: the guard of its only clause.
    pub precondition: Option<Arc<Expr>>,
    /// The classes its type parameters must have: class and type.
    pub constraints: Vec<(Name, Ty)>,
    /// Whether other modules may call it.
    pub exported: bool,
    /// Where it is defined.
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct TypeInfo {
    /// Its name with the module's before it.
    pub full: Name,
    pub params: Vec<Name>,
    /// What it is.
    pub kind: TypeInfoKind,
    /// Whether a value of `T(A)` is one of `T(B)` when every A is a B. Not so with functions inside.
    pub covariant: bool,
}

/// The kinds of types.
#[derive(Debug, Clone)]
pub(crate) enum TypeInfoKind {
    /// Another name for a type.
    Alias(Ty),
    /// One of several constructors.
    Sum(Vec<Arc<Constructor>>),
    /// Fields with names.
    Record(Vec<(Name, Ty)>),
}

/// A constructor of a sum type.
#[derive(Debug, Clone)]
pub(crate) struct Constructor {
    pub name: Name,
    /// The atom that marks its values.
    pub tag: Name,
    /// The full name of its type.
    pub of: Name,
    /// That type's parameters.
    pub params: Vec<Name>,
    pub fields: Vec<Ty>,
}

#[derive(Debug, Clone)]
pub(crate) struct ClassInfo {
    /// Its name with the module's before it.
    pub full: Name,
    /// The module it is in.
    pub module: Name,
    /// Its type parameter.
    pub param: Name,
    /// Its superclasses, by full name.
    pub supers: Vec<Name>,
    /// Its methods in order, as functions over the parameter.
    pub methods: Vec<Arc<Signature>>,
    /// Which of them have a default.
    pub defaults: Vec<bool>,
    /// The number of arguments of the parameter; not zero for classes over type constructors.
    pub arity: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct InstanceInfo {
    /// The full name of the class.
    pub class: Name,
    /// The outermost name of the type that it is for.
    pub head: Name,
    /// What its type's arguments must have: class and position of the argument.
    pub context: Vec<(Name, usize)>,
    /// The module it is in.
    pub module: Name,
    /// The function that makes its dictionary.
    pub function: Name,
    /// Where it is defined.
    pub span: Span,
}
