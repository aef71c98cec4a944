//! A single value in another program's file: sets it, and removes it again even if the rest of the file has changed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Allows, Broken, Format, jsonc, toml};

/// A value that hob adds to a file. The record of edits stores it as the owner of the edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) struct Change {
    /// The format of the file: TOML if true, else JSON.
    #[serde(default)]
    is_toml: bool,
    /// The path of keys to the value.
    path: Vec<String>,
    put: Insertion,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Insertion {
    /// A value at the path.
    Value(Value),
    /// An element of the list at the path.
    Element(Value),
}

impl Change {
    /// Creates a change that sets the value at a path of keys.
    pub(super) fn set<const N: usize>(format: Format, path: [&str; N], value: impl Into<Value>) -> Change {
        Change { is_toml: is_toml(format), path: path.map(str::to_owned).to_vec(), put: Insertion::Value(value.into()) }
    }

    /// Creates a change that appends to the list at a path of keys.
    pub(super) fn push<const N: usize>(format: Format, path: [&str; N], value: impl Into<Value>) -> Change {
        Change { put: Insertion::Element(value.into()), ..Change::set(format, path, false) }
    }

    /// Returns the owner's name in the record of edits.
    pub(crate) fn owner(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the owner of an edit; `None` if the owner is not a change.
    pub(crate) fn of_owner(owner: &str) -> Option<Change> {
        serde_json::from_str(owner).ok()
    }

    /// Returns the text with the value.
    pub(crate) fn apply(&self, text: &str) -> Result<String, Broken> {
        match &self.put {
            Insertion::Value(value) if self.is_toml => toml::set(text, &self.path, value),
            Insertion::Value(value) => jsonc::set(text, &self.path, jsonc::input(value), LAX),
            Insertion::Element(value) => jsonc::push(text, &self.path, jsonc::input(value), LAX),
        }
    }

    /// Returns the text without the value; `None` if the text does not have it.
    pub(crate) fn revert(&self, text: &str) -> Option<String> {
        let without = match &self.put {
            Insertion::Value(value) => {
                let all = if self.is_toml { toml::value_of(text) } else { jsonc::value(text, LAX) }.ok()?;
                // The user has chosen another value since.
                self.path.iter().try_fold(&all, |at, key| at.get(key)).filter(|there| *there == value)?;
                if self.is_toml { toml::unset(text, &self.path) } else { jsonc::unset(text, &self.path, LAX) }
            }
            Insertion::Element(value) => jsonc::pull(text, &self.path, value, LAX),
        };
        without.ok().filter(|without| without != text)
    }
}

impl fmt::Display for Change {
    /// Formats the change like `projects./p.trusted is true`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = project::visible(&self.path.join("."));
        match &self.put {
            Insertion::Value(value) => write!(f, "`{path}` is {value}"),
            Insertion::Element(value) => write!(f, "`{path}` has {value}"),
        }
    }
}

/// These files are the agents' settings, which every agent reads with comments.
const LAX: Allows = Allows::CommentsAndTrailingCommas;

