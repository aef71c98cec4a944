//! Generated projects with known truth: functions and methods, files that call them, and unrelated ones of the same
//! names.

use std::collections::{BTreeMap, BTreeSet};

/// Language of a project, by its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    RustAnalyzer,
    Ty,
    Tsc,
    Gopls,
    Clangd,
}

impl Tongue {
    /// Programs that it needs.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Tongue::RustAnalyzer => &["rust-analyzer"],
            Tongue::Ty => &["ty"],
            Tongue::Tsc => &["tsc", "node"],
            Tongue::Gopls => &["gopls", "go"],
            Tongue::Clangd => &["clangd"],
        }
    }

    /// The protocol's identifier of its language.
    pub(super) fn language(self) -> &'static str {
        match self {
            Tongue::RustAnalyzer => "rust",
            Tongue::Ty => "python",
            Tongue::Tsc => "typescript",
            Tongue::Gopls => "go",
            Tongue::Clangd => "cpp",
        }
    }
}

/// Kind of each function: two are plain, one is a method of `Geo1` whose name `Other` shares, and one is `Sub3`'s
/// override of a method of `Base3`, called only through `Base3`.
const WORDS: [&str; 4] = ["alpha", "bravo", "delta", "gamma"];
pub(super) const METHOD: usize = 1;
pub(super) const OVERRIDE: usize = 3;

/// The functions that exist, and their callers.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub tongue: Tongue,
    /// How often each function was renamed.
    pub renamed: Vec<usize>,
    /// The functions that each file calls, line by line.
    pub uses: BTreeMap<usize, Vec<usize>>,
    /// Contents of files that no question concerns.
    pub filler: usize,
    pub fillers: usize,
}

/// The texts of a project by path, and the calls of each function.
pub(super) struct Rendered {
    pub files: BTreeMap<String, String>,
    pub truth: BTreeMap<usize, BTreeSet<String>>,
}

impl Model {
    pub(super) fn new(tongue: Tongue) -> Model {
        let uses = BTreeMap::from([(0, vec![0, 1, 3]), (1, vec![2, 0, 1]), (2, vec![3, 2, 2])]);
        Model { tongue, renamed: vec![0; WORDS.len()], uses, filler: 0, fillers: 0 }
    }

    /// Returns the current name of a function.
    pub(super) fn name(&self, function: usize) -> String {
        let word = WORDS[function];
        match self.renamed[function] {
            0 => word.to_owned(),
            times => format!("{word}{times}"),
        }
    }

    /// Returns the name in the syntax of find_callers.
    pub(super) fn question(&self, function: usize) -> String {
        let of = match function {
            METHOD => "Geo1.",
            OVERRIDE => "Sub3.",
            _ => "",
        };
        format!("{}:{of}{}", self.home(function), self.name(function))
    }

    /// Returns the file that declares a function.
    pub(super) fn home(&self, function: usize) -> String {
        self.path(&format!("geo{function}"))
    }

    fn path(&self, stem: &str) -> String {
        match self.tongue {
            Tongue::RustAnalyzer => format!("src/{stem}.rs"),
            Tongue::Ty => format!("{stem}.py"),
            Tongue::Tsc => format!("src/{stem}.ts"),
            Tongue::Gopls => format!("geo/{stem}.go"),
            Tongue::Clangd => format!("{stem}.cpp"),
        }
    }

    /// Returns the import that a caller needs.
    fn imported(&self, function: usize) -> String {
        match function {
            METHOD => "Geo1".to_owned(),
            OVERRIDE => "Base3".to_owned(),
            _ => self.name(function),
        }
    }

    /// Returns the line that calls a function.
    fn call(&self, stem: &str, number: usize, function: usize) -> String {
        let name = self.name(function);
        let of = match function {
            METHOD => "Geo1",
            OVERRIDE => "Base3",
            _ => {
                return match self.tongue {
                    Tongue::RustAnalyzer => format!("pub fn x{number}() -> u32 {{ {name}({number}) }}"),
                    Tongue::Ty => format!("x{number} = {name}({number})"),
                    Tongue::Tsc => format!("export const x{number} = {name}({number});"),
                    Tongue::Gopls => format!("var {stem}x{number} = {name}({number})"),
                    Tongue::Clangd => format!("int {stem}x{number}() {{ return {name}({number}); }}"),
                };
            }
        };
        self.method_call(&format!("x{number}"), stem, of, &name)
    }

