//! bash: its prompt command prints the markers, with the exit status as payload.
//!
//! It runs interactively on pipes. Interactive is what makes it survive: SIGINT ends a shell that reads a script, but
//! returns an interactive one to its prompt. Code goes through `eval` as one line, so an open quote or bracket is an
//! error at once instead of a shell that waits for more.

use super::{Adapter, Barrier, Nonce, Plan, Printed, Refusal, Step, Verdict, without_answers};

/// How to talk to bash 4.1 and newer.
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
        let step = Step { bytes: format!("eval {}\n", quoted(code)).into_bytes(), advance: 1, script: None };
        Ok(Plan { steps: vec![step], notes: Vec::new() })
    }

    fn is_quit(&self, code: &str) -> bool {
        matches!(code.split_whitespace().next(), Some("exit" | "logout" | "exec"))
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        let status: i32 = printed.payload.trim().parse().unwrap_or(0);
        Verdict {
            error: status != 0,
            interrupted: status == INTERRUPTED,
            exception: (status != 0).then(|| format!("exit status {status}")),
            ..Verdict::default()
        }
    }

    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier {
        let echo = format!("{}{n}", prefix(nonce));
        // Without quotes, and without words that end like a word of the grammar: see [`is_of_a_cut_barrier`].
        Barrier { bytes: format!("command echo {echo}\n").into_bytes(), echo: Some(echo.into_bytes()) }
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

/// Makes a bash that reads commands from a pipe an interactive one. It complains of the missing terminal at its start:
/// that goes nowhere, and its standard error comes back from descriptor 9.
const INTERACTIVE: &str = "exec \"$BASH\" --noprofile --norc --noediting +H -i 9>&2 2>/dev/null";

/// Installs the marks, which go on after a number.
fn marks(nonce: &Nonce, number: u64) -> String {
    // Copies of the descriptors, so that the end is seen even after `exec >file`. Read-only, so that it cannot be
    // taken away by accident; `$?` is handed on to the next command.
    format!(
        "[ -e /dev/fd/9 ] && exec 2>&9 9>&-; set +o history; exec {{__hob_out}}>&1 {{__hob_err}}>&2; \
         __hob_number={number}; __hob_mark() {{ local status=$?; __hob_number=$((__hob_number + 1)); builtin printf '%s %d \
         %d\\n' '{nonce}' \"$__hob_number\" \"$status\" >&\"$__hob_out\"; builtin printf '%s %d %d\\n' '{nonce}' \
         \"$__hob_number\" \"$status\" >&\"$__hob_err\"; return \"$status\"; }}; readonly -f __hob_mark; PS1= PS2= \
         PROMPT_COMMAND=__hob_mark; readonly PROMPT_COMMAND __hob_out __hob_err",
        nonce = nonce.as_str(),
    )
}

/// 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Not the whole nonce, which is never shown to anyone.
fn prefix(nonce: &Nonce) -> String {
    format!("hob-barrier-{}-", &nonce.as_str()[..12])
}

/// Whether bash complains of the rest of a barrier: an interrupt that it acts on late, while it reads the next line,
/// takes away what it has read of it.
fn is_of_a_cut_barrier(line: &[u8], prefix: &str) -> bool {
    let line = String::from_utf8_lossy(line);
    let Some((word, _)) = line.strip_prefix("bash: ").and_then(|line| line.split_once(": ")) else { return false };
    let echo = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
    // A whole word is there: what that complains of is the program's.
    let cut = |whole: &str| !word.is_empty() && word != whole && whole.ends_with(word);
    cut("command") || cut("echo") || (echo != word && prefix.ends_with(echo))
}

/// `$'…'`: any text as one word on one line.
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
            eval $'for i in 1 2; do\n\x09echo \'é\\\'$i\ndone'
        "#]]
        .assert_eq(&String::from_utf8(plan.steps[0].bytes.clone()).expect("UTF-8"));
        assert!(Bash.plan("a\0b").is_err());
    }

    #[test]
    fn the_exit_status_is_the_verdict() {
        let judge = |payload| Bash.classify(Printed { code: "", stdout: "", stderr: "", payload, interrupting: false });
        assert!(!judge("0").error);
        assert_eq!(judge("2").exception.as_deref(), Some("exit status 2"));
        assert!(judge("130").interrupted);
    }

    #[test]
    fn only_settings_are_replayed() {
        assert!(Bash.replayable("export A=1\ncd /tmp") && Bash.replayable("alias l=ls"));
        assert!(!Bash.replayable("rm x") && !Bash.replayable("export A=$(rm x)") && !Bash.replayable("cd /tmp; rm x"));
    }

    #[test]
    fn barriers_leave_no_trace() {
        let nonce = Nonce::known("0123456789abcdef0123456789abcdef");
        assert_eq!(Bash.without_barriers(b"\nhob-barrier-0123456789ab-4\n\n", &nonce), b"");
        assert_eq!(Bash.without_barriers(b"late\nhob-barrier-0123456789ab-4\n", &nonce), b"late\n");
        assert_eq!(Bash.without_barriers(b"10 %, hob-barrier-0123456789ab-4\n20 %, ", &nonce), b"10 %, 20 %, ");
    }

    #[test]
    fn nor_do_barriers_that_an_interrupt_cut() {
        let nonce = Nonce::known("0123456789abcdef0123456789abcdef");
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
