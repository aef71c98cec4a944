//! Edits of a project on disk: the modules that are checked again, and the reported errors.

use std::fs;
use std::time::{Duration, Instant};

use expect_test::expect;

use super::*;
use crate::diagnostic::Lines;
use crate::{Limits, compile};

/// A project on disk.
struct Project {
    dir: tempfile::TempDir,
    workspace: Workspace,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::new([dir.path().to_owned()]);
        let project = Project { dir, workspace };
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the modules checked now, and the errors.
    fn check(&mut self) -> String {
        let report = self.workspace.refresh().check(self.dir.path());
        let mut said = format!("checked: {}\n", report.checked.join(" "));
        for file in &report.files {
            let name = file.path.strip_prefix(self.dir.path()).unwrap().display().to_string();
            let lines = Lines::new(&file.text);
            file.diagnostics.iter().for_each(|one| said.push_str(&format!("{name}:{}\n", one.line(&lines))));
            file.problem.iter().for_each(|problem| said.push_str(&format!("{name}: {problem}\n")));
        }
        said.replace(&self.dir.path().display().to_string(), "[dir]")
    }
}

const BASE: &str = "module Base do\n  def one(): Int = 1\nend\n";
const MIDDLE: &str = "module Middle do\n  import Base [one/0]\n  def two(): Int = one() + 1\nend\n";
const TOP: &str = "module Top do\n  import Middle [two/0]\n  def three(): Int = two() + 1\nend\n";

fn three() -> Project {
    Project::new(&[("top.cure", TOP), ("deep/any.cure", MIDDLE), ("base.cure", BASE)])
}

