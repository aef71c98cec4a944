//! Tests of configuration files with an invented part.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use serde::Deserialize;

use super::*;
use crate::request::Places;

/// The settings of an invented part: beds, and tools that run commands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Garden {
    beds: u64,
    tools: BTreeMap<String, (String, Source)>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GardenTable {
    beds: Option<u64>,
    tools: BTreeMap<String, String>,
    words: Option<Vec<String>>,
    open: Option<bool>,
    plots: BTreeMap<String, PlotTable>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlotTable {
    words: Option<Vec<String>>,
}

impl Settings for Garden {
    const NAME: &'static str = "garden";
    const TEMPLATE: &'static str = "# How many beds there are.\n#beds = 1\n";
    type Table = GardenTable;

    fn apply(&mut self, table: GardenTable, file: &File<'_>) -> Result<(), ConfigError> {
        self.beds = file.number_in_range("garden.beds", table.beds, 1..=9)?.unwrap_or(self.beds);
        self.tools.extend(table.tools.into_iter().map(|(name, command)| (name, (command, file.source))));
        Ok(())
    }

    fn requests(table: &GardenTable, places: &Places<'_>) -> Vec<Request> {
        let ask = |(name, command): (&String, &String)| {
            places.request(&["garden", "tools", name], format!("runs {}", value::quoted(command)))
        };
        table.tools.iter().map(ask).collect()
    }

    fn withhold(table: &mut GardenTable) {
        table.tools.clear();
    }
}

pub(crate) const SECTIONS: &[Section] = &[Section::for_settings::<Garden>()];

fn settings(text: &str) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let file = File::new(Path::new("hob.toml"), Source::Project, text);
    Document::parse(file.path, text, file.source, SECTIONS)?.apply(&mut config, &file)?;
    Ok(config)
}

fn check_error(text: &str, expected: Expect) {
    expected.assert_eq(&settings(text).unwrap_err().to_string());
}

#[test]
fn what_can_be_said() {
    let config = settings(
        "toolsets = [\"garden\", \"other\"]\n[daemon]\nidle = \"never\"\n[limits]\nsessions = 3\n[garden]\nbeds = 4\n\
         tools.rake = \"rake\"\n",
    )
    .unwrap();
    assert_eq!(config.toolsets.as_deref().unwrap(), ["garden", "other"]);
    assert_eq!(config.idle, Limit::Never);
    assert_eq!((config.limits.sessions, config.limits.connections), (3, 2048));
    let tools = BTreeMap::from([("rake".to_owned(), ("rake".to_owned(), Source::Project))]);
    assert_eq!(config.settings::<Garden>(), Garden { beds: 4, tools });
    let config = settings("").unwrap();
    assert_eq!((config.toolsets, config.idle), (None, Limit::After(Duration::from_secs(1800))));
    assert_eq!((config.limits, config.parts.len()), (Limits::default(), 0));
}

#[test]
fn the_project_says_more_than_the_user_and_less_counts_without_a_grant() {
    let mut config = Config::default();
    let merge = |config: &mut Config, text: &str, source, is_granted: bool| {
        let file = File::new(Path::new("c.toml"), source, text);
        let mut document = Document::parse(file.path, text, source, SECTIONS).unwrap();
        if !is_granted {
            document.withhold();
        }
        document.apply(config, &file).unwrap();
        config.settings::<Garden>()
    };
    let mine = "environment = [\"A\"]\n[garden]\nbeds = 2\ntools.rake = \"mine\"\ntools.hoe = \"mine\"\n";
    assert_eq!(merge(&mut config, mine, Source::User, true).beds, 2);
    let theirs = "garden = { beds = 3, tools.rake = \"theirs\" }\n";
    let garden = merge(&mut config, theirs, Source::Project, false);
    assert_eq!((garden.beds, garden.tools["rake"].clone()), (3, ("mine".to_owned(), Source::User)));
    let garden = merge(&mut config, theirs, Source::Project, true);
    assert_eq!((garden.tools.len(), garden.tools["rake"].clone()), (2, ("theirs".to_owned(), Source::Project)));
}

