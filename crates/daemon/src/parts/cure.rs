//! The Cure compiler in the daemon.

use std::sync::Arc;

use ::cure::{Cure, CureSettings, Options, RunLimits};
use project::Config;
use project::config::Section;

use super::{Capabilities, Part, Setup, Toolset};

const INSTRUCTIONS: &str = "A compiler for the Cure language. type_check_cure checks a program whole: names, types, \
refinements with counter-examples, exhaustiveness, state machines; a program with errors is an answer with ok: false and \
diagnostics, not a failed call. get_syntax_help and get_examples show the language.";

pub(crate) struct CurePart {
    cure: Arc<Cure>,
}

impl Part for CurePart {
    fn open(setup: &Setup<'_>) -> CurePart {
        let cure = Cure::new(options(setup.config));
        let prompted = cure.clone();
        setup.register(Capabilities {
            resources: Some(Box::new(::cure::serve_resources)),
            prompts: Some(Box::new(move |prompts| {
                ::cure::prompts(&prompted).into_iter().for_each(|prompt| prompts.add(prompt));
            })),
            ..Capabilities::default()
        });
        CurePart { cure }
    }

    fn declared() -> CurePart {
        CurePart { cure: Cure::new(options(&Config::default())) }
    }

    fn toolset(&self) -> Toolset {
        Toolset {
            name: "cure",
            about: "a compiler for the Cure language: check, format, state machines, help",
            instructions: INSTRUCTIONS,
            core: &[],
            tools: ::cure::tools(&self.cure),
            is_default: false,
            extras: true,
        }
    }

    fn profiles(&self) -> Vec<Toolset> {
        vec![Toolset { about: "the Cure compiler's tools alone", ..self.toolset() }]
    }

    fn section() -> Option<Section> {
        Some(Section::for_settings::<CureSettings>())
    }
}

/// Returns the compiler's options, from the configuration.
fn options(config: &Config) -> Options {
    let CureSettings { roots, run, run_steps, run_memory, run_time } = config.settings();
    let limits = RunLimits { steps: run_steps, memory: run_memory, time: run_time };
    Options { roots, run: run.then_some(limits) }
}
