//! Mutations of programs: each replaces a part by another of its kind, from elsewhere in the text or from the standard
//! library and the tests. Hardly any mutation of bytes would get past the parser.

use std::collections::HashMap;
use std::sync::LazyLock;

use cure::syntax::{SyntaxKind as K, SyntaxNode, SyntaxToken, parse};

/// The largest part of the library and the tests to insert, in bytes.
const LARGEST: usize = 300;

/// Kinds of syntax whose members can replace each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Sort {
    Item,
    Type,
    Expression,
    Pattern,
    Other(K),
}

fn sort(kind: K) -> Option<Sort> {
    Some(match kind {
        K::Source | K::Error | K::Name | K::Path => return None,
        K::Def | K::Record | K::TypeDef | K::Class | K::Instance | K::Trait | K::Impl | K::Fsm | K::Import => {
            Sort::Item
        }
        K::TyName | K::TyFn | K::TyArrow | K::TyUnion | K::TyTuple | K::TyRefined | K::TyParen | K::TyLen => Sort::Type,
        K::Literal | K::Interpolation | K::NameExpr | K::FieldExpr | K::CallExpr | K::UnitExpr | K::ParenExpr => {
            Sort::Expression
        }
        K::RecordExpr | K::UpdateExpr | K::UnaryExpr | K::BinaryExpr | K::AsExpr | K::BlockExpr => Sort::Expression,
        K::ListExpr | K::VectorExpr | K::TupleExpr | K::LambdaExpr | K::MatchExpr | K::IfExpr => Sort::Expression,
        K::PatName | K::PatLiteral | K::PatList | K::PatTuple | K::PatCtor | K::PatRecord => Sort::Pattern,
        other => Sort::Other(other),
    })
}

/// Parts of the standard library and of the tests, by sort.
static PARTS: LazyLock<HashMap<Sort, Vec<String>>> = LazyLock::new(|| {
    let library = cure::standard::names().filter_map(cure::standard::source).map(str::to_owned);
    let table = include_str!("../../../crates/cure/tests/data/programs.tsv");
    let programs =
        table.lines().skip(1).filter_map(|line| line.split('\t').nth(3)).map(|text| text.replace("\\n", "\n"));
    let tables = [
        include_str!("../../../crates/cure/tests/data/soundness.txt"),
        include_str!("../../../crates/cure/tests/data/refinements.txt"),
    ];
    let bodies = tables.into_iter().flat_map(|table| table.split("\n=== ")).filter_map(|block| {
        let (_, body) = block.split_once('\n')?;
        Some(if body.starts_with("module") { body.to_owned() } else { format!("module T do\n{body}\nend\n") })
    });
    let mut parts: HashMap<Sort, Vec<String>> = HashMap::new();
    for text in library.chain(programs).chain(bodies) {
        for node in parse(&text).tree().descendants() {
            let words = node.text().to_string();
            if let Some(sort) = sort(node.kind()).filter(|_| words.len() <= LARGEST) {
                parts.entry(sort).or_default().push(words.trim().to_owned());
            }
        }
    }
    for all in parts.values_mut() {
        all.sort();
        all.dedup();
    }
    parts
});

/// Numbers at boundaries of their representation.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "127",
    "128",
    "255",
    "256",
    "2047",
    "2048",
    "4096",
    "65536",
    "2147483648",
    "576460752303423488",
    "9223372036854775808",
    "18446744073709551616",
    "0xFF",
    "1_000",
    "340282366920938463463374607431768211456",
];
const OPERATORS: &[&str] =
    &["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "and", "or", "++", "--", "<>", "|>", "::"];
/// Contexts for an expression, in place of `$`.
const FRAMES: &[&str] = &[
    "($)",
    "[$]",
    "{$, $}",
    "-$",
    "not $",
    "if $ then $ else $",
    "match $ do x -> x end",
    "fn(x) -> $ end",
    "\"#{$}\"",
    "$ as Int",
    "‹$›",
    "[$ | []]",
    "Some($)",
    "Ok($)",
    "$ |> f",
    "f($)",
    "$ + 1",
    "match $ do 0 -> 1 _ -> $ end",
];

struct Random(u64);

impl Random {
    fn new(seed: u32) -> Random {
        Random(u64::from(seed) << 1 | 1)
    }

    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count.max(1)
    }

    fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}

