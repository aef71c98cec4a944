//! `hob completions`: prints a completion script. The script calls hob for the words after `hob call` and `--to`, since only
//! the daemon knows the tools, their flags and the agents.

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
_hob_or_asked() {
    # To bash a colon is a word of its own. What stands without a blank around one is a word of ours.
    local words=(hob) rest=${COMP_LINE#*"${COMP_WORDS[0]}"} word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $rest != [[:blank:]]* && ( $word == :* || ${words[-1]} == *: ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        rest=${rest#*"$word"}
    done
    if [[ ${words[1]} == call && ${#words[@]} -gt 2 || ${words[-2]} == --to ]]; then
        mapfile -t COMPREPLY < <(hob complete -- "${words[@]:1}" 2>/dev/null)
        # What stands before the last colon is on the line already.
        if [[ $COMP_WORDBREAKS == *:* && ${words[-1]} == *:* ]]; then
            COMPREPLY=("${COMPREPLY[@]#"${words[-1]%:*}:"}")
        fi
    else
        _hob "$@"
    fi
}
complete -F _hob_or_asked -o nosort -o bashdefault -o default hob
"#;

const ZSH: &str = r#"
_hob_or_asked() {
    if [[ ${words[2]} == call && $CURRENT -gt 2 || ${words[CURRENT-1]} == --to ]]; then
        compadd -- ${(f)"$(hob complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}
    else
        _hob "$@"
    fi
}
compdef _hob_or_asked hob
"#;

const FISH: &str = r#"
complete -c hob -n "__fish_seen_subcommand_from call" -f -a '(hob complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c hob -n "__fish_seen_subcommand_from send search" -l to -x -a '(hob complete -- send --to (commandline -ct) 2>/dev/null)'
"#;