    /// Returns a function that calls a method of its argument.
    fn method_call(&self, function: &str, stem: &str, of: &str, name: &str) -> String {
        let any = if of == "Base3" { "dyn " } else { "" };
        match self.tongue {
            Tongue::RustAnalyzer => format!("pub fn {function}(of: &{any}{of}) -> u32 {{ of.{name}(1) }}"),
            Tongue::Ty => format!("def {function}(of: {of}): return of.{name}(1)"),
            Tongue::Tsc => format!("export const {function} = (of: {of}): number => of.{name}(1);"),
            Tongue::Gopls => format!("func {stem}{function}(of {of}) int {{ return of.{name}(1) }}"),
            Tongue::Clangd => format!("int {stem}{function}({of} &of) {{ return of.{name}(1); }}"),
        }
    }

    /// Returns a file that calls these functions, and the lines of the calls. It also calls an unrelated function of the same name.
    fn calling(&self, stem: &str, calls: &[usize]) -> (String, Vec<usize>) {
        let wanted: BTreeSet<usize> = calls.iter().copied().collect();
        let import = |from: &str, name: &str| match self.tongue {
            Tongue::RustAnalyzer => format!("use crate::{from}::{name};"),
            Tongue::Ty => format!("from {from} import {name}"),
            _ => format!("import {{ {name} }} from './{from}';"),
        };
        let mut lines: Vec<String> = match self.tongue {
            Tongue::Gopls => vec!["package geo".to_owned()],
            Tongue::Clangd => vec!["#include \"geo.h\"".to_owned()],
            _ => {
                let wanted = wanted.iter().map(|one| import(&format!("geo{one}"), &self.imported(*one)));
                wanted.chain([import("other", "Other")]).collect()
            }
        };
        let mut numbers = Vec::new();
        for (number, one) in calls.iter().enumerate() {
            lines.push(self.call(stem, number, *one));
            numbers.push(lines.len());
        }
        lines.push(self.method_call("noise", stem, "Other", &self.name(METHOD)));
        (lines.join("\n") + "\n", numbers)
    }

    /// Returns the text of the file that declares a function.
    fn declaring(&self, function: usize) -> String {
        let name = self.name(function);
        match (self.tongue, function) {
            (Tongue::RustAnalyzer, METHOD) => {
                format!(
                    "pub struct Geo1;\nimpl Geo1 {{\n    pub fn {name}(&self, x: u32) -> u32 {{\n        x\n    }}\n}}\n"
                )
            }
            (Tongue::RustAnalyzer, OVERRIDE) => format!(
                "pub trait Base3 {{\n    fn {name}(&self, x: u32) -> u32;\n}}\n\
                 pub struct Sub3;\nimpl Base3 for Sub3 {{\n    fn {name}(&self, x: u32) -> u32 {{\n        x\n    }}\n}}\n"
            ),
            (Tongue::RustAnalyzer, _) => format!("pub fn {name}(x: u32) -> u32 {{\n    x\n}}\n"),
            (Tongue::Ty, METHOD) => format!("class Geo1:\n    def {name}(self, x):\n        return x\n"),
            (Tongue::Ty, OVERRIDE) => format!(
                "class Base3:\n    def {name}(self, x):\n        return x\n\n\
                 class Sub3(Base3):\n    def {name}(self, x):\n        return x\n"
            ),
            (Tongue::Ty, _) => format!("def {name}(x):\n    return x\n"),
            (Tongue::Tsc, METHOD) => {
                format!("export class Geo1 {{\n  private own = 1;\n  {name}(x: number): number {{ return x; }}\n}}\n")
            }
            (Tongue::Tsc, OVERRIDE) => format!(
                "export class Base3 {{\n  private own = 1;\n  {name}(x: number): number {{ return x; }}\n}}\n\
                 export class Sub3 extends Base3 {{\n  override {name}(x: number): number {{ return -x; }}\n}}\n"
            ),
            (Tongue::Tsc, _) => format!("export function {name}(x: number): number {{\n  return x;\n}}\n"),
            (Tongue::Gopls, METHOD) => {
                format!("package geo\n\ntype Geo1 struct{{}}\n\nfunc (g Geo1) {name}(x int) int {{ return x }}\n")
            }
            (Tongue::Gopls, OVERRIDE) => format!(
                "package geo\n\ntype Base3 interface {{\n\t{name}(x int) int\n}}\n\n\
                 type Sub3 struct{{}}\n\nfunc (s Sub3) {name}(x int) int {{ return x }}\n"
            ),
            (Tongue::Gopls, _) => format!("package geo\n\nfunc {name}(x int) int {{ return x }}\n"),
            (Tongue::Clangd, METHOD) => format!("#include \"geo.h\"\nint Geo1::{name}(int x) {{ return x; }}\n"),
            (Tongue::Clangd, OVERRIDE) => format!(
                "#include \"geo.h\"\nint Base3::{name}(int x) {{ return x; }}\nint Sub3::{name}(int x) {{ return -x; }}\n"
            ),
            (Tongue::Clangd, _) => format!("#include \"geo.h\"\nint {name}(int x) {{ return x; }}\n"),
        }
    }

