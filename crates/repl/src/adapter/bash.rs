//! bash: its prompt command prints the markers, with the exit status as payload.
//!
//! bash runs interactively on pipes, because SIGINT ends a shell that reads a script, but returns an interactive one to
//! its prompt. Code goes through `eval` as one line, so an open quote or bracket is an immediate error instead of a
//! shell that waits for more.
//!
//! A session's own settings (options, traps, a prompt, functions named like builtins) apply to its own code only. At
//! the prompt, where hob's lines run, hob saves and resets options and traps that would affect those lines; the next
//! evaluation begins by restoring them, see [`marks`]. hob's functions are parsed once. The text parsed at each prompt
//! and evaluation contains no word that an alias could replace: words are quoted and keywords avoided. The two
//! unavoidable ones, `{` and `!`, are protected from existing aliases.

use super::{Adapter, Barrier, Nonce, Plan, Printed, Refusal, SCRIPT_PATH, Step, Verdict, without_answers};

/// The adapter for bash 4.1 and newer.
#[derive(Debug, Clone, Copy)]
pub struct Bash;

impl Adapter for Bash {
    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        format!("{}; printf 'GNU bash %s\\n' \"$BASH_VERSION\"\n", marks(nonce, 0)).into_bytes()
    }

    fn revive(&self, command: &str, nonce: &Nonce, number: u64) -> Option<Vec<u8>> {
        let program = command.split(' ').next()?.rsplit('/').next()?;
        (program == "bash").then(|| format!("{INTERACTIVE}\n{}\n", marks(nonce, number)).into_bytes())
    }

    fn version(&self, banner: &str) -> Option<String> {
        let line = banner.lines().find_map(|line| line.strip_prefix("GNU bash "))?;
        Some(line.split('(').next().unwrap_or(line).trim().to_owned())
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        if code.contains('\0') {
            return Err(Refusal {
                message: "bash cannot take a NUL character in its code".to_owned(),
                hint: "Write it as \\0 inside printf.".to_owned(),
            });
        }
        if turns_editing_on(code) {
            return Err(Refusal {
                message: "bash crashes when line editing is turned on in a shell that reads from a pipe".to_owned(),
                hint: "Leave out `set -o vi` and `set -o emacs`: a session has no line editing.".to_owned(),
            });
        }
        Ok(evaluation(code, ""))
    }

    fn plan_with_input(&self, code: &str) -> Result<Plan, Refusal> {
        self.plan(code)?;
        // The shell continues to read its own lines from the same input; only this command has another input.
        Ok(evaluation(code, &format!("<{SCRIPT_PATH} ")))
    }

    fn path_word(&self, path: &str) -> String {
        quoted(path)
    }

    fn is_quit(&self, code: &str) -> bool {
        matches!(code.split_whitespace().next(), Some("exit" | "logout" | "exec"))
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        let (status, given_up) = match printed.payload.trim().strip_suffix(GIVEN_UP) {
            Some(status) => (status, true),
            None => (printed.payload.trim(), false),
        };
        let status: Option<i32> = status.parse().ok();
        let exception = match status {
            Some(0) => None,
            Some(status) => Some(format!("exit status {status}")),
            // The marker is missing; the session reports the reason.
            None if printed.payload.is_empty() => None,
            None => Some("bash reported no exit status that can be read".to_owned()),
        };
        Verdict {
            error: status != Some(0),
            // A program may also exit with that status on its own.
            interrupted: status == Some(INTERRUPTED) && (given_up || printed.interrupting),
            exception,
            ..Verdict::default()
        }
    }

    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier {
        let echo = format!("{}{n}", prefix(nonce));
        // An assignment, which no function or alias can replace; the mark prints it.
        Barrier { bytes: format!("{VARIABLE}={echo}\n").into_bytes(), echo: Some(echo.into_bytes()) }
    }

    fn barrier_prefix(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        Some(prefix(nonce).into_bytes())
    }

    fn without_barriers(&self, output: &[u8], nonce: &Nonce) -> Vec<u8> {
        let prefix = prefix(nonce);
        let lines = output.split_inclusive(|&byte| byte == b'\n');
        let whole = lines.filter(|line| !is_of_a_cut_barrier(line, &prefix)).collect::<Vec<_>>().concat();
        let kept = without_answers(&whole, &prefix, &["\n"]);
        // An interrupt at the prompt prints a newline.
        if kept.iter().all(|&byte| byte == b'\n') { Vec::new() } else { kept }
    }

    fn controls_jobs(&self) -> bool {
        // Job control is on after `set -m`.
        true
    }

    fn quit(&self) -> Vec<u8> {
        b"exit\n".to_vec()
    }

    fn prompt(&self, _: &str) -> String {
        "$ ".to_owned()
    }

    fn replayable(&self, code: &str) -> bool {
        const STARTS: [&str; 6] = ["export ", "alias ", "cd ", "set ", "shopt ", "umask "];
        let one = |line: &str| {
            STARTS.iter().any(|start| line.starts_with(start))
                && !line.contains(['`', ';', '|', '&', '>', '<'])
                && !line.contains("$(")
        };
        let mut lines = code.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some() && lines.all(one)
    }
}

