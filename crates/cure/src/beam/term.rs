//! Constants in Erlang's external term format, version 131.

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

use super::instruction::Function;
use crate::ir::form::Literal;

/// A constant with its version byte, as the literal table holds it. Atoms in it have at most 255 bytes: [`long_name`].
pub(super) fn literal(literal: &Literal) -> Vec<u8> {
    let mut out = vec![131];
    write(literal, &mut out);
    out
}

/// An atom in a constant that exceeds the length limit of atoms.
pub(super) fn long_name(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::Atom(name) => (name.len() > 255).then_some(name),
        Literal::List(items) | Literal::Tuple(items) => items.iter().find_map(long_name),
        Literal::Int(_) | Literal::Float(_) | Literal::Binary(_) => None,
    }
}

/// A function of another module.
pub(super) fn external(function: Function<'_>) -> Vec<u8> {
    let mut out = vec![131, 113];
    atom(function.module, &mut out);
    atom(function.name, &mut out);
    integer(&function.arity.into(), &mut out);
    out
}

fn write(literal: &Literal, out: &mut Vec<u8>) {
    match literal {
        Literal::Int(value) => integer(value, out),
        Literal::Float(value) => {
            out.push(70);
            out.extend(value.to_be_bytes());
        }
        Literal::Atom(name) => atom(name, out),
        Literal::Binary(bytes) => {
            out.push(109);
            out.extend(size(bytes.len()));
            out.extend(&bytes[..]);
        }
        Literal::List(items) => {
            if !items.is_empty() {
                out.push(108);
                out.extend(size(items.len()));
                items.iter().for_each(|item| write(item, out));
            }
            out.push(106);
        }
        Literal::Tuple(parts) => {
            match u8::try_from(parts.len()) {
                Ok(count) => out.extend([104, count]),
                Err(_) => {
                    out.push(105);
                    out.extend(size(parts.len()));
                }
            }
            parts.iter().for_each(|part| write(part, out));
        }
    }
}

fn size(count: usize) -> [u8; 4] {
    (count as u32).to_be_bytes()
}

fn atom(name: &str, out: &mut Vec<u8>) {
    out.extend([119, name.len() as u8]);
    out.extend(name.as_bytes());
}

fn integer(value: &BigInt, out: &mut Vec<u8>) {
    if let Some(small) = value.to_u8() {
        return out.extend([97, small]);
    }
    if let Some(small) = value.to_i32() {
        out.push(98);
        return out.extend(small.to_be_bytes());
    }
    let (sign, bytes) = value.to_bytes_le();
    match u8::try_from(bytes.len()) {
        Ok(count) => out.extend([110, count]),
        Err(_) => {
            out.push(111);
            out.extend(size(bytes.len()));
        }
    }
    out.push(u8::from(sign == Sign::Minus));
    out.extend(bytes);
}
