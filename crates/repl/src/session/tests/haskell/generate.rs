//! Generates random pieces: functions whose patterns, guards and bodies contain everything that a cutter could mistake,
//! in any order with types, classes, operators, comments and statements, well laid out or broken.

use super::super::stress::Random;
use super::Piece;

/// A type and its values and patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Int,
    String,
    Char,
    List,
    Pair,
    Maybe,
}

const TYPES: [Type; 6] = [Type::Int, Type::String, Type::Char, Type::List, Type::Pair, Type::Maybe];

struct Making<'a> {
    random: &'a mut Random,
    lines: Vec<String>,
    /// Defined functions to `Int`, with their argument types.
    functions: Vec<(String, Type)>,
    names: usize,
}

pub(super) fn piece(random: &mut Random, n: u64) -> Piece {
    let mut making = Making { random, lines: Vec::new(), functions: Vec::new(), names: 0 };
    if making.one_in(4) {
        making.lines.push("import qualified Data.List as L -- f = 1".to_owned());
    }
    for _ in 0..=making.random.below(5) {
        making.comment();
        match making.random.below(10) {
            0..=4 => making.function(),
            5 => making.operator(),
            6 => making.data(),
            7 => making.class(),
            8 => making.constant(),
            _ => making.statement(),
        }
        if making.one_in(3) {
            making.lines.push(String::new());
        }
    }
    making.uses();
    if making.one_in(12) {
        making.spoil();
    }
    let extensions = ["LambdaCase", "ViewPatterns", "BangPatterns"].map(str::to_owned).to_vec();
    Piece { name: format!("generated {n}"), extensions, lines: making.lines }
}