/// Returns the code as one line with a redirection. `!` hides the line's status from `set -e` and a trap on ERR, which
/// have seen the status of each command. The definition after it records that the line was not given up; no trace, trap
/// or alias sees it. After an open quote the parser does not recognise a leading `!`, so another command precedes it.
fn evaluation(code: &str, redirection: &str) -> Plan {
    let code = quoted(code);
    let line =
        format!("\\__hob_first; ! {redirection}\\eval -- \"$__hob_line\"{code}; __hob_ended() ((__hob_end=1))\n");
    let step = Step { bytes: line.into_bytes(), advance: 1, script: None };
    Plan { steps: vec![step], notes: Vec::new() }
}

/// Makes a bash that reads commands from a pipe interactive. At its start bash complains that it has no terminal: that
/// message is discarded, and standard error is restored from descriptor 9.
const INTERACTIVE: &str = "exec \"$BASH\" --noprofile --norc --noediting +H -i 9>&2 2>/dev/null";

/// Returns one line, since bash reads by lines, that installs the marks, numbered after `number`.
///
/// The marks go to copies of the descriptors, so the end is seen even after `exec >file`; copies that a program closed
/// are reopened. Names that must not be removed by accident are read-only.
fn marks(nonce: &Nonce, number: u64) -> String {
    let lines: Vec<&str> = MARKS.lines().map(|line| line.trim()).filter(|line| !line.starts_with('#')).collect();
    let marks = lines
        .join(" ")
        .replace("ITSELF", ITSELF)
        .replace("VARIABLE", VARIABLE)
        .replace("PREFIX", &prefix(nonce))
        .replace("NONCE", nonce.as_str());
    format!("[ -e /dev/fd/9 ] && exec 2>&9 9>&-; __hob_number={number}; {marks}")
}