/// Mutates a text in place: mostly parts of it, in a quarter of the cases its bytes, which reach what no program
/// contains.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let text = if seed.is_multiple_of(4) { None } else { edited(&data[..size], most, seed) };
    match text {
        Some(text) => {
            data[..text.len()].copy_from_slice(&text);
            text.len()
        }
        None => libfuzzer_sys::fuzzer_mutate(data, size, most),
    }
}

/// Crosses two texts.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let text = crossed(one, other, out.len(), seed).unwrap_or_default();
    out[..text.len()].copy_from_slice(&text);
    text.len()
}

/// Applies one to three edits within a size; `None` if the text is unchanged.
fn edited(data: &[u8], most: usize, seed: u32) -> Option<Vec<u8>> {
    let mut random = Random::new(seed);
    let mut text = String::from_utf8(data.to_vec()).ok()?;
    for _ in 0..=random.below(3) {
        if let Some(next) = edit(&text, &mut random).filter(|next| next.len() <= most) {
            text = next;
        }
    }
    (text.as_bytes() != data).then(|| text.into_bytes())
}

/// Replaces a part of the one text by a part of the other.
fn crossed(one: &[u8], other: &[u8], most: usize, seed: u32) -> Option<Vec<u8>> {
    let mut random = Random::new(seed);
    let (one, other) = (std::str::from_utf8(one).ok()?, std::str::from_utf8(other).ok()?);
    let (tree, others) = (parse(one).tree(), parse(other).tree());
    let node = random.choose(&nodes(&tree)).cloned()?;
    let fits: Vec<_> = nodes(&others).into_iter().filter(|other| sort(other.kind()) == sort(node.kind())).collect();
    let with = random.choose(&fits)?.text().to_string();
    let text = replaced(one, &node, with.trim());
    (text.len() <= most).then(|| text.into_bytes())
}

fn nodes(tree: &SyntaxNode) -> Vec<SyntaxNode> {
    tree.descendants().filter(|node| sort(node.kind()).is_some()).collect()
}

fn replaced(text: &str, node: &SyntaxNode, with: &str) -> String {
    splice(text, node.text_range(), with)
}

fn splice(text: &str, range: impl Into<std::ops::Range<usize>>, with: &str) -> String {
    let range = range.into();
    let end = text[range.clone()].trim_end().len() + range.start;
    format!("{}{with}{}", &text[..range.start], &text[end..])
}

fn edit(text: &str, random: &mut Random) -> Option<String> {
    let tree = parse(text).tree();
    let nodes = nodes(&tree);
    let node = random.choose(&nodes)?.clone();
    let sort = sort(node.kind())?;
    let words = node.text().to_string();
    Some(match random.below(10) {
        0..=2 => {
            let with = random.choose(PARTS.get(&sort)?)?;
            replaced(text, &node, with)
        }
        3 | 4 => {
            let fits: Vec<_> = nodes.iter().filter(|other| self::sort(other.kind()) == Some(sort)).collect();
            let with = random.choose(&fits)?.text().to_string();
            replaced(text, &node, with.trim())
        }
        5 => replaced(text, &node, ""),
        6 if matches!(sort, Sort::Item) => {
            let with = random.choose(PARTS.get(&sort)?)?;
            replaced(text, &node, &format!("{}\n  {with}", words.trim_end()))
        }
        6 => replaced(text, &node, &format!("{} {}", words.trim_end(), words.trim_end())),
        7 if matches!(sort, Sort::Expression) => {
            let frame = random.choose(FRAMES)?;
            replaced(text, &node, &frame.replace('$', words.trim_end()))
        }
        _ => edit_token(text, &tree, random)?,
    })
}

/// Replaces a number, a name or an operator by another.
fn edit_token(text: &str, tree: &SyntaxNode, random: &mut Random) -> Option<String> {
    let tokens = tree.descendants_with_tokens().filter_map(|element| element.into_token());
    let tokens: Vec<SyntaxToken> = tokens.filter(|token| !token.kind().is_trivia()).collect();
    let token = random.choose(&tokens)?;
    let with = match token.kind() {
        K::Int => (*random.choose(NUMBERS)?).to_owned(),
        kind if OPERATORS.iter().any(|known| *known == token.text()) && kind != K::Slash => {
            (*random.choose(OPERATORS)?).to_owned()
        }
        kind => {
            let same: Vec<_> = tokens.iter().filter(|other| other.kind() == kind).collect();
            random.choose(&same)?.text().to_owned()
        }
    };
    Some(splice(text, token.text_range(), &with))
}
