//! The container of a BEAM file: an IFF form with the chunks that the loader, `beam_lib` and stack traces read.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

use super::emit::Lambda;
use super::encode::Encoder;
use super::instruction::Label;
use super::term;
use crate::ir::form::Literal;

/// The contents of the tables besides the code.
pub(super) struct Tables<'m> {
    /// Exported functions.
    pub exports: Vec<(&'m str, u32, Label)>,
    /// Local functions.
    pub locals: Vec<(&'m str, u32, Label)>,
    /// Functions that are used as values.
    pub lambdas: Vec<Lambda<'m>>,
    /// The number of labels plus one.
    pub labels: u32,
    /// The lines of the line instructions, from 1.
    pub lines: Vec<u32>,
    /// The source file, for stack traces.
    pub file: &'m str,
}

/// The highest opcode of OTP 24. Loaders infer a file's age from its highest opcode: those of OTP 24 reject a higher
/// one, and later ones reject one low enough to be older, whatever the code holds.
const HIGHEST_OPCODE: u32 = 176;

/// The whole file.
pub(super) fn file<'m>(mut encoder: Encoder<'m>, tables: &Tables<'m>) -> Vec<u8> {
    // The code ends with `int_code_end`.
    encoder.code.push(3);
    let mut functions = |rows: &[(&'m str, u32, Label)]| {
        let mut chunk = Words::new(rows.len());
        rows.iter().for_each(|(name, arity, label)| chunk.push(&[encoder.atom_number(name), *arity, *label]));
        chunk.0
    };
    let (exports, locals) = (functions(&tables.exports), functions(&tables.locals));
    let mut lambdas = Words::new(tables.lambdas.len());
    for (at, Lambda { name, arity, captured, entry }) in tables.lambdas.iter().enumerate() {
        lambdas.push(&[encoder.atom_number(name), *arity, *entry, at as u32, *captured, 0]);
    }
    let lambdas = if tables.lambdas.is_empty() { Vec::new() } else { lambdas.0 };
    let mut imports = Words::new(encoder.imports.items.len());
    for function in encoder.imports.items.clone() {
        let (module, name) = (encoder.atom_number(function.module), encoder.atom_number(function.name));
        imports.push(&[module, name, function.arity]);
    }
    let code = code(&encoder, tables.labels);
    let version = vsn(&code, &encoder);
    let chunks: Vec<(&[u8; 4], Vec<u8>)> = vec![
        (b"AtU8", atoms(&encoder)),
        (b"Code", code),
        (b"StrT", Vec::new()),
        (b"ImpT", imports.0),
        (b"ExpT", exports),
        (b"FunT", lambdas),
        (b"LitT", literals(&encoder)),
        (b"LocT", locals),
        (b"Attr", term::literal(&property("vsn", Literal::List(vec![Literal::Int(version.into())])))),
        (b"CInf", term::literal(&information(tables.file))),
        (b"Line", lines(&encoder, tables)),
    ];
    let empty = |(name, bytes): &(&[u8; 4], Vec<u8>)| bytes.is_empty() && *name != b"StrT";
    let mut body = b"BEAM".to_vec();
    for (name, bytes) in chunks.iter().filter(|chunk| !empty(chunk)) {
        body.extend(*name);
        body.extend((bytes.len() as u32).to_be_bytes());
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    let mut file = b"FOR1".to_vec();
    file.extend((body.len() as u32).to_be_bytes());
    file.extend(body);
    file
}

/// Four-byte numbers, preceded by their count.
struct Words(Vec<u8>);

impl Words {
    fn new(count: usize) -> Words {
        Words((count as u32).to_be_bytes().to_vec())
    }

    fn push(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.0.extend(word.to_be_bytes()));
    }
}

fn atoms(encoder: &Encoder<'_>) -> Vec<u8> {
    let mut chunk = Words::new(encoder.atoms.items.len()).0;
    for name in &encoder.atoms.items {
        chunk.push(name.len() as u8);
        chunk.extend(name.as_bytes());
    }
    chunk
}

fn code(encoder: &Encoder<'_>, labels: u32) -> Vec<u8> {
    let mut chunk = Words(Vec::new());
    // The size of this header, the instruction set, the highest opcode, labels, functions.
    chunk.push(&[16, 0, HIGHEST_OPCODE, labels, encoder.functions]);
    chunk.0.extend(&encoder.code);
    chunk.0
}

fn literals(encoder: &Encoder<'_>) -> Vec<u8> {
    if encoder.literals.items.is_empty() {
        return Vec::new();
    }
    let mut table = Words::new(encoder.literals.items.len()).0;
    for literal in &encoder.literals.items {
        table.extend((literal.len() as u32).to_be_bytes());
        table.extend(literal);
    }
    let mut packed = ZlibEncoder::new((table.len() as u32).to_be_bytes().to_vec(), Compression::fast());
    packed.write_all(&table).and_then(|()| packed.finish()).expect("writing into memory does not fail")
}

/// A module's version: equal for files with the same code.
fn vsn(code: &[u8], encoder: &Encoder<'_>) -> u128 {
    let mut hash = Sha256::new();
    hash.update(code);
    encoder.literals.items.iter().for_each(|literal| hash.update(literal));
    encoder.atoms.items.iter().for_each(|name| hash.update(name));
    let digest = hash.finalize();
    digest[..16].iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn property(name: &str, value: Literal) -> Literal {
    Literal::List(vec![Literal::Tuple(vec![Literal::atom(name), value])])
}

fn information(file: &str) -> Literal {
    let text = |text: &str| Literal::List(text.chars().map(|c| Literal::Int(u32::from(c).into())).collect());
    let pair = |name: &str, value: Literal| Literal::Tuple(vec![Literal::atom(name), value]);
    Literal::List(vec![
        pair("version", text(env!("CARGO_PKG_VERSION"))),
        pair("options", Literal::List(Vec::new())),
        pair("source", text(file)),
    ])
}

/// Version 0, no flags, the numbers of instructions and lines; then each line, then the file's name.
fn lines(encoder: &Encoder<'_>, tables: &Tables<'_>) -> Vec<u8> {
    let mut chunk = Words(Vec::new());
    chunk.push(&[0, 0, encoder.lines, tables.lines.len() as u32, 1]);
    let mut numbers = Encoder::default();
    if !tables.lines.is_empty() {
        numbers.line_file(1);
    }
    tables.lines.iter().for_each(|line| numbers.line_number(*line));
    chunk.0.extend(numbers.code);
    let name = &tables.file.as_bytes()[..tables.file.len().min(usize::from(u16::MAX))];
    chunk.0.extend((name.len() as u16).to_be_bytes());
    chunk.0.extend(name);
    chunk.0
}