const MARKS: &str = r#"
set +o history; history -c; HISTIGNORE='VARIABLE=*:?__hob_*:__hob_*'; VARIABLE= __hob_few= __hob_last=0 __hob_line= __hob_flags= __hob_traps= __hob_debug= __hob_prompt= __hob_by= __hob_via= __hob_odd= __hob_enabled= __hob_opts=;
__hob_ended() { __hob_end=; };
# True if this word reaches builtins, and `eval` directly; builtins that we need and the session has disabled are
# enabled. FUNCNEST is 1 meanwhile: if a function of the session has one of these names, bash gives the line up
# before it runs any of it.
__hob_probe() {
"$1" printf -v __hob_by 1 || "$1" eval __hob_by=1;
if "$1" compgen -A disabled; then __hob_by=1; for __hob_some in eval trap set export unset unalias return exit read local shopt; do
if "$1" compgen -A disabled -X \!"$__hob_some" && "$1" enable "$__hob_some"; then __hob_enabled+=" $__hob_some"; fi; done; fi;
if [[ $__hob_by ]]; then __hob_via=$1; fi;
if [[ ! ${BASH_ALIASES[*]+any} ]]; then \eval '[[ 1 ]]; __hob_check=1'; fi;
if [[ $__hob_check ]]; then __hob_eval=1; else \eval '__hob_eval=1'; fi;
};
# In posix mode no function hides `eval`, `set` and `trap`. It sets options that remain after it is turned off.
__hob_posix() { if [[ :$SHELLOPTS: != *:posix:* ]]; then __hob_opts=$BASHOPTS POSIXLY_CORRECT=1; fi; };
__hob_unposix() { if [[ $__hob_opts ]]; then \unset POSIXLY_CORRECT; fi; };
__hob_options() {
${__hob_via:+"$__hob_via"} unset POSIXLY_CORRECT;
for __hob_some in inherit_errexit sourcepath interactive_comments shift_verbose expand_aliases; do
if [[ :$__hob_opts: == *:$__hob_some:* ]]; then __hob_on=-s; else __hob_on=-u; fi; ${__hob_via:+"$__hob_via"} shopt "$__hob_on" "$__hob_some"; done; __hob_opts=;
};
# A trap on DEBUG that functions inherit is removed first: giving one up at that depth makes bash count from 0 again.
__hob_begin() {
__hob_was=$- __hob_by= __hob_via= __hob_eval= __hob_check= __hob_ready= __hob_looked= __hob_tried=1;
if [[ $__hob_was == *T* ]]; then __hob_posix; \set +T; __hob_unposix; fi;
};
# Settings that would show or affect our own lines are put aside.
__hob_quiet() {
if [[ $__hob_by$__hob_looked ]]; then
__hob_on=${__hob_was//[^aeuvxEHT]}; __hob_flags+=$__hob_on; if [[ $__hob_on && $__hob_by ]]; then "$__hob_via" set +"$__hob_on"; fi;
if [[ $__hob_flags == *a* && $__hob_by ]]; then "$__hob_via" export -n "${!__hob_@}"; "$__hob_via" export -nf __hob_ended; fi;
if [[ ${PS1-} ]]; then __hob_prompt=$PS1 PS1=; fi;
if [[ $__hob_opts ]]; then __hob_options; fi;
__hob_ready=$__hob_by;
fi;
};
# True if the next line will be parsed correctly. A `[[` that ended too early leaves the parser in the middle of it.
__hob_ask() {
__hob_odd=1;
if [[ ! $__hob_eval ]]; then "$__hob_via" unset -f eval; __hob_say 'bash: the function eval kept code from the shell, and was removed' 2; fi;
if [[ ${BASH_ALIASES[!]+set} ]]; then "$__hob_via" unalias '!'; __hob_say 'bash: the alias ! kept code from the shell, and was removed' 2; fi;
};
# Runs before each evaluation. Another error ends a construct that the parser was in the middle of.
__hob_first() { if [[ $__hob_odd && $__hob_via ]]; then __hob_odd=; "$__hob_via" eval ')' 2</dev/null; fi; };
# The traps, saved before they are removed. Only bash's own output about a trap is run later.
__hob_keep() {
if __hob_is_trap "$__hob_debug" DEBUG; then __hob_debug=" \${__hob_via:+\"\$__hob_via\"} $__hob_debug;"; else __hob_debug=; fi;
if __hob_is_trap "$__hob_traps" ERR; then __hob_traps="\${__hob_via:+\"\$__hob_via\"} $__hob_traps"; else __hob_traps=; fi;
};
# In posix mode a trap that is not set is listed, too.
__hob_is_trap() {
__hob_some=${1//"'\\''"};
if [[ $__hob_some == "trap -- '"*"' $2" ]]; then
__hob_some=${__hob_some#"trap -- '"}; __hob_some=${__hob_some%"' $2"}; [[ $__hob_some != *"'"* ]];
else [[ ! $1 || $1 == "trap -- - $2" ]] || __hob_say "bash: the trap on $2 cannot be read, and was removed" 2; [[ ! 1 ]]; fi;
};
# Nothing could be put aside: an alias replaced our brace, or no further descriptor is available.
__hob_again() {
__hob_begin; __hob_probe builtin;
if [[ $__hob_by && ${BASH_ALIASES["{"]+set} ]]; then
builtin unalias '{'; __hob_say 'bash: the alias { kept the prompt from the shell, and was removed' 2; fi;
__hob_quiet;
};
__hob_mark() {
__hob_end=; __hob_ended; __hob_ended() { __hob_end=; };
__hob_status=$1; if [[ $__hob_end ]]; then __hob_status=$2; fi;
if [[ ! $__hob_by$__hob_tried ]]; then __hob_again; fi;
if [[ ! $__hob_by ]]; then __hob_via=; if [[ $__hob_opts ]]; then __hob_options; fi; fi;
if [[ ! $__hob_end && ${VARIABLE-} == PREFIX* ]]; then __hob_say "$VARIABLE" 1; VARIABLE=; else __hob_last=$__hob_status; if [[ ! $__hob_end ]]; then __hob_status+=' given up'; fi; fi;
__hob_line=;
if [[ $__hob_last != 0 || $__hob_flags$__hob_traps$__hob_debug$__hob_prompt ]]; then
__hob_line='\__hob_before'; if [[ $__hob_last != 0 ]]; then __hob_line+=' && __hob_line='; fi;
__hob_line+=";$__hob_debug "; fi;
if [[ $__hob_enabled ]]; then __hob_say "bash: this session cannot do without the builtins that follow, and has enabled them again:$__hob_enabled" 2; __hob_enabled=; fi;
if [[ $__hob_by && ! $__hob_check ]]; then __hob_ask; fi;
__hob_number=$((__hob_number + 1)); __hob_say "NONCE $__hob_number $__hob_status" 1; if [[ ! $__hob_to ]]; then __hob_lost 2; fi;
__hob_say "NONCE $__hob_number " 2; if [[ ! $__hob_to ]]; then __hob_lost 1; fi;
__hob_by= __hob_status= __hob_pipe= __hob_ready= __hob_tried=;
};
__hob_copy() {
if [[ ! -p /dev/fd/$1 ]]; then __hob_to=; else
if [[ ! $__hob_few ]]; then if [[ $1 == 1 ]]; then exec 58>&1; else exec 59>&2; fi; if [[ ! -p /dev/fd/$__hob_to ]]; then __hob_few=1; fi; fi;
if [[ $__hob_few ]]; then __hob_to=$1; fi; fi;
};
# Writes to the copy, or without a free descriptor number to the stream.
__hob_say() {
__hob_to=$((57 + $2)); if [[ ! -p /dev/fd/$__hob_to ]]; then __hob_copy "$2"; fi;
if [[ ! $__hob_to ]]; then ((1)); elif [[ ${TIMEFORMAT+set} && BASH_VERSINFO -gt 4 && ${TIMEFORMAT@a} == *r* ]]; then
ITSELF -p -c 'printf "%s\n" "$1"' bash "$1" >&"$__hob_to";
else TIMEFORMAT=${1//%/%%} __hob_print || __hob_to=; fi;
};
# `time` is a keyword: no function replaces it, and nothing disables it. It prints its format and a newline.
__hob_print() { { time ((1)); } 2>&"$__hob_to"; };
# Without an answer, exiting is the answer.
__hob_lost() { __hob_say 'bash: the code closed the descriptors by which this session answers' "$1"; ${__hob_via:+"$__hob_via"} exit 1; };
# Restores the settings, and the last status. The trap on DEBUG is restored last.
__hob_before() {
if [[ $__hob_prompt ]]; then PS1=$__hob_prompt; fi;
if [[ $__hob_traps ]]; then ${__hob_via:+"$__hob_via"} eval "$__hob_traps"; fi;
__hob_on=$__hob_flags __hob_flags= __hob_traps= __hob_debug= __hob_prompt=;
if [[ $__hob_on ]]; then ${__hob_via:+"$__hob_via"} set -"$__hob_on"; fi;
if [[ $__hob_via ]]; then "$__hob_via" return "$__hob_last"; else ITSELF -p -c "exit $__hob_last"; fi;
} 2</dev/null;
# A trap on DEBUG in a subshell, or a trace to its output, would add to the text read here.
__hob_look='${__hob_via:+"$__hob_via"} set +aeuvxEHT; __hob_debug=$(${__hob_via:+"$__hob_via"} trap -p DEBUG) __hob_traps=$(${__hob_via:+"$__hob_via"} trap -p ERR); ${__hob_via:+"$__hob_via"} trap - DEBUG ERR; __hob_looked=1; \__hob_keep';
# Runs if that line was given up.
__hob_slow="$__hob_look"$'\n((__hob_by)) || FUNCNEST=1 \\__hob_probe builtin || ((1))\n((__hob_by)) || FUNCNEST=1 \\__hob_probe command || ((1))\n\\__hob_unposix\n\\__hob_quiet';
readonly -f __hob_begin __hob_probe __hob_posix __hob_unposix __hob_options __hob_quiet __hob_ask __hob_first __hob_keep __hob_is_trap __hob_again __hob_mark __hob_copy __hob_say __hob_print __hob_lost __hob_before; readonly __hob_look __hob_slow; PS1= PS2=;
# Parsed each time, with the current aliases and in any parser state: so no word in it is affected by either,
# except the brace. Not in a function, where traps on DEBUG and ERR are not visible. A descriptor that cannot be
# written to detects them, and needs no file that a restricted shell refuses.
PROMPT_COMMAND='{
\__hob_begin; FUNCNEST=1 \__hob_probe builtin || ((1));
((!__hob_by)) || "$__hob_via" trap -p DEBUG ERR || "$__hob_via" eval "$__hob_look";
\__hob_quiet;
} 1</dev/null 2<&1'$'\n((__hob_ready)) || { \\__hob_posix; \\eval "$__hob_slow" || ((1)); ((__hob_looked)) || FUNCNEST=1 \\__hob_probe command || ((1)); ((__hob_looked)) || \\eval "$__hob_slow"; } 1</dev/null 2<&1';
# The status is saved separately, so that it is right even if that fails; before bash 5.1 there is one text.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 500)); then PROMPT_COMMAND=("$PROMPT_COMMAND" '\__hob_mark "$?" "${PIPESTATUS[0]}"');
else PROMPT_COMMAND="{ __hob_status=\$? __hob_pipe=\${PIPESTATUS[0]};${PROMPT_COMMAND#?}"$'\n\\__hob_mark "$__hob_status" "$__hob_pipe"'; fi;
readonly PROMPT_COMMAND
"#;

/// The word by which bash starts itself. Code cannot change the one of Linux; macOS has no such path.
#[cfg(target_os = "linux")]
const ITSELF: &str = "/proc/self/exe";
#[cfg(target_os = "macos")]
const ITSELF: &str = "\"$BASH\"";

/// The variable that a barrier sets. No suffix of it is a valid name, so a barrier truncated by an interrupt sets
/// nothing else.
const VARIABLE: &str = "_403";

/// The suffix of the status if the shell returned to its prompt before the end of the line: after a signal, or after an
/// error that ends a script.
const GIVEN_UP: &str = " given up";

/// The exit status for SIGINT: 128 plus the signal number.
const INTERRUPTED: i32 = 130;

/// Returns true if the first command turns on line editing. Only the first: later words may be the text of a here document.
fn turns_editing_on(code: &str) -> bool {
    let first = code.trim_start().split(['\n', ';', '&', '|', '#']).next().unwrap_or_default();
    matches!(first.split_whitespace().collect::<Vec<_>>()[..], ["set", "-o", "vi" | "emacs"])
}

/// Returns the first part of the nonce. The whole nonce is never shown.
fn prefix(nonce: &Nonce) -> String {
    format!("hob-barrier-{}-", &nonce.as_str()[..12])
}

/// Returns true if bash complains about the rest of a barrier. A late interrupt, handled while bash reads the next
/// line, removes the part already read.
fn is_of_a_cut_barrier(line: &[u8], prefix: &str) -> bool {
    let line = String::from_utf8_lossy(line);
    let Some((word, _)) = line.strip_prefix("bash: ").and_then(|line| line.split_once(": ")) else { return false };
    let echo = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let whole = format!("{VARIABLE}={prefix}");
    echo != word && echo != whole && whole.ends_with(echo)
}

/// Quotes any text as one word on one line: `$'…'`.
fn quoted(code: &str) -> String {
    let mut word = String::with_capacity(code.len() + 8);
    word.push_str("$'");
    for character in code.chars() {
        match character {
            '\\' => word.push_str("\\\\"),
            '\'' => word.push_str("\\'"),
            '\n' => word.push_str("\\n"),
            character if character.is_ascii_control() => {
                word.push_str(&format!("\\x{:02x}", u32::from(character)));
            }
            character => word.push(character),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Stdio;

    use super::*;
    use expect_test::expect;

    #[test]
    fn code_is_one_line() {
        let plan = Bash.plan("for i in 1 2; do\n\techo 'é\\'$i\ndone").expect("fine");
        expect![[r#"
            \__hob_first; ! \eval -- "$__hob_line"$'for i in 1 2; do\n\x09echo \'é\\\'$i\ndone'; __hob_ended() ((__hob_end=1))
        "#]]
        .assert_eq(&String::from_utf8(plan.steps[0].bytes.clone()).expect("UTF-8"));
        assert!(Bash.plan("a\0b").is_err());
        for editing in ["set -o vi", " set  -o emacs; true", "set -o vi && true", "set -o vi # keys"] {
            assert!(Bash.plan(editing).is_err(), "{editing}");
        }
        for other in ["set -o", "set -o vim", "set +o vi", "cat >x <<E\nset -o vi\nE", "bash -c 'set -o vi'"] {
            assert!(Bash.plan(other).is_ok(), "{other}");
        }
    }

    #[test]
    fn a_bash_with_one_prompt_command_marks_as_well() {
        let nonce = Nonce::fixed("0123456789abcdef0123456789abcdef");
        let old = marks(&nonce, 0).replace("> 500)", "> 50000)");
        assert_ne!(old, marks(&nonce, 0));
        let mut lines = format!("PS1=\n{INTERACTIVE}\nPS1=; {old}\n");
        for code in ["(exit 3)", "[[ a b c", "[[ a ]]", "set -r; alias if=foo", "false", "echo $?", "set -e; false"] {
            lines.push_str(&String::from_utf8(Bash.plan(code).expect("fine").steps[0].bytes.clone()).expect("text"));
        }
        let mut bash = std::process::Command::new("bash");
        let mut bash = bash.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("there");
        bash.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("read");
        let said = String::from_utf8(bash.wait_with_output().expect("it ends").stdout).expect("text");
        // The line that installs the marks belongs to no evaluation.
        let said = said.replace(nonce.as_str(), "");
        assert_eq!(said, " 1 0 given up\n 2 3\n 3 2\n 4 0\n 5 0\n 6 1\n1\n 7 0\n");
    }

    #[test]
    fn the_exit_status_is_the_verdict() {
        let judge =
            |payload, interrupting| Bash.classify(Printed { code: "", stdout: "", stderr: "", payload, interrupting });
        assert!(!judge("0", false).error);
        assert_eq!(judge("2", false).exception.as_deref(), Some("exit status 2"));
        assert!(judge("130", true).interrupted && judge("130 given up", false).interrupted);
        assert!(judge("1 given up", false).error && !judge("1 given up", false).interrupted);
        assert!(!judge("130", false).interrupted && judge("130", false).error, "a child that exits so");
        for unreadable in ["", "x", "0 0", "99999999999"] {
            assert!(judge(unreadable, false).error, "{unreadable:?}");
        }
    }

    #[test]
    fn only_settings_are_replayed() {
        assert!(Bash.replayable("export A=1\ncd /tmp") && Bash.replayable("alias l=ls"));
        assert!(!Bash.replayable("rm x") && !Bash.replayable("export A=$(rm x)") && !Bash.replayable("cd /tmp; rm x"));
    }

    #[test]
    fn barriers_leave_no_trace() {
        let nonce = Nonce::fixed("0123456789abcdef0123456789abcdef");
        assert_eq!(Bash.without_barriers(b"\nhob-barrier-0123456789ab-4\n\n", &nonce), b"");
        assert_eq!(Bash.without_barriers(b"late\nhob-barrier-0123456789ab-4\n", &nonce), b"late\n");
        assert_eq!(Bash.without_barriers(b"10 %, hob-barrier-0123456789ab-4\n20 %, ", &nonce), b"10 %, 20 %, ");
    }

    #[test]
    fn nor_do_barriers_that_an_interrupt_cut() {
        let nonce = Nonce::fixed("0123456789abcdef0123456789abcdef");
        let barrier = String::from_utf8(Bash.barrier(&nonce, 42).bytes).expect("text");
        let cuts: String = (1..barrier.len()).map(|cut| &barrier[cut..]).collect();
        let lines = format!("PS1=\n{INTERACTIVE}\nPS1=; exec 2>&1\n{cuts}PATH=\nexec 2>/dev/null\n");
        let mut bash = std::process::Command::new("bash");
        let mut bash = bash.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("there");
        bash.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("read");
        let said = bash.wait_with_output().expect("it ends").stdout;
        assert_eq!(said.iter().filter(|&&byte| byte == b'\n').count(), barrier.len() - 2, "{said:?}");
        assert_eq!(String::from_utf8_lossy(&Bash.without_barriers(&said, &nonce)), "");
        let others = b"bash: foo: command not found\nmake: n: no\nbash: echo: write error: Broken pipe\n";
        assert_eq!(Bash.without_barriers(others, &nonce), others);
    }
}