impl Making<'_> {
    fn one_in(&mut self, bound: u64) -> bool {
        self.random.below(bound) == 0
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.random.below(texts.len() as u64) as usize]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        let stem = self.pick(&["f", "go", "größe", "x'", "letX", "dataOf", "_u", "ofIt", "данные", "where_", "typed"]);
        format!("{stem}{}", self.names)
    }

    fn type_(&mut self) -> Type {
        TYPES[self.random.below(6) as usize]
    }

    fn comment(&mut self) {
        let comment = match self.random.below(14) {
            0 => "-- a = b",
            1 => "-- | documentation",
            2 => "{- several\n:t lines = of\n  it -}",
            3 => "    -- indented, don't mind",
            4 => "{- nested {- \" -} ( -}",
            5 => "---- → größer",
            _ => return,
        };
        self.lines.extend(comment.lines().map(str::to_owned));
    }

    fn literal(&mut self, type_: Type) -> String {
        let n = self.random.below(5);
        match type_ {
            Type::Int => format!("{n}"),
            Type::String => {
                self.pick(&["\"a\"", "\"x = 1\"", "\"|\"", "\"-- no\"", "\"{-\"", "\"\\\"\"", "\"größe →\""]).to_owned()
            }
            Type::Char => self.pick(&["'a'", "'='", "'\\''", "'\"'", "'|'", "'('", "'λ'"]).to_owned(),
            Type::List => self.pick(&["[]", "[1]", "[1, 2]", "[x|x<-[1..3]]", "(3 : [])"]).to_owned(),
            Type::Pair => format!("({n}, {})", self.literal(Type::Char)),
            Type::Maybe => self.pick(&["Nothing", "(Just 1)", "(Just $ 2 + 1)"]).to_owned(),
        }
    }

    /// Generates a pattern, and an expression of `Int` that uses the names it binds.
    fn pattern(&mut self, type_: Type) -> (String, String) {
        if self.one_in(3) {
            let pattern = match type_ {
                Type::List => self.pick(&["[]", "[1]", "[_, 2]"]).to_owned(),
                Type::Maybe => self.pick(&["Nothing", "(Just 1)"]).to_owned(),
                Type::Pair => format!("({}, _)", self.literal(Type::Int)),
                other => self.literal(other),
            };
            return (pattern, format!("{}", self.random.below(100)));
        }
        let (pattern, value) = match (type_, self.random.below(4)) {
            (Type::Int, 0) => ("!v", "v + 1"),
            (Type::Int, 1) => ("((+ 1) -> v)", "v * 2"),
            (Type::Int, _) => ("v", "v - 1"),
            (Type::String, 0) => ("(c:_)", "fromEnum c"),
            (Type::String, 1) => ("v@(_:_)", "length v"),
            (Type::String, 2) => ("(length -> v)", "v"),
            (Type::String, _) => ("v", "length v + length \"=\""),
            (Type::Char, 0) => ("((== '=') -> True)", "1"),
            (Type::Char, _) => ("v", "fromEnum v"),
            (Type::List, 0) => ("(v:_)", "v"),
            (Type::List, 1) => ("vs@[_, _]", "sum vs"),
            (Type::List, 2) => ("(\n    (v:_)\n  )", "v * 3"),
            (Type::List, _) => ("vs", "sum [v | v <- vs, v /= 7, let w = v, w == v]"),
            (Type::Pair, 0) => ("(v, 'a')", "v"),
            (Type::Pair, 1) => ("~(v, _)", "v"),
            (Type::Pair, _) => ("(v, c)", "v + fromEnum c"),
            (Type::Maybe, 0) => ("(Just v)", "v"),
            (Type::Maybe, _) => ("v", "maybe 0 (\\w -> w + 1) v"),
        };
        (pattern.to_owned(), value.to_owned())
    }

    /// Generates the text after the left-hand side.
    fn body(&mut self, value: &str) -> Vec<String> {
        let text = match self.random.below(12) {
            0 => format!(" =\n  {value}"),
            1 => format!("\n  | 1 > 2 = 0\n  | otherwise = {value}"),
            2 => format!(" | True, let y = {value}, y == y = y | otherwise = 5"),
            3 => format!(" = r + s\n  where\n    r = {value}\n    s | r > 3 = 1\n      | otherwise = 2"),
            4 => format!(" = case {value} of\n  0 -> 1\n  y | y > 4 -> y\n    | otherwise -> y + 1"),
            5 => format!(" = let y = {value}; z = 1 in y + z"),
            6 => format!(" = if {value} == 1\n  then 2\n  else 3"),
            7 => format!(" = (\\case {{ 0 -> 1; y -> y }}) $ {value}"),
            8 => format!(" = sum $ do\n  y <- [{value}]\n  let z = y\n  return (y + z)"),
            9 => format!("\n  =\n-- in between\n    {value}"),
            10 => format!(" = r -- = s\n  where r = {value} {{- | -}}\n-- in column one\n        s = 2"),
            _ => format!(" = {value}"),
        };
        text.split('\n').map(str::to_owned).collect()
    }

    fn clause(&mut self, left: &str, value: &str) {
        let body = self.body(value);
        let mut lines: Vec<String> = left.split('\n').map(str::to_owned).collect();
        if let (Some(last), Some(first)) = (lines.last_mut(), body.first()) {
            last.push_str(first);
        }
        self.lines.extend(lines);
        self.lines.extend(body.into_iter().skip(1));
    }

    fn function(&mut self) {
        let (name, type_) = (self.name(), self.type_());
        if self.one_in(6) {
            self.lines.push(format!("{{-# INLINE\n  {name} #-}}").replace('\n', " "));
        }
        if self.one_in(2) {
            let of = match type_ {
                Type::Int => "Int",
                Type::String => "String",
                Type::Char => "Char",
                Type::List => "[Int]",
                Type::Pair => "(Int, Char)",
                Type::Maybe => "Maybe Int",
            };
            self.lines.push(format!("{name} :: {of} -> Int"));
            self.comment();
        }
        for _ in 0..self.random.below(4) {
            let (pattern, value) = self.pattern(type_);
            self.clause(&format!("{name} {pattern}"), &value);
            if self.one_in(4) {
                self.comment();
            }
        }
        self.lines.push(format!("{name} _ = {}", self.names));
        self.functions.push((name, type_));
    }

    fn operator(&mut self) {
        self.names += 1;
        let stem = self.pick(&["<+>", "|>", "=~=", "-->", "∘", ".=", "$>>"]);
        let operator = format!("{stem}{}", ">".repeat(self.names));
        let behind = self.one_in(2);
        let fixity = format!("infixl 6 {operator}");
        if !behind {
            self.lines.push(fixity.clone());
        }
        match self.random.below(4) {
            0 => self.clause(&format!("a {operator} b"), "a * 10 + b"),
            1 => self.clause(&format!("({operator}) a b"), "a - b"),
            2 => {
                self.lines.push(format!("0 {operator} _ = 1"));
                self.clause(&format!("a {operator} 2"), "a");
                self.lines.push(format!("a {operator} b = a + b"));
            }
            _ => {
                self.lines.push(format!("({operator}) :: Int -> Int -> Int"));
                self.clause(&format!("(a {operator} b)"), "a * b");
            }
        }
        if behind {
            self.lines.push(fixity);
        }
        let (a, b) = (self.random.below(9), self.random.below(9));
        self.lines.push(format!("? {a} {operator} {b}"));
    }

    fn data(&mut self) {
        self.names += 1;
        let n = self.names;
        let lines = match self.random.below(4) {
            0 => format!("data T{n} = A{n} | B{n} Int deriving (Show, Eq)"),
            1 => format!("data T{n}\n  = A{n} -- ^ x = 1\n  | B{n} {{ b{n} :: Int }}\n  deriving (Show)"),
            2 => format!("data T{n} = B{n} {{\n  b{n} :: Int\n  }} | A{n}\n  deriving Show"),
            _ => format!(
                "data T{n} = A{n} | B{n} Int\ninstance Show T{n} where\n  show A{n} = \"A\"\n  show (B{n} n) | n > 1 = \"=\"\n               | otherwise = show n"
            ),
        };
        self.lines.extend(lines.split('\n').map(str::to_owned));
        if self.one_in(2) {
            self.lines.push(format!("? [A{n}, B{n} 2]"));
        } else {
            self.lines.push(format!("isA{n} A{n} = 'y'\nisA{n} (B{n} 0) = '='").replace('\n', "; "));
            self.lines.push(format!("isA{n} _ = 'n'"));
            self.lines.push(format!("> print (map isA{n} [A{n}, B{n} 0, B{n} 1])"));
        }
    }

    fn class(&mut self) {
        self.names += 1;
        let n = self.names;
        self.lines.extend([format!("class C{n} a where"), format!("  c{n} :: a -> Int")]);
        if self.one_in(2) {
            self.lines.extend(["  -- the usual".to_owned(), format!("  c{n} _ = {n}")]);
        }
        self.comment();
        self.lines.push(format!("data K{n} = K{n}"));
        self.lines.push(format!("instance C{n} K{n} where"));
        self.clause(&format!("  c{n} K{n}"), "2");
        // A body that begins in the first column would end the instance.
        let from = self.lines.iter().rposition(|line| line.starts_with("instance")).unwrap_or(0);
        for line in self.lines[from + 2..].iter_mut().filter(|line| !line.starts_with("--")) {
            *line = format!("    {line}");
        }
        self.lines.push(format!("? c{n} K{n}"));
    }

    fn constant(&mut self) {
        let name = self.name();
        let type_ = self.type_();
        let value = self.literal(type_);
        match self.random.below(4) {
            0 => self.lines.push(format!("({name}, {name}y) = ({value}, '=')")),
            1 => self.lines.extend([format!("{name} ="), format!("  {value}")]),
            2 => self.lines.push(format!("{name} | 1 > 2 = {value} | otherwise = {value}")),
            _ => self.lines.push(format!("{name} = {value}; {name}z = 1")),
        }
        if type_ != Type::Maybe && type_ != Type::List {
            self.lines.push(format!("? {name}"));
        }
    }

    fn statement(&mut self) {
        let type_ = [Type::Int, Type::String, Type::Char][self.random.below(3) as usize];
        let value = self.literal(type_);
        let name = self.name();
        let lines = match self.random.below(8) {
            0 => format!("> {name} <- return {value}\n> print {name}"),
            1 => format!("> let {name} = {value}\n>     z = 1\n> print ({name}, z)"),
            2 => format!("> let {{ {name} = {value} }}\n> print {name}"),
            3 => format!("> case {value} of\n>   y | y == y -> print y\n>   _ -> return ()"),
            4 => format!("> if {value} == {value}\n>   then putStrLn \"=\"\n>   else putStrLn \"|\""),
            5 => format!("> mapM_ (\\y -> do\n>   print y) [{value}]"),
            6 => format!("> do\n>   let y = {value}\n>   print y\n>   putStrLn \"x = 1\""),
            _ => format!("? ( {value}\n| , 'x' )"),
        };
        self.lines.extend(lines.split('\n').map(str::to_owned));
    }

    fn uses(&mut self) {
        for (name, type_) in std::mem::take(&mut self.functions) {
            for _ in 0..=self.random.below(2) {
                let value = self.literal(type_);
                let value = if value.starts_with('[') || value.starts_with('"') { value } else { format!("({value})") };
                self.lines.push(format!("? {name} {value}"));
                if self.one_in(6) {
                    self.comment();
                }
            }
        }
    }

    /// Adds at the end code that GHC rejects: the code before it is still valid.
    fn spoil(&mut self) {
        let lines = self.pick(&[
            "broken x = (x + 1",
            "broken = \"open",
            "broken = 'ab'",
            "broken x = notThere x",
            "broken = 1 + 'c'",
            "broken x = case x of",
            "broken = ]",
            "class = 3",
            "broken :: Int\nother = 1",
            "{- open",
        ]);
        self.lines.extend(lines.split('\n').map(str::to_owned));
    }
}
