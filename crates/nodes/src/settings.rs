//! The settings `[nodes]`: the directory of node files, and the models. From a `hob.toml`, a model on another machine or with a
//! key takes effect only after a grant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, PathBuf};

use project::config::{File, Settings, Source, value};
use project::trust::{Places, Request};
use project::{ConfigError, visible};
use serde::{Deserialize, Serialize};

use crate::outcome::Tokens;
use crate::schema::Dialect;

/// The maximum price of a million tokens.
const PRICE_MAX: f64 = 1e6;

/// The alias of the caller itself.
pub(crate) const DELEGATE: &str = "delegate";

/// The mode of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Ask the model, and record nothing.
    #[default]
    Live,
    /// Ask no model. A call without a recording fails.
    Replay,
    /// Ask the model, and record its answer.
    Record,
    /// Replay recorded answers, and record the missing ones.
    RefreshStale,
}

/// The configuration of nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct NodesSettings {
    /// The directory of node files, relative to each worktree.
    pub path: PathBuf,
    /// The alias of the model for nodes that name none.
    pub model: Option<String>,
    pub models: BTreeMap<String, ModelSettings>,
    /// The aliases of the user's models that `hob.toml` also defines. The user's models win.
    pub kept: BTreeSet<String>,
    /// The maximum number of nodes of a worktree that are separate tools.
    pub listed: usize,
    /// The maximum number of tokens that are sent off this machine per day.
    pub tokens_per_day: u64,
    /// The cassette mode.
    pub cassettes: Mode,
}

impl Default for NodesSettings {
    fn default() -> NodesSettings {
        NodesSettings {
            path: PathBuf::from("nodes"),
            model: None,
            models: BTreeMap::new(),
            kept: BTreeSet::new(),
            listed: 20,
            tokens_per_day: 200_000,
            cassettes: Mode::Live,
        }
    }
}

/// A model with an OpenAI-compatible API.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// The base URL of the API, without `/chat/completions`.
    pub url: String,
    /// The server's name for the model.
    pub model: String,
    /// The path of the key file, which only its owner may read.
    pub key_file: Option<PathBuf>,
    /// The environment variable with the key, `…_API_KEY`, at the daemon's start.
    pub key_env: Option<String>,
    /// The schema dialect of the server. The default depends on the address.
    pub schema: Option<Dialect>,
    pub price: Option<Price>,
}

impl ModelSettings {
    /// Creates the settings of a model without a key.
    pub fn at(url: impl Into<String>, model: impl Into<String>) -> ModelSettings {
        let (url, model) = (url.into(), model.into());
        ModelSettings { url, model, key_file: None, key_env: None, schema: None, price: None }
    }
}

/// The price of a million tokens, in the user's currency.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of prompt tokens.
    #[serde(rename = "in")]
    pub input: f64,
    /// The price of answer tokens.
    #[serde(rename = "out")]
    pub output: f64,
    /// The price of cached prompt tokens. The default is the price of other prompt tokens.
    pub cached: Option<f64>,
}

impl Price {
    /// Returns the cost of these tokens.
    pub fn cost(&self, tokens: Tokens) -> f64 {
        let cached = tokens.cached.unwrap_or_default().min(tokens.input);
        let cost = (tokens.input - cached) as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + tokens.output as f64 * self.output;
        cost / 1e6
    }

