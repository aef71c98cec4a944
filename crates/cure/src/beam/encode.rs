//! Instructions as bytes: the code chunk's compact terms and the tables they index.

use std::collections::HashMap;
use std::hash::Hash;

use super::instruction::{After, Function, Instruction, Register, Source, Test};
use super::term;

/// Values in the order of their first use.
#[derive(Debug)]
pub(super) struct Table<T> {
    places: HashMap<T, u32>,
    /// All of them.
    pub items: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { places: HashMap::new(), items: Vec::new() }
    }
}

impl<T: Hash + Eq + Clone> Table<T> {
    /// The index of a value, from 0.
    pub(super) fn index_of(&mut self, item: T) -> u32 {
        if let Some(place) = self.places.get(&item) {
            return *place;
        }
        let place = self.items.len() as u32;
        self.places.insert(item.clone(), place);
        self.items.push(item);
        place
    }
}

/// The encoded code of a module, and its tables.
#[derive(Debug, Default)]
pub(super) struct Encoder<'m> {
    /// The module's name.
    module: &'m str,
    pub code: Vec<u8>,
    /// Atoms; they are numbered from 1, the module's name first.
    pub atoms: Table<&'m str>,
    /// Functions of other modules.
    pub imports: Table<Function<'m>>,
    /// Constants in the external term format.
    pub literals: Table<Vec<u8>>,
    /// The number of functions.
    pub functions: u32,
    /// The number of line instructions.
    pub lines: u32,
    /// A name that exceeds the length limit of atoms; the file is then unusable.
    pub long_name: Option<String>,
}

// Tags of compact terms.
const UNSIGNED: u8 = 0;
const INTEGER: u8 = 1;
const ATOM: u8 = 2;
const X: u8 = 3;
const Y: u8 = 4;
const LABEL: u8 = 5;
/// Tags of lists, allocations and literals, whose kind is in the first byte.
const LIST: u8 = 0x17;
const ALLOCATION: u8 = 0x37;
const LITERAL: u8 = 0x47;

