//! Products, quotients and remainders.

use crate::diagnostic::{Code, code};

/// The common beginning.
pub(super) const HEAD: &str = "type Some = {x: Int | x > 0}\n  type Base = {b: Int | b > 1}\n";

pub(super) const PAIRS: &[(&str, &str, Code)] = &[
    (
        "def gcd(a: Nat, b: Nat): Nat = if b == 0 then a else gcd(b, a % b)",
        "def gcd(a: Int, b: Int): Nat = if b == 0 then a else gcd(b, a % b)",
        code::REFUTED,
    ),
    (
        "def digits(n: Nat, b: Base): List(Nat) = if n < b then [n] else digits(n / b, b) ++ [n % b]",
        "def digits(n: Nat, b: Base): List(Some) = if n < b then [n] else digits(n / b, b) ++ [n % b]",
        code::UNPROVED,
    ),
    (
        "def digits(n: Nat): List({d: Int | d >= 0 and d < 10}) = if n < 10 then [n] else [n % 10 | digits(n / 10)]",
        "def digits(n: Nat): List({d: Int | d >= 0 and d < 9}) = if n < 10 then [n] else [n % 10 | digits(n / 10)]",
        code::REFUTED,
    ),
    (
        "def f(a: Nat, b: Some): {r: Int | r >= 0 and r < b} = a % b",
        "def f(a: Int, b: Some): {r: Int | r >= 0 and r < b} = a % b",
        code::UNPROVED,
    ),
    (
        "def f(a: Nat, b: Some): {q: Int | q >= 0 and q <= a} = a / b",
        "def f(a: Nat, b: Some): {q: Int | q >= 0 and q < a} = a / b",
        code::UNPROVED,
    ),
    (
        "def f(a: Some, b: Base): {q: Int | q < a} = a / b",
        "def f(a: Nat, b: Base): {q: Int | q < a} = a / b",
        code::UNPROVED,
    ),
    (
        "def f(a: Some, b: Some): Some = if a >= b then a / b else 1",
        "def f(a: Some, b: Some): Some = if a > b then 1 else a / b",
        code::UNPROVED,
    ),
    (
        "def f(a: Int, b: Int): Nat when a <= 0 and b < 0 = a / b",
        "def f(a: Int, b: Int): Nat when a <= 0 and b > 0 = a / b",
        code::UNPROVED,
    ),
    (
        "def f(a: Nat, b: Some): Int = 10 / (b - a % b)",
        "def f(a: Int, b: Some): Int = 10 / (b + a % b - 1)",
        code::DIVISOR,
    ),
    (
        "def f(a: Int, b: Some): {r: Int | r == 0} = a - a / b * b - a % b",
        "def f(a: Int, b: Some): {r: Int | r == 0} = a - a / b * b",
        code::UNPROVED,
    ),
    (
        "def fact(n: Nat): Some = if n == 0 then 1 else n * fact(n - 1)",
        "def fact(n: Nat): Some = if n == 1 then 1 else n * fact(n - 1)",
        code::REFUTED,
    ),
    ("def f(a: Int): Nat = a * a", "def f(a: Int, b: Int): Nat = a * b", code::UNPROVED),
    ("def f(a: Nat, b: Nat): Nat = a * b", "def f(a: Nat, b: Nat): Some = a * b", code::UNPROVED),
    ("def f(a: Some, b: Some): Some = a * b", "def f(a: Some, b: Nat): Some = a * b", code::UNPROVED),
    (
        "def f(a: Some, b: Some): {p: Int | p >= a} = a * b",
        "def f(a: Some, b: Some): {p: Int | p > a} = a * b",
        code::UNPROVED,
    ),
    ("def f(a: Int, b: Int): Some = a * a + b * b + 1", "def f(a: Int, b: Int): Some = a * a + b * b", code::UNPROVED),
    (
        "def power(b: Some, n: Nat): Some = if n == 0 then 1 else b * power(b, n - 1)",
        "def power(b: Nat, n: Nat): Some = if n == 0 then 1 else b * power(b, n - 1)",
        code::UNPROVED,
    ),
];
