//! Maps features and faults to rows of the dialect document.

use super::faults::{ANYWHERE, UNPROVED};
use super::wrong::{BEHIND, DEFINITIONS};

/// By row: features of well-typed programs, and kinds of ill-typed programs.
const ROWS: &[(usize, &[&str])] = &[
    (1, &["refinement violated by a number", "refinement not provable", "refinement violated inside of a value"]),
    (2, &["body with a wrong refinement", "results with conditions", "results that depend on arguments"]),
    (3, &["construction not provable", "update not provable"]),
    (4, &["missing clause", "guards that leave something out", "clauses that leave something out"]),
    (5, &["clauses that are never reached"]),
    (6, &["field of a record"]),
    (7, &["field of a record"]),
    (8, &["access of fields", "update of records", "patterns of records"]),
    (9, &["wrong length", "lengths", "vectors", "patterns of vectors"]),
    (10, &["unknown type", "unknown type in a head", "unknown type in a record"]),
    (11, &["unknown import", "unknown name in an import", "unknown name"]),
    (12, &["unknown state"]),
    (13, &["machine without its record"]),
    (14, &["value of type Any used", "Any", "matches of Any"]),
    (15, &["clauses of different types"]),
    (
        16,
        &[
            "parameter twice",
            "field twice",
            "constructor twice",
            "foreign function twice",
            "machine twice",
            "class twice",
            "method twice",
            "type twice",
            "two records of one name",
            "two instances",
        ],
    ),
    (17, &["constructors that are the same at run time"]),
    (18, &["unknown name in a condition"]),
    (19, &["message to what is no process", "messages"]),
    (20, &["instance for some arguments only", "instance for a type with a condition"]),
    (21, &["division", "division by what may be zero", "conditions of the way"]),
    (22, &["division", "arithmetic"]),
    (23, &["floats"]),
    (24, &["interpolation", "Show"]),
    (25, &["conditions that callers prove"]),
    (26, &["condition of a function not provable", "condition of a refinement not provable"]),
    (27, &["patterns of constructors"]),
    (28, &["sums", "recursive sums", "types with parameters"]),
    (
        29,
        &[
            "imports of whole modules",
            "imports under another name",
            "imports of names",
            "imports of names under others",
            "constructors of another module",
            "the library",
        ],
    ),
    (30, &["items in any order"]),
    (31, &["two modules"]),
    (32, &["if"]),
    (
        33,
        &[
            "atoms in quotes",
            "texts of several lines",
            "numbers to the base of sixteen",
            "numbers with `_`",
            "patterns of floats",
            "character lists",
        ],
    ),
    (34, &["integers beyond 2^64"]),
    (35, &["and, or"]),
    (36, &["pipes", "pipes over results", "pipes into calls"]),
    (37, &["refinements"]),
    (38, &["value of type Any used", "wrong result"]),
    (
        39,
        &[
            "typeclasses",
            "methods",
            "instances with conditions",
            "classes built upon classes",
            "functions over a class",
            "bounds of type parameters",
            "functions over two classes",
            "missing method",
            "unknown class",
            "method of the wrong type",
            "instance without the one it is built upon",
            "class that is not asked for",
            "no instance",
        ],
    ),
    (
        40,
        &[
            "own classes over type constructors",
            "Functor and Monad",
            "instances for own type constructors",
            "functions over type constructors called",
            "methods over type constructors",
            "bind and pure",
            "instance of another kind",
        ],
    ),
    (41, &["traits", "self"]),
    (42, &["derive", "Eq", "Ord", "derived of what has no instance"]),
    (43, &["operators of the program", "operator on the wrong types"]),
    (44, &["match", "guards", "let"]),
    (45, &["calls of what calls give", "functions as results"]),
    (46, &["patterns of let", "pattern of let that may not match"]),
    (47, &["lists", "patterns of lists", "vectors written as lists"]),
    (48, &["lengths as values"]),
    (
        49,
        &[
            "Zero, Succ and Pred",
            "recursion over Succ",
            "own constructors Zero and Succ",
            "patterns of Zero and Succ",
            "Succ without Zero",
            "Pred of what may be zero",
        ],
    ),
    (50, &["types with `when`", "condition with `when`"]),
    (51, &["types with numbers as parameters", "range", "lengths by an alias"]),
    (52, &["Eq", "Ord"]),
    (53, &["functions as values", "constructors as values", "methods as values", "functions as arguments", "closures"]),
    (
        54,
        &[
            "machines of arrows",
            "actions of machines",
            "guards of machines",
            "conversations with machines",
            "machines started with data",
            "machines that are stopped",
            "names of machines",
            "action of the wrong type",
            "action not provable",
        ],
    ),
    (55, &["machines of blocks", "timeouts", "timeouts of no time", "events with data"]),
    (56, &["two transitions for one event"]),
    (57, &["dead ends"]),
    (58, &["states that nothing reaches"]),
    (59, &["unknown name in a guard of a machine", "unknown field in a machine", "guards over the data of an event"]),
    (60, &["machine started with other data", "data of a machine against its type"]),
    (61, &["parameter without a type", "results without a type"]),
    (62, &["guard that calls"]),
    (63, &["condition of a function not provable"]),
    (64, &["no space behind a colon"]),
    (65, &["constructor as a type"]),
    (66, &["module of Erlang", "module of the library"]),
    (67, &["definition outside of a module"]),
    (68, &["nesting without measure", "chains of operands"]),
    (69, &["curify with the wrong arity", "functions of Erlang"]),
    (
        70,
        &[
            "methods at refined types",
            "methods that return their type",
            "class at a refined type",
            "class at a length",
            "`where` at a length",
            "class at a refined type in an action",
        ],
    ),
    (72, &["fields that earlier clauses test"]),
    (71, &["conditions over floats", "conditions over texts", "condition over a float or a text not provable"]),
    (73, &["floats", "patterns of floats"]),
    (74, &["call without parentheses", "atom that is called", "pattern of an atom that is called"]),
    (75, &["values that nobody uses"]),
    (76, &["the library", "sorting"]),
    (
        77,
        &[
            "division by what may be zero",
            "conditions through the library",
            "conditions of literals",
            "conditions behind pipes",
        ],
    ),
    (78, &["name of a type of the language"]),
    (79, &["Self"]),
    (80, &["`_` as a result"]),
    (81, &["functions of `let` at two types", "`let` function at a condition", "`let` function over what is outside"]),
    (82, &["capital that is meant as a literal"]),
    (83, &["messages to processes elsewhere", "message to what is no process"]),
    (84, &["machines that compute with the data of events", "data of an event not provable"]),
    (85, &["patterns of functions without a name", "pattern of a function that may not match"]),
];

/// All features that rows name.
pub(crate) fn features() -> impl Iterator<Item = &'static str> {
    let faults = || UNPROVED.iter().chain(ANYWHERE).map(|kind| kind.0);
    let texts = || DEFINITIONS.iter().chain(BEHIND).map(|kind| kind.0);
    let names = ROWS.iter().flat_map(|(_, names)| names.iter().copied());
    names.filter(move |name| !faults().chain(texts()).any(|fault| fault == *name))
}

#[test]
fn every_row_of_the_dialect_is_met() {
    let document = include_str!("../../../../../docs/reference/cure-dialect.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("### ")?.split_once('.')?.0.parse().ok());
    let missing: Vec<usize> = rows.filter(|row| !ROWS.iter().any(|(known, _)| known == row)).collect();
    assert!(missing.is_empty(), "no program is made for the rows {missing:?}");
}
