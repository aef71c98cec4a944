//! `hob completions`: a script that completes commands and options. What may follow `hob call` it asks hob for, each
//! time, since tools and their flags are known to the daemon only.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::{Cli, terminal};

/// Print a completion script for your shell
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "hob", &mut script);
        terminal::print(&String::from_utf8_lossy(&script));
        terminal::print(match self.shell {
            Shell::Bash => BASH,
            Shell::Zsh => ZSH,
            Shell::Fish => FISH,
            _ => "",
        });
        Ok(Exit::Done)
    }
}

const BASH: &str = r#"
_hob_or_call() {
    if [[ ${COMP_WORDS[1]} == call && $COMP_CWORD -gt 1 ]]; then
        local IFS=$'\n'
        COMPREPLY=($(hob complete -- "${COMP_WORDS[@]:2:COMP_CWORD-1}" 2>/dev/null))
    else
        _hob "$@"
    fi
}
complete -F _hob_or_call -o nosort -o bashdefault -o default hob
"#;

const ZSH: &str = r#"
_hob_or_call() {
    if [[ ${words[2]} == call && $CURRENT -gt 2 ]]; then
        compadd -- ${(f)"$(hob complete -- "${(@)words[3,CURRENT]}" 2>/dev/null)"}
    else
        _hob "$@"
    fi
}
compdef _hob_or_call hob
"#;

const FISH: &str = r#"
complete -c hob -n "__fish_seen_subcommand_from call" -f -a '(hob complete -- (commandline -opc)[3..-1] (commandline -ct) 2>/dev/null)'
"#;