    pub(super) fn render(&self) -> Rendered {
        let mut files = BTreeMap::new();
        let mut truth: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        let functions = 0..self.renamed.len();
        for function in functions.clone() {
            truth.entry(function).or_default();
            files.insert(self.home(function), self.declaring(function));
        }
        for (file, calls) in &self.uses {
            let path = self.path(&format!("uses{file}"));
            let (text, lines) = self.calling(&format!("uses{file}"), calls);
            for (function, line) in calls.iter().zip(lines) {
                truth.entry(*function).or_default().insert(format!("{path}:{line}"));
            }
            files.insert(path, text);
        }
        let (name, method) = (self.name(0), self.name(METHOD));
        let (other, filler) = match self.tongue {
            Tongue::RustAnalyzer => (
                format!(
                    "pub fn {name}() -> u8 {{\n    1\n}}\npub fn noise() -> u8 {{\n    {name}()\n}}\n\
                     pub struct Other;\nimpl Other {{\n    pub fn {method}(&self, x: u32) -> u32 {{\n        x\n    }}\n}}\n"
                ),
                format!("pub const FILLED: usize = {};\n", self.filler),
            ),
            Tongue::Ty => (
                format!(
                    "def {name}():\n    return 1\n\ndef noise():\n    return {name}()\n\n\
                     class Other:\n    def {method}(self, x):\n        return x\n"
                ),
                format!("filled = {}\n", self.filler),
            ),
            Tongue::Tsc => (
                format!(
                    "export function {name}(): number {{ return 1; }}\nexport const noise = {name}();\n\
                     export class Other {{\n  private own = 2;\n  {method}(x: number): number {{ return x; }}\n}}\n"
                ),
                format!("export const filled = {};\n", self.filler),
            ),
            Tongue::Gopls => (
                format!("package other\n\nfunc {name}() int {{ return 1 }}\n\nvar noise = {name}()\n"),
                format!("package geo\n\n// filled {}\n", self.filler),
            ),
            Tongue::Clangd => (
                format!("static int {name}() {{ return 1; }}\nint noise() {{ return {name}(); }}\n"),
                format!("int filled_NUMBER = {};\n", self.filler),
            ),
        };
        let other_path = match self.tongue {
            Tongue::Gopls => "other/other.go".to_owned(),
            _ => self.path("other"),
        };
        files.insert(other_path, other);
        if self.tongue == Tongue::Gopls {
            let other =
                format!("package geo\n\ntype Other struct{{}}\n\nfunc (o Other) {method}(x int) int {{ return x }}\n");
            files.insert("geo/others.go".to_owned(), other);
        }
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
                let [alpha, bravo, delta, gamma] = [0, METHOD, 2, OVERRIDE].map(|one| self.name(one));
                let header = format!(
                    "int {alpha}(int x);\nint {delta}(int x);\nstruct Geo1 {{\n  int {bravo}(int x);\n}};\n\
                     struct Other {{\n  int {bravo}(int x) {{ return x; }}\n}};\n\
                     struct Base3 {{\n  virtual int {gamma}(int x);\n}};\n\
                     struct Sub3 : Base3 {{\n  int {gamma}(int x) override;\n}};\n"
                );
                files.insert("geo.h".to_owned(), header);
                let sources = files.keys().filter(|path| path.ends_with(".cpp"));
                let entries: Vec<_> = sources
                    .map(
                        |file| serde_json::json!({"directory": "ROOT", "file": file, "arguments": ["c++", "-c", file]}),
                    )
                    .collect();
                ("compile_commands.json", serde_json::Value::from(entries).to_string())
            }
        };
        files.insert(path.to_owned(), text);
    }
}
