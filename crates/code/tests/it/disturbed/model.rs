//! Projects that a program makes, so that it knows the truth: functions, files that call them, and functions of the same names
//! that mean something else.

use std::collections::{BTreeMap, BTreeSet};

/// What a project is written in, by its judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    RustAnalyzer,
    Ty,
    Tsc,
    Gopls,
    Clangd,
}

impl Tongue {
    /// The programs that it needs.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Tongue::RustAnalyzer => &["rust-analyzer"],
            Tongue::Ty => &["ty"],
            Tongue::Tsc => &["tsc", "node"],
            Tongue::Gopls => &["gopls", "go"],
            Tongue::Clangd => &["clangd"],
        }
    }

    /// What the protocol calls its language.
    pub(super) fn language(self) -> &'static str {
        match self {
            Tongue::RustAnalyzer => "rust",
            Tongue::Ty => "python",
            Tongue::Tsc => "typescript",
            Tongue::Gopls => "go",
            Tongue::Clangd => "c",
        }
    }
}

/// What is there: which functions, and who calls them.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub tongue: Tongue,
    /// How often each function was given another name.
    pub renamed: Vec<usize>,
    /// The functions that each file calls, line by line.
    pub uses: BTreeMap<usize, Vec<usize>>,
    /// What stands in files that nobody asks about.
    pub filler: usize,
    pub fillers: usize,
}

/// The texts of a project by path, and where each function is called.
pub(super) struct Rendered {
    pub files: BTreeMap<String, String>,
    pub truth: BTreeMap<usize, BTreeSet<String>>,
}

impl Model {
    pub(super) fn new(tongue: Tongue) -> Model {
        let uses = BTreeMap::from([(0, vec![0, 1, 0]), (1, vec![2, 0]), (2, vec![1, 2, 2])]);
        Model { tongue, renamed: vec![0; 3], uses, filler: 0, fillers: 0 }
    }

    /// The present name of a function.
    pub(super) fn name(&self, function: usize) -> String {
        let word = ["alpha", "bravo", "delta"][function];
        match self.renamed[function] {
            0 => word.to_owned(),
            times => format!("{word}{times}"),
        }
    }

    /// How find_callers is asked for it.
    pub(super) fn question(&self, function: usize) -> String {
        format!("{}:{}", self.home(function), self.name(function))
    }

    /// The file that declares a function.
    pub(super) fn home(&self, function: usize) -> String {
        match self.tongue {
            Tongue::RustAnalyzer => format!("src/geo{function}.rs"),
            Tongue::Ty => format!("geo{function}.py"),
            Tongue::Tsc => format!("src/geo{function}.ts"),
            Tongue::Gopls => format!("geo/geo{function}.go"),
            Tongue::Clangd => format!("geo{function}.c"),
        }
    }

    fn path(&self, stem: &str) -> String {
        match self.tongue {
            Tongue::RustAnalyzer => format!("src/{stem}.rs"),
            Tongue::Ty => format!("{stem}.py"),
            Tongue::Tsc => format!("src/{stem}.ts"),
            Tongue::Gopls => format!("geo/{stem}.go"),
            Tongue::Clangd => format!("{stem}.c"),
        }
    }

    /// A file that calls these functions, and the lines of the calls.
    fn calling(&self, stem: &str, calls: &[usize]) -> (String, Vec<usize>) {
        let wanted: BTreeSet<usize> = calls.iter().copied().collect();
        let mut lines: Vec<String> = match self.tongue {
            Tongue::RustAnalyzer => {
                wanted.iter().map(|one| format!("use crate::geo{one}::{};", self.name(*one))).collect()
            }
            Tongue::Ty => wanted.iter().map(|one| format!("from geo{one} import {}", self.name(*one))).collect(),
            Tongue::Tsc => {
                wanted.iter().map(|one| format!("import {{ {} }} from './geo{one}';", self.name(*one))).collect()
            }
            Tongue::Gopls => vec!["package geo".to_owned()],
            Tongue::Clangd => vec!["#include \"geo.h\"".to_owned()],
        };
        let mut numbers = Vec::new();
        for (number, one) in calls.iter().enumerate() {
            let name = self.name(*one);
            lines.push(match self.tongue {
                Tongue::RustAnalyzer => format!("pub fn x{number}() -> u32 {{ {name}({number}) }}"),
                Tongue::Ty => format!("x{number} = {name}({number})"),
                Tongue::Tsc => format!("export const x{number} = {name}({number});"),
                Tongue::Gopls => format!("var {stem}x{number} = {name}({number})"),
                Tongue::Clangd => format!("int {stem}x{number}(void) {{ return {name}({number}); }}"),
            });
            numbers.push(lines.len());
        }
        (lines.join("\n") + "\n", numbers)
    }

