//! The tools about code, on a real package of two modules in `cabal repl`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use mcp::tool::AnyTool;
use process::Guard;
use project::Caller;
use serde_json::{Value, json};

use repl::{Repl, ReplOptions, tools};

use crate::fixture;

pub(crate) const CABAL: &str = "cabal-version: 2.4\nname: two\nversion: 0.1.0.0\nbuild-type: Simple\n\nlibrary\n  hs-source-dirs: src\n  \
                     exposed-modules: Shape, Area\n  build-depends: base\n  default-language: Haskell2010\n  ghc-options: \
                     -Wall\n";

const SHAPE: &str = r#"-- | Shapes.
module Shape (Shape (..), Named (..), unit, double) where

import Data.List (sort)

-- | A plane figure.
data Shape
  = -- | A circle with its radius.
    Circle Double
  | Square {side :: Double}
  deriving (Eq, Show)

-- | Things with a name.
class Named a where
  name :: a -> String

instance Named Shape where
  name (Circle _) = "circle"
  name (Square _) = "square"

unit :: Shape
unit = Square 1

double :: Shape -> Shape
double (Circle r) = Circle (r * 2)
double (Square s) = Square (s * 2)
"#;

const AREA: &str = "module Area where

import Shape

-- | The area of a shape.
area :: Shape -> Double
area shape = case shape of
  Circle r -> pi * r * r
  Square s -> let square = s * s in square

total :: [Shape] -> Double
total = sum . map area
";

/// A package, its caller, and the tools.
pub(crate) struct Package {
    pub(crate) dir: tempfile::TempDir,
    tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) repl: Arc<Repl>,
    caller: Caller,
}

impl Package {
    pub(crate) fn new() -> Package {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        std::fs::create_dir_all(path.join("src")).expect("made");
        std::fs::create_dir_all(path.join(".home/cabal")).expect("made");
        // Without a package server: the package needs only what GHC brings.
        std::fs::write(path.join(".home/cabal/config"), "-- none\n").expect("written");
        let package = Package {
            tools: Vec::new(),
            repl: Repl::new(ReplOptions { guard: Guard::Without, ..ReplOptions::default() }),
            caller: caller(path),
            dir,
        };
        package.write("two.cabal", CABAL);
        package.write("src/Shape.hs", SHAPE);
        package.write("src/Area.hs", AREA);
        Package { tools: tools(package.repl.clone()), ..package }
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        std::fs::write(self.dir.path().join(file), text).expect("written");
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> (String, Value) {
        match fixture::call(&self.tools, self.caller.clone(), name, &arguments).await {
            Ok(answer) => answer,
            Err(error) => (format!("refused: {error}"), Value::Null),
        }
    }

    pub(crate) async fn check(&self, name: &str, arguments: Value, expected: Expect) -> Value {
        let (text, structured) = self.call(name, arguments).await;
        expected.assert_eq(&plain(&text));
        structured
    }

    async fn ask(&self, kind: &str, target: &str, expected: Expect) {
        self.check("repl_query", json!({"kind": kind, "target": target}), expected).await;
    }

    pub(crate) async fn at(&self, kind: &str, place: (&str, u32, u32), expected: Expect) {
        let position = json!({"file": place.0, "line": place.1, "column": place.2});
        self.check("repl_query", json!({"kind": kind, "position": position}), expected).await;
    }
}

/// Converts to the wording of GHC 9.0: without the codes of newer compilers and the version of their library.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace("to be reloaded.", "loaded.").replace(" reloaded.", " loaded.").replace("’.\n", "’\n");
    let text = text.replace("unloaded all modules.", "no modules loaded.");
    let text = text.replace("GHC.Internal.", "GHC.").replace("(ghc-internal-", "(base-");
    let mut parts = text.split(" [GHC-");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once(']').map_or(part, |(_, rest)| rest));
    match text.split_once("(base-") {
        Some((before, version)) => format!("{before}(base{}", version.trim_start_matches(|c: char| c != ')')),
        None => text,
    }
}