#[test]
fn only_what_changed_is_checked_again() {
    let mut project = three();
    expect!["checked: Base Middle Top\n"].assert_eq(&project.check());
    expect!["checked: \n"].assert_eq(&project.check());
    project.write("base.cure", &BASE.replace("= 1", "=\n    2 - 1"));
    expect!["checked: Base\n"].assert_eq(&project.check());
    // A private function, and a comment, are no business of others.
    project.write(
        "base.cure",
        "# New.\nmodule Base do\n  export [one/0]\n  def one(): Int = hid()\n  def hid(): Int = 1\nend\n",
    );
    expect!["checked: Base\n"].assert_eq(&project.check());
    project.write("base.cure", &BASE.replace("(): Int = 1", "(): String = \"1\""));
    expect![[r#"
        checked: Base Middle
        deep/any.cure:3:20 error C0301: expected a number, found String
    "#]]
    .assert_eq(&project.check());
    project.write("base.cure", BASE);
    expect!["checked: Base Middle\n"].assert_eq(&project.check());
}

#[test]
fn what_is_inferred_and_demanded_is_part_of_the_interface() {
    let base = "module Base do\n  type Small = {x: Int | x < 10}\n  def one(n: Small) when n > 0 = n + 0\nend\n";
    let user = "module User do\n  import Base\n  def two(): Int = one(2)\nend\n";
    let mut project = Project::new(&[("a.cure", base), ("b.cure", user)]);
    expect!["checked: Base User\n"].assert_eq(&project.check());
    project.write("a.cure", &base.replace("n + 0", "n + 1"));
    expect!["checked: Base\n"].assert_eq(&project.check());
    project.write("a.cure", &base.replace("n + 0", "\"#{n}\""));
    expect![[r#"
        checked: Base User
        b.cure:3:20 error C0301: expected Int, found String
    "#]]
    .assert_eq(&project.check());
    project.write("a.cure", &base.replace("n > 0", "n > 2"));
    expect![[r#"
        checked: Base User
        b.cure:3:20 error C0404: the precondition of `one` does not hold; its guard is a condition that callers must prove; test the value with `if` before the call
    "#]]
    .assert_eq(&project.check());
    project.write("a.cure", &base.replace("x < 10", "x < 2"));
    expect![[r#"
        checked: Base User
        b.cure:3:24 error C0401: 2 does not fit Small
    "#]]
    .assert_eq(&project.check());
}

/// A module that only meets the values of another sees its types, and not its functions.
#[test]
fn what_is_met_and_not_imported_is_seen_too() {
    let shapes = "module Shapes do\n  type Shape = Circle(Int) | Dot\n  derive Show\n  def one(): Int = 1\nend\n";
    let shapes = &shapes.replace("\n  derive", " derive");
    let make = "module Make do\n  import Shapes\n  def made(): Shape = Circle(2)\nend\n";
    let show = "module Shown do\n  import Make [made/0]\n  def text(): String = \"#{made()}\"\nend\n";
    let mut project = Project::new(&[("a.cure", shapes), ("b.cure", make), ("c.cure", show)]);
    expect!["checked: Shapes Make Shown\n"].assert_eq(&project.check());
    project.write("a.cure", &shapes.replace("(): Int = 1", "(): Bool = true"));
    expect!["checked: Shapes Make\n"].assert_eq(&project.check());
    project.write("a.cure", &shapes.replace(" derive Show", ""));
    expect![[r#"
        checked: Shapes Make Shown
        c.cure:3:27 error C0305: `Shape` has no instance of `Show`; write `derive Show` behind the type, or `instance Show(Shape) do … end`
    "#]]
    .assert_eq(&project.check());
}

#[test]
fn modules_that_come_and_go() {
    let mut project = three();
    project.check();
    fs::remove_file(project.dir.path().join("base.cure")).unwrap();
    expect![[r#"
        checked: Middle Top
        deep/any.cure:2:10 error C0201: there is no module `Base`; modules are found by the name they declare, in this project and in the standard library
    "#]]
    .assert_eq(&project.check());
    project.write("elsewhere/x.cure", BASE);
    expect![[r#"
        checked: Base Middle Top
    "#]]
    .assert_eq(&project.check());
    project.write("twice.cure", BASE);
    expect![[r#"
        checked: 
        twice.cure:1:8 error C0206: the module `Base` is defined twice; it stands in elsewhere/x.cure too
    "#]]
    .assert_eq(&project.check());
}

#[test]
fn a_module_that_cannot_be_read_is_one_error_in_each_that_needs_it() {
    let mut project = three();
    project.check();
    project.write("base.cure", "module Base do\n  def one(: Int = 1\nend\n");
    expect![[r#"
        checked: Base Middle Top
        base.cure:2:11 error C0101: expected a name, found `:`
        base.cure:2:17 error C0101: expected a `,` or `)`, found `=`
        deep/any.cure:2:10 error C0201: the module `Base` cannot be read, so what it offers is not known; mend the syntax of `Base`, or of what it imports, first
        top.cure:2:10 error C0201: the module `Middle` cannot be read, so what it offers is not known; mend the syntax of `Middle`, or of what it imports, first
    "#]]
    .assert_eq(&project.check());
    project.write("base.cure", BASE);
    expect!["checked: Base Middle Top\n"].assert_eq(&project.check());
    fs::write(project.dir.path().join("base.cure"), b"\xff").unwrap();
    assert!(project.check().contains("base.cure: [dir]/base.cure is not valid UTF-8"));
}

#[test]
fn circles_are_told_and_untied() {
    let a = "module A do\n  import B\n  def a(): Int = 1\nend\n";
    let b = "module B do\n  import A\n  def b(): Int = 1\nend\n";
    let mut project = Project::new(&[("a.cure", a), ("b.cure", b)]);
    let told =
        "a.cure:2:10 error C0211: `B` imports this module, which imports it; put what both need into a third module\n";
    assert_eq!(project.check(), format!("checked: A B\n{told}"));
    assert!(project.check().ends_with(told));
    project.write("a.cure", &a.replace("  import B\n", ""));
    expect!["checked: A\n"].assert_eq(&project.check());
    expect!["checked: \n"].assert_eq(&project.check());
}

#[test]
fn a_long_chain_of_imports() {
    let texts: Vec<_> = (0..2000)
        .map(|at| {
            let before = if at == 0 { String::new() } else { format!("  import M{}\n", at - 1) };
            (format!("m{at}.cure"), format!("module M{at} do\n{before}  def f{at}(): Int = 1\nend\n"))
        })
        .collect();
    let files: Vec<_> = texts.iter().rev().map(|(name, text)| (&**name, &**text)).take(200).collect();
    let mut project = Project::new(&files);
    let report = project.workspace.refresh().check(project.dir.path());
    assert_eq!((report.modules, report.checked.len()), (200, 200));
    let wrong = report.files.iter().filter(|file| !file.diagnostics.is_empty()).count();
    // The first of these imports one that is not there.
    assert_eq!(wrong, 1);
}

/// A file is read once, however many modules it has.
#[test]
fn a_file_with_many_modules() {
    let text: String = (0..10_000).map(|at| format!("module M{at} do\n  def f(): Int = {at}\nend\n")).collect();
    let broken: String = (0..5_000).map(|at| format!("module B{at} do\n  def f(: Int = {at}\nend\n")).collect();
    let imports: String = (0..5_000).map(|at| format!("  import B{at}\n")).collect();
    let importing = format!("module All do\n{imports}end\n");
    let mut project = Project::new(&[("all.cure", &importing), ("broken.cure", &broken), ("many.cure", &text)]);
    let begun = Instant::now();
    let report = project.workspace.refresh().check(project.dir.path());
    assert_eq!((report.modules, report.checked.len()), (15_001, 15_001));
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
}

/// A dependent that was not checked again runs with the new body of a function it uses.
#[test]
fn code_runs_with_the_modules_as_they_are() {
    let mut project = three();
    project.check();
    let text = "module Main do\n  import Top [three/0]\n  def main(): Int = three() + Base.one()\nend\n";
    let run = |project: &mut Project| {
        let compiled = compile(text, &*project.workspace.refresh());
        assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
        compiled.run("main", Limits::default()).unwrap().result.unwrap()
    };
    assert_eq!(run(&mut project), "4");
    project.write("base.cure", &BASE.replace("= 1", "= 10"));
    assert_eq!(run(&mut project), "22");
    expect!["checked: \n"].assert_eq(&project.check());
    project.write("base.cure", &BASE.replace("= 1", "= 1 / 0"));
    let compiled = compile(text, &*project.workspace.refresh());
    assert_eq!(compiled.faulty(), ["Base"]);
    assert!(!compile(text, &crate::NoSources).is_ok());
}

/// Two texts of the same length within one tick of the clock are told apart.
#[test]
fn an_edit_right_after_another_is_seen() {
    let mut project = three();
    project.check();
    for value in 2..40 {
        project.write("base.cure", &BASE.replace("= 1", &format!("= {}", value % 10)));
        assert_eq!(project.check(), "checked: Base\n");
    }
}