    fn is_possible(&self) -> bool {
        [Some(self.input), Some(self.output), self.cached]
            .into_iter()
            .flatten()
            .all(|one| (0.0..=PRICE_MAX).contains(&one))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NodesTable {
    path: Option<PathBuf>,
    model: Option<String>,
    models: BTreeMap<String, ModelSettings>,
    listed: Option<usize>,
    tokens_per_day: Option<u64>,
    cassettes: Option<Mode>,
}

impl Settings for NodesSettings {
    const NAME: &'static str = "nodes";
    const TEMPLATE: &'static str = include_str!("settings.toml");
    type Table = NodesTable;

    fn apply(&mut self, table: NodesTable, file: &File<'_>) -> Result<(), ConfigError> {
        if let Some(path) = table.path {
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
            if !is_inside || path.as_os_str().is_empty() {
                return Err(file.refused(format!(
                    "nodes.path: {} is not a directory inside the project; set a path relative to its root",
                    visible::path(&path)
                )));
            }
            self.path = path;
        }
        self.model = table.model.or_else(|| self.model.take());
        if let Some(listed) = table.listed {
            self.listed = listed;
        }
        if let Some(tokens) = table.tokens_per_day {
            // A checkout can only lower the limit, because the user pays for the tokens.
            self.tokens_per_day = if file.source == Source::Project { tokens.min(self.tokens_per_day) } else { tokens };
        }
        if let Some(mode) = table.cassettes {
            self.cassettes = mode;
        }
        for (alias, model) in &table.models {
            if alias == DELEGATE {
                return Err(file.refused(
                    "nodes.models.delegate: `delegate` is reserved for the caller; choose another name for the model",
                ));
            }
            if let Err(why) = crate::address::check(&model.url) {
                return Err(file.refused(format!("nodes.models.{}: {why}", value::key(alias))));
            }
            if model.key_file.as_ref().is_some_and(|path| !path.is_absolute()) {
                return Err(file.refused(format!("nodes.models.{}: key_file is an absolute path", value::key(alias))));
            }
            if model.price.is_some_and(|price| !price.is_possible()) {
                return Err(file.refused(format!(
                    "nodes.models.{}: price is the cost of a million tokens, such as {{ in = 0.15, out = 0.6 }}, each \
                     from 0 to {PRICE_MAX}",
                    value::key(alias)
                )));
            }
            if model.key_file.is_some() && model.key_env.is_some() {
                return Err(file
                    .refused(format!("nodes.models.{}: it has key_file and key_env; remove one", value::key(alias))));
            }
            if let Some(variable) = model.key_env.as_deref().filter(|name| !project::daemon_environment::is_key(name)) {
                return Err(file.refused(format!(
                    "nodes.models.{}: key_env {} does not reach the daemon, which receives only variables whose names \
                     end with {}: rename it, or set key_file",
                    value::key(alias),
                    value::quoted(variable),
                    project::daemon_environment::KEY
                )));
            }
            if file.source == Source::Project && (model.key_file.is_some() || model.key_env.is_some()) {
                return Err(file.refused(format!(
                    "nodes.models.{}: key_file and key_env are yours: they are not allowed in a file of the checkout; \
                     put the model into your own config.toml (`hob doctor` names it)",
                    value::key(alias)
                )));
            }
        }
        for (alias, model) in table.models {
            // A checkout cannot replace a model of the user.
            if file.source == Source::Project && self.models.contains_key(&alias) {
                self.kept.insert(alias);
            } else {
                self.models.insert(alias, model);
            }
        }
        Ok(())
    }

    fn requests(table: &NodesTable, places: &Places<'_>) -> Vec<Request> {
        let foreign = table.models.iter().filter(|(_, model)| !crate::address::is_local(&model.url));
        let ask = |(alias, model): (&String, &ModelSettings)| {
            let asks = format!(
                "sends the prompts of nodes for the model {} to {}",
                value::quoted(alias),
                value::quoted(&model.url)
            );
            Request { withholds: Some(alias.clone()), ..places.request(&["nodes", "models", alias, "url"], asks) }
        };
        foreign.map(ask).collect()
    }

    fn withhold(table: &mut NodesTable) {
        // A model with an invalid address stays and is refused, because a grant would not help.
        table.models.retain(|_, model| is_refused(model) || crate::address::is_local(&model.url));
    }
}

/// Returns true if a model of a `hob.toml` is refused even with a grant.
fn is_refused(model: &ModelSettings) -> bool {
    let has_key = model.key_file.is_some() || model.key_env.is_some();
    has_key || crate::address::check(&model.url).is_err() || model.price.is_some_and(|price| !price.is_possible())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn table(text: &str) -> NodesTable {
        toml::from_str(text).expect("a table")
    }

    fn applied(table: NodesTable, source: Source) -> Result<NodesSettings, ConfigError> {
        let mut settings = NodesSettings::default();
        settings.apply(table, &File::new(Path::new("hob.toml"), source, ""))?;
        Ok(settings)
    }

    #[test]
    fn remote_models_wait_for_a_grant() {
        let mut said = table(
            "models.here = { url = \"http://127.0.0.1:80/v1\", model = \"m\" }\n\
             models.there = { url = \"https://example.com/v1\", model = \"m\" }",
        );
        NodesSettings::withhold(&mut said);
        assert_eq!(said.models.keys().collect::<Vec<_>>(), ["here"]);
    }

    #[test]
    fn a_checkout_does_not_replace_a_model_of_the_user() {
        let mut settings = applied(
            table("models.mine = { url = \"http://127.0.0.1:1/v1\", model = \"m\", key_file = \"/k\" }"),
            Source::User,
        )
        .unwrap();
        let users = settings.models["mine"].clone();
        let theirs = table(
            "models.mine = { url = \"http://127.0.0.1:2/v1\", model = \"x\", price = { in = 9, out = 9 } }\n\
             models.other = { url = \"http://127.0.0.1:3/v1\", model = \"y\" }",
        );
        settings.apply(theirs, &File::new(Path::new("hob.toml"), Source::Project, "")).unwrap();
        assert_eq!(settings.models["mine"], users);
        assert_eq!(settings.models["other"].model, "y");
        assert_eq!(settings.kept.iter().collect::<Vec<_>>(), ["mine"]);
    }

    /// If it were silently withheld, the user could not find out why it is missing.
    #[test]
    fn invalid_models_are_refused_without_a_grant() {
        for (rest, wanted) in [
            ("url = \"http://example.com/v1\"", "is not encrypted"),
            ("url = \"https://example.com/v1#\"", "has a query or a fragment"),
            ("url = \"https://example.com/v1\", key_env = \"A_API_KEY\"", "key_file and key_env are yours"),
            ("url = \"https://example.com/v1\", price = { in = 1e300, out = 0 }", "each from 0 to 1000000"),
        ] {
            let mut said = table(&format!("models.a = {{ model = \"m\", {rest} }}"));
            NodesSettings::withhold(&mut said);
            let said = applied(said, Source::Project).unwrap_err().to_string();
            assert!(said.contains("nodes.models.a: ") && said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (text, source, wanted) in [
            ("path = \"../x\"", Source::Project, "not a directory inside the project"),
            ("path = \"/etc\"", Source::User, "not a directory inside the project"),
            ("models.a = { url = \"http://example.com\", model = \"m\" }", Source::User, "is not encrypted"),
            (
                "models.a = { url = \"http://127.0.0.1\", model = \"m\", price = { in = 1000001, out = 0 } }",
                Source::User,
                "each from 0 to 1000000",
            ),
            (
                "models.a = { url = \"http://127.0.0.1\", model = \"m\", key_file = \"/k\" }",
                Source::Project,
                "key_file and key_env are yours",
            ),
            (
                "models.a = { url = \"http://127.0.0.1\", model = \"m\", key_env = \"MY_TOKEN\" }",
                Source::User,
                "key_env \"MY_TOKEN\" does not reach the daemon",
            ),
            (
                "models.a = { url = \"http://127.0.0.1\", model = \"m\", key_file = \"k\" }",
                Source::User,
                "absolute path",
            ),
        ] {
            let said = applied(table(text), source).unwrap_err().to_string();
            assert!(said.contains(wanted), "{text}: {said}");
        }
    }
}
