//! A module's interface: the signatures of its functions, its types, classes and instances.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Span;
use crate::ir::ty::Ty;
use crate::syntax::ast::{Expr, Name};

/// The interface of a module. Private definitions are included and marked, for messages and for the module itself.
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

/// A function's signature.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// The module that defines it.
    pub module: Name,
    pub name: Name,
    /// Its type parameters.
    pub type_params: Vec<Name>,
    /// Its length parameters.
    pub len_params: Vec<Name>,
    /// Its parameters, with types over the above.
    pub params: Vec<(Name, Ty)>,
    /// Its result type.
    pub result: Ty,
    /// The precondition that callers must prove: the guard of its only clause.
    pub precondition: Option<Arc<Expr>>,
    /// The class constraints on its type parameters: class and type.
    pub constraints: Vec<(Name, Ty)>,
    /// True if other modules may call it.
    pub exported: bool,
    /// The place of its definition.
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct TypeInfo {
    /// Its qualified name.
    pub full: Name,
    pub params: Vec<Name>,
    /// Its kind and definition.
    pub kind: TypeInfoKind,
    /// True if `T(A)` is a subtype of `T(B)` when A is a subtype of B. False for types that contain functions.
    pub covariant: bool,
}

/// The kinds of types.
#[derive(Debug, Clone)]
pub(crate) enum TypeInfoKind {
    /// Another name for a type.
    Alias(Ty),
    /// A type with several constructors.
    Sum(Vec<Arc<Constructor>>),
    /// A record with named fields.
    Record(Vec<(Name, Ty)>),
}

/// A constructor of a sum type.
#[derive(Debug, Clone)]
pub(crate) struct Constructor {
    pub name: Name,
    /// The atom that tags its values.
    pub tag: Name,
    /// The full name of its type.
    pub of: Name,
    /// Parameters of that type.
    pub params: Vec<Name>,
    pub fields: Vec<Ty>,
}

#[derive(Debug, Clone)]
pub(crate) struct ClassInfo {
    /// Its qualified name.
    pub full: Name,
    /// The module that defines it.
    pub module: Name,
    /// Its type parameter.
    pub param: Name,
    /// Its superclasses, by full name.
    pub supers: Vec<Name>,
    /// Its methods in order, as functions over the parameter.
    pub methods: Vec<Arc<Signature>>,
    /// True if each of them has a default.
    pub defaults: Vec<bool>,
    /// The number of arguments of the parameter; nonzero for classes over type constructors.
    pub arity: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct InstanceInfo {
    /// The full name of the class.
    pub class: Name,
    /// The outermost name of its type.
    pub head: Name,
    /// The constraints on its type's arguments: class and position of the argument.
    pub context: Vec<(Name, usize)>,
    /// The module that defines it.
    pub module: Name,
    /// The function that builds its dictionary.
    pub function: Name,
    /// The place of its definition.
    pub span: Span,
}