fn is_toml(format: Format) -> bool {
    matches!(format, Format::Toml { .. })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const JSON: Format = Format::Json { key: "", shape: super::super::Shape::Plain, allows: LAX };
    const TOML: Format = Format::Toml { table: "" };

    /// Applies the change, checks that it can be reverted, also after an unrelated change, and shows the resulting text.
    fn check(change: &Change, before: &str, after: expect_test::Expect) {
        let change = &Change::of_owner(&change.owner()).unwrap();
        let with = change.apply(before).unwrap();
        after.assert_eq(&with);
        let without = change.revert(&with).unwrap();
        assert_eq!(change.revert(&without), None, "{without}");
        let same =
            |text: &str| if change.is_toml { toml::value_of(text).unwrap() } else { jsonc::value(text, LAX).unwrap() };
        let before = if before.is_empty() && !change.is_toml { "{}" } else { before };
        assert_eq!(same(&without), same(before), "{without}");
    }

    #[test]
    fn a_value_goes_in_and_out_of_json() {
        use expect_test::expect;
        let trust = Change::set(JSON, ["projects", "/p", "trusted"], true);
        check(
            &trust,
            "",
            expect![[r#"
            {
              "projects": {
                "/p": {
                  "trusted": true
                }
              }
            }
        "#]],
        );
        check(
            &trust,
            "// mine\n{\n  \"projects\": {\"/p\": {\"cost\": 3}},\n}\n",
            expect![[r#"
            // mine
            {
              "projects": {"/p": {
                  "cost": 3,
                  "trusted": true
                }},
            }
        "#]],
        );
        let allow = Change::push(JSON, ["permissions", "allow"], "mcp__hob");
        check(
            &allow,
            "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}",
            expect![[r#"{"permissions": {"allow": ["Bash(ls)", "mcp__hob"]}}"#]],
        );
        let approval = json!({"kind": "mcp", "serverName": "hob", "toolName": null});
        check(
            &Change::push(JSON, ["locations", "/p", "tool_approvals"], approval),
            "{}\n",
            expect![[r#"
            {
              "locations": {
                "/p": {
                  "tool_approvals": [
                    {
                      "kind": "mcp",
                      "serverName": "hob",
                      "toolName": null
                    }
                  ]
                }
              }
            }
        "#]],
        );
    }

    #[test]
    fn a_value_goes_in_and_out_of_toml() {
        use expect_test::expect;
        let trust = Change::set(TOML, ["projects", "/p", "trust_level"], "trusted");
        check(
            &trust,
            "",
            expect![[r#"
            [projects."/p"]
            trust_level = "trusted"
        "#]],
        );
        check(
            &trust,
            "a = 1\n\n[projects.\"/q\"]\ntrust_level = \"untrusted\"\n",
            expect![[r#"
            a = 1

            [projects."/q"]
            trust_level = "untrusted"

            [projects."/p"]
            trust_level = "trusted"
        "#]],
        );
        check(
            &trust,
            "projects = { \"/q\" = { trust_level = \"trusted\" } }\n",
            expect![[r#"
            projects = { "/q" = { trust_level = "trusted" } , "/p".trust_level = "trusted" }
        "#]],
        );
        check(
            &trust,
            "[projects.\"/p\"]\nother = 1\n[x]\n",
            expect![[r#"
            [projects."/p"]
            other = 1
            trust_level = "trusted"
            [x]
        "#]],
        );
        let mode = Change::set(TOML, ["mcp_servers", "hob", "default_tools_approval_mode"], "approve");
        check(
            &mode,
            "[mcp_servers.hob]\ncommand = \"hob\"\nargs = [\"mcp\"]\n",
            expect![[r#"
            [mcp_servers.hob]
            command = "hob"
            args = ["mcp"]
            default_tools_approval_mode = "approve"
        "#]],
        );
    }

    #[test]
    fn another_value_than_ours_stays() {
        let trust = Change::set(TOML, ["projects", "/p", "trust_level"], "trusted");
        assert_eq!(trust.revert("[projects.\"/p\"]\ntrust_level = \"untrusted\"\n"), None);
        assert_eq!(trust.revert("no TOML"), None);
        assert_eq!(Change::of_owner("codex"), None);
    }

    #[test]
    fn where_something_else_stands_nothing_is_put() {
        let trust = Change::set(JSON, ["projects", "/p", "trusted"], true);
        assert_eq!(trust.apply("{\"projects\": []}"), Err(Broken::Shape("projects".to_owned())));
        assert_eq!(trust.apply("[]"), Err(Broken::Shape("the whole file".to_owned())));
        let allow = Change::push(JSON, ["permissions", "allow"], "mcp__hob");
        assert_eq!(allow.apply("{\"permissions\": {\"allow\": 3}}"), Err(Broken::Shape("allow".to_owned())));
    }
}