    pub(super) fn render(&self) -> Rendered {
        let mut files = BTreeMap::new();
        let mut truth: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        let functions = 0..self.renamed.len();
        for function in functions.clone() {
            let name = self.name(function);
            truth.entry(function).or_default();
            files.insert(
                self.home(function),
                match self.tongue {
                    Tongue::RustAnalyzer => format!("pub fn {name}(x: u32) -> u32 {{\n    x\n}}\n"),
                    Tongue::Ty => format!("def {name}(x):\n    return x\n"),
                    Tongue::Tsc => format!("export function {name}(x: number): number {{\n  return x;\n}}\n"),
                    Tongue::Gopls => format!("package geo\n\nfunc {name}(x int) int {{ return x }}\n"),
                    Tongue::Clangd => format!("#include \"geo.h\"\nint {name}(int x) {{ return x; }}\n"),
                },
            );
        }
        for (file, calls) in &self.uses {
            let path = self.path(&format!("uses{file}"));
            let (text, lines) = self.calling(&format!("uses{file}"), calls);
            for (function, line) in calls.iter().zip(lines) {
                truth.entry(*function).or_default().insert(format!("{path}:{line}"));
            }
            files.insert(path, text);
        }
        let name = self.name(0);
        let (other, filler) = match self.tongue {
            Tongue::RustAnalyzer => (
                format!("pub fn {name}() -> u8 {{\n    1\n}}\npub fn noise() -> u8 {{\n    {name}()\n}}\n"),
                format!("pub const FILLED: usize = {};\n", self.filler),
            ),
            Tongue::Ty => (
                format!("def {name}():\n    return 1\n\ndef noise():\n    return {name}()\n"),
                format!("filled = {}\n", self.filler),
            ),
            Tongue::Tsc => (
                format!("export function {name}(): number {{ return 1; }}\nexport const noise = {name}();\n"),
                format!("export const filled = {};\n", self.filler),
            ),
            Tongue::Gopls => (
                format!("package other\n\nfunc {name}() int {{ return 1 }}\n\nvar noise = {name}()\n"),
                format!("package geo\n\n// filled {}\n", self.filler),
            ),
            Tongue::Clangd => (
                format!("static int {name}(void) {{ return 1; }}\nint noise(void) {{ return {name}(); }}\n"),
                format!("int filled_NUMBER = {};\n", self.filler),
            ),
        };
        let other_path = match self.tongue {
            Tongue::Gopls => "other/other.go".to_owned(),
            _ => self.path("other"),
        };
        files.insert(other_path, other);
        for number in 0..self.fillers {
            files.insert(self.path(&format!("filler{number}")), filler.replace("NUMBER", &number.to_string()));
        }
        self.add_manifest(&mut files);
        Rendered { files, truth }
    }

    fn add_manifest(&self, files: &mut BTreeMap<String, String>) {
        let (path, text) = match self.tongue {
            Tongue::RustAnalyzer => {
                let modules: String = files
                    .keys()
                    .filter_map(|path| path.strip_prefix("src/")?.strip_suffix(".rs"))
                    .map(|stem| format!("pub mod {stem};\n"))
                    .collect();
                files.insert("src/lib.rs".to_owned(), modules);
                let manifest = "[package]\nname = \"made\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
                ("Cargo.toml", manifest.to_owned())
            }
            Tongue::Ty => ("pyproject.toml", "[project]\nname = \"made\"\nversion = \"1\"\n".to_owned()),
            Tongue::Tsc => ("tsconfig.json", "{\"include\": [\"src\"]}\n".to_owned()),
            Tongue::Gopls => ("go.mod", "module made\n\ngo 1.19\n".to_owned()),
            Tongue::Clangd => {
                let prototypes: String =
                    (0..self.renamed.len()).map(|one| format!("int {}(int x);\n", self.name(one))).collect();
                files.insert("geo.h".to_owned(), prototypes);
                let sources = files.keys().filter(|path| path.ends_with(".c"));
                let entries: Vec<_> = sources
                    .map(|file| serde_json::json!({"directory": "ROOT", "file": file, "arguments": ["cc", "-c", file]}))
                    .collect();
                ("compile_commands.json", serde_json::Value::from(entries).to_string())
            }
        };
        files.insert(path.to_owned(), text);
    }
}
