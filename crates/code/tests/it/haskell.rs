//! Haskell, verified with the `.hie` files of the installed GHC.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use expect_test::expect;
use serde_json::json;

use crate::judged_project::{JudgedProject, sites};

const GEO: &str = "\
module Geo (Shape (..), Circle (..), Square (Square), surface, (<+>), module Names) where

import Names

infixl 6 <+>

class Shape a where
  area :: a -> Int
  name :: a -> String
  name _ = \"shape\"

data Circle = Circle {radius :: Int, label :: String} deriving (Eq, Show)

newtype Square = Square Int

instance Shape Circle where
  area c = radius c * 3

instance Shape Square where
  area (Square side) = side * side

(<+>) :: Int -> Int -> Int
a <+> b = a + b

surface :: Shape a => a -> Int
surface x = area x <+> helper 1
  where
    helper y = y <+> 1
";
const NAMES: &str = "module Names where\n\nhelper :: Int -> Int\nhelper n = n\n\nplain :: Int\nplain = helper 2\n\n\
                     {-# INLINE plain #-}\n\ndata Names = Names\n";
const USES: &str = "\
{-# LANGUAGE RecordWildCards, NamedFieldPuns #-}
module Uses where

import qualified Geo as G
import Geo (Circle (..), (<+>))

total :: Int
total = G.surface (Circle 1 \"a\") + sum (map G.area [Circle {radius = 2, label = \"b\"}])

squares :: Int
squares = G.area (G.Square 2) `plus` G.helper 3
  where
    plus = (<+>)

wild :: Circle -> Int
wild Circle {..} = radius + 1

punned :: Circle -> Int
punned Circle {radius} = radius

grown :: Circle -> Circle
grown c = c {radius = radius c + 1}

other :: Int
other = let radius = 5; area = 2 in radius * area
";

fn folder() -> JudgedProject {
    let judged = JudgedProject::new();
    judged.write("Geo.hs", GEO).write("Names.hs", NAMES).write("Uses.hs", USES);
    judged
}

#[test]
fn names_mean_what_ghc_says_through_imports_reexports_scopes_and_types() {
    let judged = folder();
    // Imports, re-exports and scopes.
    expect![[r#"
        helper final
          Geo.hs:26 call refuted -
          Names.hs:7 call confirmed Names.hs:4
          Uses.hs:11 call confirmed Names.hs:4
        surface final
          Uses.hs:8 call confirmed Geo.hs:26
        <+> final
          Geo.hs:26 call confirmed Geo.hs:23
          Geo.hs:28 call confirmed Geo.hs:23
          Uses.hs:13 value confirmed Geo.hs:23
    "#]]
    .assert_eq(&judged.callers(&["helper", "surface", "<+>"]));
    // A method runs in the instances that types allow.
    expect![[r#"
        Shape.area final
          Geo.hs:26 call confirmed Geo.hs:8 interface
          Uses.hs:8 value confirmed Geo.hs:8 interface
          Uses.hs:11 call confirmed Geo.hs:8 interface
          Uses.hs:25 value refuted -
        Geo.hs:17 final
          Geo.hs:26 call confirmed Geo.hs:17 interface
          Uses.hs:8 value confirmed Geo.hs:17 interface
          Uses.hs:11 call refuted -
          Uses.hs:25 value refuted -
        Geo.hs:20 final
          Geo.hs:26 call confirmed Geo.hs:20 interface
          Uses.hs:8 value refuted -
          Uses.hs:11 call confirmed Geo.hs:20 interface
          Uses.hs:25 value refuted -
    "#]]
    .assert_eq(&judged.callers(&["Shape.area", "Geo.hs:17", "Geo.hs:20"]));
    // Fields, types and constructors are told apart. A pragma is a use; a module of that name is not.
    expect![[r#"
        radius final
          Geo.hs:17 field_read confirmed Geo.hs:12
          Uses.hs:8 field_write confirmed Geo.hs:12
          Uses.hs:16 field_read confirmed Geo.hs:12
          Uses.hs:19 pattern confirmed Geo.hs:12
          Uses.hs:19 field_read refuted -
          Uses.hs:22 field_write confirmed Geo.hs:12
          Uses.hs:22 field_read confirmed Geo.hs:12
          Uses.hs:25 binding refuted -
          Uses.hs:25 field_read refuted -
        Square final
          Geo.hs:1 export confirmed Geo.hs:14
          Geo.hs:1 export confirmed Geo.hs:14
          Geo.hs:19 type confirmed Geo.hs:14
          Geo.hs:20 pattern confirmed Geo.hs:14
          Uses.hs:11 construct confirmed Geo.hs:14
        Geo.hs:14:18 final
          Geo.hs:1 export refuted -
          Geo.hs:1 export confirmed Geo.hs:14
          Geo.hs:19 type refuted -
          Geo.hs:20 pattern confirmed Geo.hs:14
          Uses.hs:11 construct confirmed Geo.hs:14
        plain final
          Names.hs:6 signature confirmed Names.hs:7
          Names.hs:9 signature confirmed Names.hs:7
        Names final
          Geo.hs:1 export refuted -
          Geo.hs:3 import refuted -
    "#]]
    .assert_eq(&judged.uses(&["radius", "Square", "Geo.hs:14:18", "plain", "Names"]));
    let (answer, text) = judged.until_final("find_callees", json!({"name": "squares"}));
    expect![[r#"
        3 callees, complete · checked by ghc · 1 more that this project does not define (external)
        defined: Uses.hs:11 function squares
          Shape.area  method Geo.hs:8  at 11
          helper  function Names.hs:4  at 11
          <+>  function Geo.hs:23  as a value at 13"#]]
    .assert_eq(&text);
    assert_eq!(answer["head"]["complete"], true, "{text}");
}

#[test]
fn a_module_that_does_not_compile_is_named_and_the_others_stay_verified() {
    let judged = folder();
    judged.write("Bad.hs", "module Bad where\nimport Geo\nbad = surface \"x\" + missing\n");
    judged.write("After.hs", "module After where\nimport Bad\nimport Geo\nafter = bad + surface (Square 1)\n");
    judged.write("Header.hs", "module Header where\nimport No.Such.Module\nx = 1\n");
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "surface"}));
    expect![[r#"
        1 caller. 2 more calls are unverified: surface ×2 · After.hs is not compiled: needs Bad.hs; Bad.hs does not compile (line 3: Variable not in scope: missing :: Int)
        defined: Geo.hs:26 function surface
        verified:
        Uses.hs
          8  total  call  total = G.surface (Circle 1 "a") + sum (map G.area [Circle {radius = 2, label = "b"}])
        unverified:
        After.hs
          4  after  call  after = bad + surface (Square 1)
        Bad.hs
          3  bad  call  bad = surface "x" + missing"#]].assert_eq(&text);
    assert_eq!(answer["head"]["complete"], false, "{text}");
    let (_, text) = judged.until_final("find_callers", json!({"name": "plain"}));
    assert!(text.starts_with("No callers in this project, complete"), "{text}");
    judged.write("Bad.hs", "module Bad where\nimport Geo\nbad = surface (Square 2)\n");
    assert_eq!(judged.final_places("surface"), ["After.hs:4", "Bad.hs:3", "Uses.hs:8"]);
}

const CABAL: &str = "\
cabal-version: 2.4
name: shapes
version: 0.1.0

library
  exposed-modules: Shapes
  other-modules: Paths_shapes
  autogen-modules: Paths_shapes
  hs-source-dirs: src
  build-depends: base, containers
  default-extensions: LambdaCase
  default-language: Haskell2010
  cpp-options: -DFAST=1

executable shapes
  main-is: Main.hs
  hs-source-dirs: app
  build-depends: base, shapes
  default-language: Haskell2010

test-suite spec
  type: exitcode-stdio-1.0
  main-is: Spec.hs
  hs-source-dirs: test
  build-depends: base, shapes
  default-language: Haskell2010
";
const SHAPES: &str = "\
{-# LANGUAGE CPP #-}
module Shapes where

import qualified Data.Map as Map
import Paths_shapes (version)

scale :: Int -> Int
scale = \\case
  0 -> 1
  n -> n

#if FAST && MIN_VERSION_containers(0,5,0)
fast :: Int
fast = scale (Map.size (Map.fromList [(scale 1, version)]))
#else
slow :: Int
slow = scale 2
#endif
";

#[test]
fn the_components_of_a_package_are_compiled_with_its_flags_and_nothing_is_written_there() {
    let judged = JudgedProject::new();
    judged.write("shapes.cabal", CABAL).write("src/Shapes.hs", SHAPES);
    judged.write("app/Main.hs", "module Main where\nimport Shapes\nmain = print (scale 3)\n");
    judged.write("test/Spec.hs", "import qualified Shapes as S\nmain = print (S.scale 4 == scale 4)\nscale = id\n");
    expect![[r#"
        src/Shapes.hs:scale final
          app/Main.hs:3 call confirmed src/Shapes.hs:8
          src/Shapes.hs:14 call confirmed src/Shapes.hs:8
          src/Shapes.hs:14 call confirmed src/Shapes.hs:8
          test/Spec.hs:2 call confirmed src/Shapes.hs:8
          test/Spec.hs:2 call refuted -
        test/Spec.hs:scale final
          app/Main.hs:3 call refuted -
          src/Shapes.hs:14 call refuted -
          src/Shapes.hs:14 call refuted -
          test/Spec.hs:2 call refuted -
          test/Spec.hs:2 call confirmed test/Spec.hs:3
    "#]]
    .assert_eq(&judged.callers(&["src/Shapes.hs:scale", "test/Spec.hs:scale"]));
    let mut files = judged.files();
    files.retain(|file| !file.starts_with(".git"));
    assert_eq!(files, ["app/Main.hs", "shapes.cabal", "src/Shapes.hs", "test/Spec.hs"]);
}

#[test]
fn template_haskell_runs_only_where_the_project_is_trusted() {
    let judged = JudgedProject::new();
    let marker = judged.path().join("ran");
    let made = format!("runIO (writeFile {:?} \"\") >> [| 1 |]", marker.display().to_string());
    judged.write_files(
        "--- Lib.hs\n{-# LANGUAGE TemplateHaskell #-}\nmodule Lib where\nimport Language.Haskell.TH\n\n\
         twice :: Q Exp -> Q Exp\ntwice e = [| $e + $e |]\n\nbase :: Int\nbase = 1\n",
    );
    judged.write(
        "Use.hs",
        format!(
            "{{-# LANGUAGE TemplateHaskell #-}}\nmodule Use where\nimport Lib\nimport Language.Haskell.TH\n\n\
         x :: Int\nx = $(twice [| base |])\n\ny :: Int\ny = base + $({made})\n"
        ),
    );
    judged.is_trusted.store(false, Ordering::Relaxed);
    let (answer, text) = judged.stays_open("find_callers", "base");
    let wanted = "hob does not start ghc here before you trust this project (GHC runs the project's Template Haskell, \
                  preprocessors and plugins): run `hob trust`";
    assert!(text.contains(wanted) && !marker.exists(), "{text}");
    assert_eq!(answer["head"]["servers"][0]["state"], "not_trusted");
    judged.is_trusted.store(true, Ordering::Relaxed);
    expect![[r#"
        base open
          Use.hs:7 value undecided -
          Use.hs:10 value confirmed Lib.hs:9
    "#]]
    .assert_eq(&judged.callers(&["base"]));
    assert!(marker.exists());
}

#[test]
fn an_answer_comes_in_time_while_ghc_compiles_and_is_right_after_each_change() {
    let judged = folder();
    let (answer, text) = judged.ask("find_callers", json!({"name": "surface", "wait_ms": 0})).unwrap();
    assert!(text.contains("ghc has been compiling for "), "{text}");
    assert_eq!(
        (&answer["head"]["complete"], &answer["head"]["servers"][0]["state"]),
        (&json!(false), &json!("loading"))
    );
    assert_eq!(sites(&answer), ["Uses.hs:8 call undecided -"], "{text}");
    assert_eq!(judged.final_places("surface"), ["Uses.hs:8"]);
    // The source is older than GHC's output for its previous version.
    judged.write("Uses.hs", USES.replace("total = G.surface (Circle 1 \"a\")", "total = G.area (Circle 1 \"a\")"));
    let past = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(judged.path().join("Uses.hs")).unwrap().set_modified(past).unwrap();
    let (_, text) = judged.until_final("find_callers", json!({"name": "surface"}));
    assert!(text.starts_with("No callers in this project, complete"), "{text}");
    // A change in one file changes meanings in another.
    judged.write("Names.hs", format!("{NAMES}\nsurface :: Int\nsurface = 1\n"));
    judged.write("Geo.hs", GEO.replace("surface, ", "").replace("surface", "inner"));
    judged.write("Uses.hs", USES);
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "surface"}));
    assert!(text.contains("Uses.hs does not compile (line 8: "), "{text}");
    assert_eq!(answer["head"]["complete"], false);
}

#[test]
fn literate_haskell_is_compiled_and_its_uses_are_said() {
    let judged = folder();
    judged
        .write("Lit.lhs", "Words.\n\n> module Lit where\n> import Geo\n>\n> lit :: Int\n> lit = surface (Square 2)\n");
    let (answer, text) = judged.until_judged("find_callers", json!({"name": "surface"}));
    assert!(text.contains("Lit.lhs uses it in line 7 (hob does not list uses in literate Haskell)"), "{text}");
    assert_eq!(sites(&answer), ["Uses.hs:8 call confirmed Geo.hs:26"], "{text}");
    assert_eq!(answer["head"]["complete"], false, "{text}");
}

#[test]
fn a_constructor_of_another_package_with_the_same_name_is_of_another_type() {
    let judged = JudgedProject::new();
    judged.write("Box.hs", "module Box where\n\nimport Prelude hiding (Just)\n\ndata Box = Empty | Just Int\n\nopen :: Box -> Int\nopen Empty = 0\nopen (Just n) = n\n");
    judged.write("Other.hs", "module Other where\n\nonly :: Maybe Int -> Int\nonly (Just n) = n\n");
    let (_, text) = judged.until_final("find_matches", json!({"type_name": "Box"}));
    expect![[r#"
        1 match, complete: 1 breaks · checked by ghc
        defined: Box.hs:5 enum Box
        breaks: Box.hs
          8  open  function clauses  warning (-Wincomplete-patterns) and run-time failure  open Empty = 0"#]]
    .assert_eq(&text);
}