fn caller(dir: &Path) -> Caller {
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    env.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_default());
    env.insert("HOME".to_owned(), dir.join(".home").display().to_string());
    env.insert("CABAL_DIR".to_owned(), dir.join(".home/cabal").display().to_string());
    Caller { env, ..fixture::caller(dir) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions() {
    let package = Package::new();
    let p = &package;
    p.ask("type", "map", expect!["map :: (a -> b) -> [a] -> [b]"]).await;
    p.ask(
        "type",
        "area",
        expect![[r#"
        Area.area :: Shape -> Double
        area is not in scope at the prompt; it was found as Area.area."#]],
    )
    .await;
    p.ask("type", "nope", expect![[r#"
        refused: <interactive>:1:1: error: Variable not in scope: nope
        Only names in scope can be queried: give the full name (Module.name), or `:module +` the module with repl_eval."#]]).await;
    p.ask("kind", "Maybe", expect!["Maybe :: * -> *"]).await;
    p.ask("kind", "Maybe Nope", expect![[r#"
        refused: <interactive>:1:7: error: Not in scope: type constructor or class ‘Nope’
        Only names in scope can be queried: give the full name (Module.name), or `:module +` the module with repl_eval."#]]).await;
    p.ask(
        "info",
        "Shape",
        expect![[r#"
        type Shape :: *
        data Shape = Circle Double | Square {side :: Double}  -- src/Shape.hs:7:1
        instance Eq Shape  -- src/Shape.hs:11:13
        instance Named Shape  -- src/Shape.hs:17:10
        instance Show Shape  -- src/Shape.hs:11:17"#]],
    )
    .await;
    p.ask(
        "info",
        "total",
        expect![[r#"
        Area.total :: [Shape] -> Double  -- src/Area.hs:12:1
        total is not in scope at the prompt; it was found as Area.total."#]],
    )
    .await;
    p.ask(
        "doc",
        "area",
        expect![[r#"
        The area of a shape.
        area is not in scope at the prompt; it was found as Area.area."#]],
    )
    .await;
    p.ask("doc", "Circle", expect!["A circle with its radius."]).await;
    p.ask(
        "doc",
        "total",
        expect![[r#"
        refused: total: <has no documentation>
        It has no documentation that GHCi can see; `info` shows its declaration."#]],
    )
    .await;
    p.ask(
        "browse",
        "Area",
        expect![[r#"
        Area.area :: Shape -> Double
        Area.total :: [Shape] -> Double"#]],
    )
    .await;
    p.ask(
        "browse",
        "Nope",
        expect![[r#"
        refused: error: Could not find module ‘Nope’
            It is not a module in the current program, or in any known package.
        `target` is a module's name, such as Data.Map."#]],
    )
    .await;
    p.ask(
        "instances",
        "Shape",
        expect![[r#"
        instance Eq Shape  -- src/Shape.hs:11:13
        instance Show Shape  -- src/Shape.hs:11:17
        instance Named Shape  -- src/Shape.hs:17:10"#]],
    )
    .await;
    p.ask("complete", "mapM", expect!["mapM mapM_"]).await;
    p.ask("complete", "zzz", expect![[r#"Nothing completes "zzz"."#]]).await;
    p.ask(
        "holes",
        "map _ [1 :: Int] :: [String]",
        expect![[r#"
        _ :: Int -> String
          fits show :: forall a. Show a => a -> String
          fits mempty :: forall a. Monoid a => a"#]],
    )
    .await;
    p.ask("holes", "map", expect!["No holes in map."]).await;
    p.check("repl_query", json!({"kind": "holes"}), expect!["No holes in the loaded modules."]).await;
    p.check(
        "repl_query",
        json!({"kind": "browse"}),
        expect![[r#"
        type Shape :: *
        data Shape = Circle Double | Square {side :: Double}
        type Named :: * -> Constraint
        class Named a where
          name :: a -> String
          {-# MINIMAL name #-}
        unit :: Shape
        double :: Shape -> Shape"#]],
    )
    .await;
    p.check(
        "repl_query",
        json!({"kind": "type"}),
        expect![[r#"
        refused: type needs a `target`.
        Give the name or expression in `target`."#]],
    )
    .await;
    p.check(
        "repl_query",
        json!({"kind": "type", "target": "a\nb"}),
        expect![[r#"
        refused: A question has one line.
        Use repl_eval for code of several lines."#]],
    )
    .await;
    p.at("type_at", ("src/Area.hs", 7, 7), expect![[r#"
        shape :: Shape
        Each load now collects position information (:set +c). For this the modules were reloaded once, and bindings made at the prompt are gone."#]]).await;
    p.at("type_at", ("Area", 12, 16), expect!["map :: (Shape -> Double) -> [Shape] -> [Double]"]).await;
    p.at("loc_at", ("src/Area.hs", 8, 4), expect!["src/Shape.hs:9:5-17"]).await;
    p.at("loc_at", ("src/Area.hs", 8, 15), expect!["GHC.Float (base)"]).await;
    p.at(
        "uses",
        ("src/Area.hs", 9, 37),
        expect![[r#"
        src/Area.hs:9:19-24
        src/Area.hs:9:37-42
        GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {"name":"square"} lists them all."#]],
    )
    .await;
    p.at(
        "uses",
        ("src/Area.hs", 9, 1),
        expect![[r#"
            refused: No name found at line 9, column 1 of src/Area.hs.
            Lines and columns count from 1; give `end_line` and `end_column` for an expression."#]],
    )
    .await;
    p.at(
        "uses",
        ("src/Nope.hs", 9, 1),
        expect![[r#"
        refused: src/Nope.hs is not loaded in this session.
        Loaded are src/Area.hs, src/Shape.hs; repl_reload with `targets` loads others."#]],
    )
    .await;
    let span = json!({"file": "src/Area.hs", "line": 8, "column": 15, "end_column": 24});
    p.check("repl_query", json!({"kind": "type_at", "position": span}), expect!["src/Area.hs:8:15-24 :: Double"]).await;
    p.check(
        "repl_query",
        json!({"kind": "uses"}),
        expect![[r#"
            refused: uses needs a position.
            Give `at`, such as "src/Area.hs:8:15"."#]],
    )
    .await;
    // Uses in other modules too, found from the definition or a use; not other entities of the same name.
    p.write("src/Shape.hs", &format!("{SHAPE}\ntotal :: Shape\ntotal = double unit\n"));
    p.write(
        "src/Area.hs",
        &AREA.replace("import Shape\n", "import Shape hiding (total)\nbigger :: Shape\nbigger = double unit\n"),
    );
    p.call("repl_reload", json!({})).await;
    for at in [("src/Shape.hs", 25, 1), ("src/Area.hs", 5, 10)] {
        p.at(
            "uses",
            at,
            expect![[r#"
                src/Shape.hs:25:1-6
                src/Area.hs:5:10-15
                src/Shape.hs:29:9-14
                GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {"name":"double"} lists them all."#]],
        )
        .await;
    }
    p.at(
        "uses",
        ("src/Shape.hs", 29, 1),
        expect![[r#"
            src/Shape.hs:29:1-5
            GHCi misses uses of types, constructors, fields and names that are not exported; find_uses {"name":"total"} lists them all."#]],
    )
    .await;
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads() {
    let package = Package::new();
    let p = &package;
    p.check(
        "repl_diagnostics",
        json!({}),
        expect![[r#"
        refused: Unknown session "main" in this worktree.
        Start one with repl_start or repl_eval."#]],
    )
    .await;
    let first = p
        .check(
            "repl_reload",
            json!({"wait_ms": 50_000}),
            expect![[r#"
                Added:
                src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
                      except perhaps to import instances from ‘Data.List’
                    To import instances alone, use: import Data.List()
                Ok, two modules loaded.
                [main: done; no errors, 1 warning; load 1]
                The session was started just now; its start was the load."#]],
        )
        .await;
    assert_eq!(first["generation"], 1);
    assert_eq!(first["added"][0]["flag"], "-Wunused-imports");
    p.write("src/Area.hs", &AREA.replace("pi * r * r", "pi * radius"));
    let broken = p
        .check(
            "repl_reload",
            json!({}),
            expect![[r#"
                Added:
                src/Area.hs:8:20: error: Variable not in scope: radius :: Double
                Unchanged:
                src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
                Failed, one module loaded.
                [main #2: error; 1 error, 1 warning; load 2]"#]],
        )
        .await;
    assert_eq!((&broken["ok"], &broken["status"]), (&json!(false), &json!("error")));
    // A caller waits for the next load, which the fix triggers.
    let repair = async {
        p.write("src/Area.hs", AREA);
        p.call("repl_eval", json!({"code": ":reload"})).await
    };
    let (waited, _) = tokio::join!(p.call("repl_diagnostics", json!({"since": broken["generation"]})), repair);
    expect![[r#"
        src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
              except perhaps to import instances from ‘Data.List’
            To import instances alone, use: import Data.List()
        Ok, two modules loaded.
        [main: no errors, 1 warning; load 3]"#]]
    .assert_eq(&plain(&waited.0));
    p.check(
        "repl_diagnostics",
        json!({"since": 3, "wait_ms": 10}),
        expect![[r#"
            src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
                  except perhaps to import instances from ‘Data.List’
                To import instances alone, use: import Data.List()
            Ok, two modules loaded.
            [main: no errors, 1 warning; load 3; no load has ended since, repl_reload loads now]"#]],
    )
    .await;
    p.check(
        "repl_reload",
        json!({"targets": ["src/Shape.hs"]}),
        expect![[r#"
            Unchanged:
            src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
            Ok, one module loaded.
            [main #4: done; no errors, 1 warning; load 4]"#]],
    )
    .await;
    p.check(
        "repl_reload",
        json!({"targets": ["Nope"]}),
        expect![[r#"
            Added:
            error: module ‘Nope’ cannot be found locally
            Gone:
            src/Shape.hs:4:1: warning [-Wunused-imports]: The import of ‘Data.List’ is redundant
            Failed, no modules loaded.
            [main #6: error; 1 error, no warnings; load 5]"#]],
    )
    .await;
    p.check(
        "repl_reload",
        json!({"targets": ["nofile"]}),
        expect![[r#"
            Unchanged:
            error: module ‘Nope’ cannot be found locally
            [main #7: error; 1 error, no warnings; load 5]
            target ‘nofile’ is not a module name or a source file"#]],
    )
    .await;
    let (text, loaded) = p.call("repl_eval", json!({"code": ":load nofile"})).await;
    assert_eq!(loaded["status"], "error", "{text}");
    p.check(
        "repl_reload",
        json!({"targets": ["a\nb"]}),
        expect![[r#"
        refused: "a\nb" in `targets` is not a module or file name.
        Give names such as Data.Shape or src/Data/Shape.hs."#]],
    )
    .await;
    package.repl.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_of_packages() {
    let package = Package::new();
    let p = &package;
    std::fs::remove_file(p.dir.path().join("two.cabal")).expect("there");
    for name in ["a", "b"] {
        std::fs::create_dir_all(p.dir.path().join(name).join("src")).expect("made");
        p.write(&format!("{name}/{name}.cabal"), &CABAL.replace("two", name).replace("Shape, Area", "Shape"));
        p.write(&format!("{name}/src/Shape.hs"), SHAPE);
    }
    p.write("cabal.project", "packages: a b\n");
    let (text, _) = p.call("repl_eval", json!({"code": "side unit"})).await;
    let text = text.replace(&p.dir.path().display().to_string(), "PROJECT");
    expect![[r#"
        refused: The cabal project in PROJECT has several packages: a, b.
        Start the session in one of them: repl_start with `cwd`, such as "a".
        Or name one in `component`, such as "NAME" or "NAME:exe:app"."#]]
    .assert_eq(&text);
    p.call("repl_start", json!({"cwd": "a"})).await;
    let (text, _) = p.call("repl_eval", json!({"code": "side unit"})).await;
    assert!(text.starts_with("1.0\n"), "{text}");
    // A single package is chosen automatically.
    p.write("cabal.project", "packages: b\n");
    let (text, _) = p.call("repl_eval", json!({"session": "other", "code": "side unit"})).await;
    assert!(text.starts_with("1.0\n"), "{text}");
    package.repl.shutdown().await;
}