impl<'m> Encoder<'m> {
    /// An encoder for a module of this name.
    pub(super) fn new(module: &'m str) -> Encoder<'m> {
        let mut encoder = Encoder { module, ..Encoder::default() };
        encoder.atom_number(module);
        encoder
    }

    /// The number of an atom.
    pub(super) fn atom_number(&mut self, name: &'m str) -> u32 {
        if name.len() > 255 {
            self.long_name = Some(name.to_owned());
        }
        self.atoms.index_of(name) + 1
    }

    fn opcode(&mut self, opcode: u8) {
        self.code.push(opcode);
    }

    fn number(&mut self, tag: u8, value: i64) {
        if (0..16).contains(&value) {
            self.code.push((value as u8) << 4 | tag);
        } else if (16..2048).contains(&value) {
            self.code.extend([((value >> 3) as u8 & 0xE0) | 0x08 | tag, value as u8]);
        } else {
            let all = value.to_be_bytes();
            // The shortest signed encoding, but at least two bytes.
            let spare = |at: &usize| {
                let (byte, next) = (all[*at], all[*at + 1]);
                (byte == 0 && next < 0x80) || (byte == 0xFF && next >= 0x80)
            };
            let skipped = (0..6).take_while(spare).count();
            let bytes = &all[skipped..];
            self.code.push(((bytes.len() - 2) as u8) << 5 | 0x18 | tag);
            self.code.extend(bytes);
        }
    }

    fn unsigned(&mut self, value: u32) {
        self.number(UNSIGNED, value.into());
    }

    fn label(&mut self, label: u32) {
        self.number(LABEL, label.into());
    }

    fn atom(&mut self, name: &'m str) {
        let number = self.atom_number(name);
        self.number(ATOM, number.into());
    }

    fn register(&mut self, register: Register) {
        match register {
            Register::X(x) => self.number(X, x.into()),
            Register::Y(y) => self.number(Y, y.into()),
        }
    }

    fn literal(&mut self, bytes: Vec<u8>) {
        let place = self.literals.index_of(bytes);
        self.code.push(LITERAL);
        self.unsigned(place);
    }

    fn source(&mut self, source: Source<'m>) {
        match source {
            Source::Register(register) => self.register(register),
            Source::Integer(value) => self.number(INTEGER, value),
            Source::Atom(name) => self.atom(name),
            Source::Nil => self.number(ATOM, 0),
            Source::EmptyTuple => self.literal(vec![131, 104, 0]),
            Source::Literal(literal) => {
                if let Some(name) = term::long_name(literal) {
                    self.long_name = Some(name.to_owned());
                }
                self.literal(term::literal(literal));
            }
            Source::External(function) => {
                self.atom_number(function.module);
                self.atom_number(function.name);
                self.literal(term::external(function));
            }
        }
    }

    fn list(&mut self, count: usize) {
        self.code.push(LIST);
        self.unsigned(count as u32);
    }

    fn import(&mut self, function: Function<'m>) {
        self.atom_number(function.module);
        self.atom_number(function.name);
        let place = self.imports.index_of(function);
        self.unsigned(place);
    }

    /// In a table of lines: the file of the following lines.
    pub(super) fn line_file(&mut self, file: u32) {
        self.number(ATOM, file.into());
    }

    /// In a table of lines: a line.
    pub(super) fn line_number(&mut self, line: u32) {
        self.number(INTEGER, line.into());
    }

    /// Writes an instruction.
    pub(super) fn write(&mut self, instruction: &Instruction<'m>) {
        match instruction {
            Instruction::Label(label) => {
                self.opcode(1);
                self.unsigned(*label);
            }
            Instruction::Line(line) => {
                self.opcode(153);
                self.unsigned(*line);
                self.lines += 1;
            }
            Instruction::FunctionInfo { name, arity } => {
                self.functions += 1;
                self.opcode(2);
                self.atom(self.module);
                self.atom(name);
                self.unsigned(*arity);
            }
            Instruction::Move(from, to) => {
                self.opcode(64);
                self.source(*from);
                self.register(*to);
            }
            Instruction::Allocate { slots, live } => self.numbers(12, &[*slots, *live]),
            Instruction::Initialise(slots) => {
                self.opcode(172);
                self.list(slots.len());
                slots.iter().for_each(|slot| self.register(Register::Y(*slot)));
            }
            Instruction::Deallocate(slots) => self.numbers(18, &[*slots]),
            Instruction::Return => self.opcode(19),
            Instruction::Jump(to) => {
                self.opcode(61);
                self.label(*to);
            }
            Instruction::Call(entry, arity, after) => {
                self.numbers(opcode_after(*after, [4, 6, 5]), &[*arity]);
                self.label(*entry);
                self.encode_after(*after);
            }
            Instruction::CallExternal(function, after) => {
                self.numbers(opcode_after(*after, [7, 78, 8]), &[function.arity]);
                self.import(*function);
                self.encode_after(*after);
            }
            Instruction::CallFunction(arity) => self.numbers(75, &[*arity]),
            Instruction::Heap { words, functions, live } => {
                self.opcode(16);
                if *functions == 0 {
                    self.unsigned(*words);
                } else {
                    self.code.push(ALLOCATION);
                    [3, 0, *words, 1, 0, 2, *functions].into_iter().for_each(|number| self.unsigned(number));
                }
                self.unsigned(*live);
            }
            Instruction::PutList(head, tail, into) => {
                self.opcode(69);
                self.source(*head);
                self.source(*tail);
                self.register(*into);
            }
            Instruction::PutTuple(parts, into) => {
                self.opcode(164);
                self.register(*into);
                self.list(parts.len());
                parts.iter().for_each(|part| self.source(*part));
            }
            Instruction::MakeFunction { lambda, captured, into, .. } => {
                self.numbers(171, &[*lambda]);
                self.register(*into);
                self.list(captured.len());
                captured.iter().for_each(|register| self.register(*register));
            }
            Instruction::Element(of, at, into) => {
                self.opcode(66);
                self.register(*of);
                self.unsigned(*at);
                self.register(*into);
            }
            Instruction::Head(of, into) => self.registers(162, [*of, *into]),
            Instruction::Tail(of, into) => self.registers(163, [*of, *into]),
            Instruction::Simple(name, args, into) => {
                self.opcode(if args.len() == 1 { 10 } else { 11 });
                self.label(0);
                self.built_in(name, args, *into);
            }
            Instruction::Collecting(name, live, args, into) => {
                self.opcode(if args.len() == 1 { 124 } else { 125 });
                self.label(0);
                self.unsigned(*live);
                self.built_in(name, args, *into);
            }
            Instruction::Test(test, otherwise, args) => self.test(*test, *otherwise, args),
            Instruction::Select(on, otherwise, cases) => {
                self.opcode(59);
                self.register(*on);
                self.label(*otherwise);
                self.list(cases.len() * 2);
                for (value, label) in cases {
                    self.source(*value);
                    self.label(*label);
                }
            }
        }
    }

    fn numbers(&mut self, opcode: u8, numbers: &[u32]) {
        self.opcode(opcode);
        numbers.iter().for_each(|number| self.unsigned(*number));
    }

    fn registers(&mut self, opcode: u8, registers: [Register; 2]) {
        self.opcode(opcode);
        registers.into_iter().for_each(|register| self.register(register));
    }

    fn encode_after(&mut self, after: After) {
        if let After::FrameReturn(slots) = after {
            self.unsigned(slots);
        }
    }

    fn built_in(&mut self, name: &'static str, args: &[Source<'m>], into: Register) {
        self.import(Function::erlang(name, args.len() as u32));
        args.iter().for_each(|arg| self.source(*arg));
        self.register(into);
    }

    fn test(&mut self, test: Test, otherwise: u32, args: &[Source<'m>]) {
        self.opcode(match test {
            Test::Less => 39,
            Test::AtLeast => 40,
            Test::Equal => 41,
            Test::NotEqual => 42,
            Test::Identical => 43,
            Test::NotIdentical => 44,
            Test::Float => 46,
            Test::Nil => 52,
            Test::Cons => 56,
            Test::Tuple => 57,
            Test::Arity => 58,
            Test::Tagged => 159,
        });
        self.label(otherwise);
        for (at, arg) in args.iter().enumerate() {
            match (test, at, arg) {
                // The size of a tuple is a plain number, not a value.
                (Test::Arity | Test::Tagged, 1, Source::Integer(size)) => self.number(UNSIGNED, *size),
                _ => self.source(*arg),
            }
        }
    }
}

/// Chooses among the opcodes of a call that continues, one that returns, and one that returns with a frame.
fn opcode_after(after: After, [next, returns, framed]: [u8; 3]) -> u8 {
    match after {
        After::Next => next,
        After::Return => returns,
        After::FrameReturn(_) => framed,
    }
}
