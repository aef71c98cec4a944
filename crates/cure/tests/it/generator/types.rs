//! Queries on types for the maker.

use super::tree::Type;

/// True if a type parameter forgets part of the type: refinements and lengths.
pub(crate) fn is_exact(ty: &Type) -> bool {
    match ty {
        Type::Refined(_) | Type::Vector(..) | Type::Fn(..) | Type::Any => true,
        Type::List(of) | Type::Option(of) => is_exact(of),
        Type::Result(of, error) => is_exact(of) || is_exact(error),
        Type::Tuple(parts) | Type::Named(_, parts) => parts.iter().any(is_exact),
        _ => false,
    }
}

pub(crate) fn has_param(ty: &Type) -> bool {
    match ty {
        Type::Param(_) | Type::Applied(..) => true,
        Type::List(of) | Type::Option(of) | Type::Vector(of, _) => has_param(of),
        Type::Result(of, error) => has_param(of) || has_param(error),
        Type::Tuple(parts) | Type::Named(_, parts) => parts.iter().any(has_param),
        Type::Fn(params, result) => params.iter().any(has_param) || has_param(result),
        _ => false,
    }
}

/// The type with its parameter replaced by this one.
pub(crate) fn with_param(ty: &Type, of: &Type) -> Type {
    let each = |types: &[Type]| types.iter().map(|ty| with_param(ty, of)).collect();
    match ty {
        Type::Param(_) => of.clone(),
        Type::List(inner) => Type::List(Box::new(with_param(inner, of))),
        Type::Vector(inner, length) => Type::Vector(Box::new(with_param(inner, of)), *length),
        Type::Option(inner) => Type::Option(Box::new(with_param(inner, of))),
        Type::Result(inner, error) => Type::Result(Box::new(with_param(inner, of)), Box::new(with_param(error, of))),
        Type::Tuple(parts) => Type::Tuple(each(parts)),
        Type::Named(data, args) => Type::Named(*data, each(args)),
        Type::Fn(params, result) => Type::Fn(each(params), Box::new(with_param(result, of))),
        other => other.clone(),
    }
}

/// The parameter of `pattern` for which it equals `ty`.
pub(crate) fn unified(pattern: &Type, ty: &Type) -> Option<Type> {
    match (pattern, ty) {
        (Type::Param(_), ty) => Some(ty.clone()),
        (Type::List(one), Type::List(other)) | (Type::Option(one), Type::Option(other)) => unified(one, other),
        (Type::Tuple(one), Type::Tuple(other)) if one.len() == other.len() => {
            let found = unified(one.first()?, other.first()?)?;
            (with_param(pattern, &found) == *ty).then_some(found)
        }
        _ => None,
    }
}