#[test]
fn no_link_leads_out_of_the_project() {
    use std::os::unix::fs::symlink;
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().canonicalize().unwrap();
    let root = top.join("root");
    std::fs::create_dir_all(root.join("etc")).unwrap();
    let project = Project::find(Some(&root), Path::new("/")).unwrap();
    std::fs::write(top.join("secret"), "s3cret\n").unwrap();
    std::fs::write(root.join("etc/hob.toml"), "toolsets = [\"garden\"]\n").unwrap();
    let load = || (Config::load(&project, SECTIONS), Config::requests(&project, SECTIONS).map(|_| ()));
    for leads_out in [top.join("secret"), "../secret".into(), "etc/../../secret".into()] {
        symlink(&leads_out, project.config_path()).unwrap();
        let (loaded, requests) = load();
        for error in [loaded.unwrap_err().to_string(), requests.unwrap_err().to_string()] {
            let shown = error.replace(&top.display().to_string(), "");
            expect![[r#"
                /root/hob.toml is a link out of the project, to /secret, and is not read; replace it with a file, or with a link inside the project"#]]
            .assert_eq(&shown);
        }
        std::fs::remove_file(project.config_path()).unwrap();
    }
    symlink("etc/hob.toml", project.config_path()).unwrap();
    assert_eq!(load().0.unwrap().toolsets.unwrap(), ["garden"]);
}

#[test]
fn mistakes_are_named() {
    check_error(
        "toolsets = [\"garden\"]\ntolsets = 1\n",
        expect![[
            "hob.toml, line 2: unknown field `tolsets`, expected one of `toolsets`, `daemon`, `mcp`, `compat`, `limits`, `garden`; correct the line, or delete it for the default"
        ]],
    );
    check_error(
        "[garden]\nbeds = 1\nbets = 1\n",
        expect![[
            "hob.toml, line 3: unknown field `bets`, expected one of `beds`, `tools`, `words`, `open`, `plots`; correct the line, or delete it for the default"
        ]],
    );
    check_error(
        "\ngarden = 1\n",
        expect![
            "hob.toml, line 2: `garden` must be a table: write `[garden]`, and its settings below; correct the line, or delete it for the default"
        ],
    );
    check_error(
        "garden = [3]\nlimits = [1, 2]\n",
        expect![
            "hob.toml, line 1: `garden` must be a table: write `[garden]`, and its settings below; correct the line, or delete it for the default"
        ],
    );
    check_error(
        "[[limits]]\nsessions = 1\n",
        expect![
            "hob.toml, line 1: `limits` must be a table: write `[limits]`, and its settings below; correct the line, or delete it for the default"
        ],
    );
    check_error(
        "[daemon]\nidle = \"soon\"\n",
        expect![[
            r#"hob.toml, line 2: "soon" is not a valid duration; write "45s", "30m", "2h" or "never"; correct the line, or delete it for the default"#
        ]],
    );
    check_error(
        "[limits]\nsessions = 0\n",
        expect!["hob.toml, line 2: limits.sessions = 0 is outside 1 to 1000; correct it, or delete it for the default"],
    );
    check_error(
        "[garden]\nbeds = 10\n",
        expect!["hob.toml, line 2: garden.beds = 10 is outside 1 to 9; correct it, or delete it for the default"],
    );
    check_error(
        "toolsets = [\"garden\"\n",
        expect!["hob.toml, line 1: unclosed array, expected `]`; correct the line, or delete it for the default"],
    );
    check_error(
        "[garden]\nbeds = 1\n\n[garden]\n",
        expect![
            "hob.toml, line 4: `[garden]` is already at line 1: move the lines below this one there, and delete this one"
        ],
    );
    check_error(
        "[garden]\nbeds = 1\n\nbeds = 2\n",
        expect!["hob.toml, line 4: `beds` is already at line 2: keep one of the two"],
    );
    check_error(
        "environment = []\n",
        expect![[
            "hob.toml, line 1: unknown field `environment`, expected one of `toolsets`, `daemon`, `mcp`, `compat`, `limits`, `garden`; correct the line, or delete it for the default"
        ]],
    );
}

#[test]
fn a_value_of_another_type_is_answered_by_what_to_write() {
    let said = |text: &str| {
        let error = settings(&format!("[garden]\n{text}\n")).map(|_| ()).unwrap_err().to_string();
        let tail = "; correct the line, or delete it for the default";
        error.strip_prefix("hob.toml, line 2: ").and_then(|error| error.strip_suffix(tail)).unwrap_or(&error).to_owned()
    };
    let texts = [
        "words = \"/x/ty\"",
        "words = 'ty server'",
        "words = 7",
        "words = true",
        "words = { a = 1 }",
        "words = [\"a\", 1]",
        "plots.north.words = \"rake it\"",
        "plots.north = { words = \"a\\u0022b\" }",
        "plots.north = \"x\"",
        "plots = []",
        "tools.rake = 7",
        "tools.rake = [\"rake\"]",
        "open = \"no\"",
        "open = 1",
        "beds = \"4\"",
        "beds = \"many\"",
        "beds = \"50MiB\"",
        "beds = 4.5",
        "beds = -1",
    ];
    let all: Vec<String> = texts.iter().map(|text| format!("{text}\n    {}", said(text))).collect();
    expect![[r#"
        words = "/x/ty"
            `words` must be a list: write `words = ["/x/ty"]`
        words = 'ty server'
            `words` must be a list: write `words = ["ty", "server"]`
        words = 7
            `words` must be a list: write `words = [7]`
        words = true
            `words` must be a list: write `words = [true]`
        words = { a = 1 }
            `words` must be a list: write `words = ["…"]`
        words = ["a", 1]
            `1` is not a string: write `"1"`
        plots.north.words = "rake it"
            `plots.north.words` must be a list: write `plots.north.words = ["rake", "it"]`
        plots.north = { words = "a\u0022b" }
            `words` must be a list: write `words = ["…"]`
        plots.north = "x"
            `plots.north` must be a table: write `plots.north = { … }`
        plots = []
            `plots` must be a table: write `plots = { … }`
        tools.rake = 7
            `tools.rake` must be a string: write `tools.rake = "7"`
        tools.rake = ["rake"]
            `tools.rake` must be a string: write `tools.rake = "…"`
        open = "no"
            `open` must be `true` or `false`: write `open = false`
        open = 1
            `open` must be `true` or `false`: write `open = true`
        beds = "4"
            `beds` must be a whole number, 0 or more: write `beds = 4`
        beds = "many"
            `beds` must be a whole number, 0 or more: write `beds = …`
        beds = "50MiB"
            `beds` must be a whole number, 0 or more: write `beds = 52428800`
        beds = 4.5
            `beds` must be a whole number, 0 or more: write `beds = 4`
        beds = -1
            `beds` must be a whole number, 0 or more: write `beds = …`"#]]
    .assert_eq(&all.join("\n"));
    check_error(
        "toolsets = \"repl mail\"\n",
        expect![[
            r#"hob.toml, line 1: `toolsets` must be a list: write `toolsets = ["repl", "mail"]`; correct the line, or delete it for the default"#
        ]],
    );
    check_error(
        "[daemon]\nidle = 30\n",
        expect![[
            r#"hob.toml, line 2: a duration must be a string: "45s", "30m", "2h" or "never"; correct the line, or delete it for the default"#
        ]],
    );
    check_error(
        "[mcp]\nresults = 7\n",
        expect![
            "hob.toml, line 2: `results` must be a string: write `results = \"…\"`; correct the line, or delete it for the default"
        ],
    );
}
