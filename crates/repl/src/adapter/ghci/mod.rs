//! GHCi, also inside `cabal repl` and `stack ghci`: markers by a compiled prompt function.
//!
//! GHCi calls the prompt function before it reads each command, with the modules in scope and its line number. Ours
//! writes the marker to both streams as bytes, whatever encoding, newline mode or buffering a program has set there,
//! then sets standard output to line buffering, since GHCi unbuffers it at every load and unbuffered output costs one
//! system call per character. Only before code that asks for input, which sets a variable of the environment first, it
//! sets no buffering, so that a question without a newline is seen before its answer is needed. It is compiled once, so
//! nothing that later happens to the scope can break it. How code is handed over stands in [`code`].

mod code;

use super::{Adapter, Barrier, Nonce, Plan, Printed, Refusal, Setup, Step, Verdict, without_answers};
use crate::diagnostics;

/// The driver of GHCi.
#[derive(Debug)]
pub struct Ghci;

impl Adapter for Ghci {
    fn install(&self, nonce: &Nonce) -> Vec<u8> {
        // The plain prompt comes first: where the function does not compile, it is what remains.
        let static_prompt = format!(":set prompt-cont \"\"\n:set prompt \"{} - \\n\"\n", nonce.as_str());
        (static_prompt + &prompt_function(nonce, &own_handles())).into_bytes()
    }

    fn unnumbered(&self, nonce: &Nonce, count: usize) -> Setup {
        match count {
            // The static prompt, before the function.
            1 => Setup::Wait,
            // The function did not compile: a module that it names is out of reach, or without an implicit Prelude, the
            // types that GHCi itself writes around it are not in scope.
            2 => {
                let function = prompt_function(nonce, RAW_BUFFERS);
                Setup::Write(format!(":module +Prelude\n{function}:module -Prelude\n").into_bytes())
            }
            3 | 4 => Setup::Wait,
            _ => Setup::Fallback,
        }
    }

    fn fallback_mark(&self, nonce: &Nonce, number: u64) -> Option<Vec<u8>> {
        let print = format!("printf '%s\\n' '{} {number} '", nonce.as_str());
        Some(format!(":! {print}; {print} >&2\n").into_bytes())
    }

    fn version(&self, banner: &str) -> Option<String> {
        let (_, rest) = banner.split_once("GHCi, version ")?;
        rest.split(':').next().map(|version| version.trim().to_owned())
    }

    fn plan(&self, code: &str) -> Result<Plan, Refusal> {
        code::plan(code)
    }

    fn is_quit(&self, code: &str) -> bool {
        code.lines().rev().map(str::trim).find(|line| !line.is_empty()).is_some_and(code::is_quit)
    }

    fn classify(&self, printed: Printed<'_>) -> Verdict {
        // The last word, unless a thread of the program had one more, and in a line of its own, unless the program began it.
        let says = |line: &str| line == "Interrupted." || printed.interrupting && line.ends_with("Interrupted.");
        let interrupted = printed.stderr.lines().rev().take(20).any(says);
        let verdict = diagnostics::judge(printed.code, printed.stdout, printed.stderr);
        // GHCi turns some signals into exceptions of its own. At its prompt it only says so, and ends; where it goes on,
        // the same words on standard output are the program's.
        let last = printed.stdout.lines().rfind(|line| *line != "Leaving GHCi.").filter(|_| printed.payload.is_empty());
        let signal = verdict.exception.as_deref().into_iter().chain(last).find_map(signal);
        Verdict { interrupted, signal, ..verdict }
    }

    fn barrier(&self, nonce: &Nonce, n: u64) -> Barrier {
        // A command that GHCi does not know needs nothing in scope and evaluates nothing.
        let word = format!("{}-{n}", word(nonce));
        Barrier {
            bytes: format!(":{word}\n").into_bytes(),
            echo: Some(format!("unknown command ':{word}'").into_bytes()),
        }
    }

    fn barrier_prefix(&self, nonce: &Nonce) -> Option<Vec<u8>> {
        Some(format!("unknown command ':{}-", word(nonce)).into_bytes())
    }

    fn without_barriers(&self, output: &[u8], nonce: &Nonce) -> Vec<u8> {
        let prefix = format!("unknown command ':{}-", word(nonce));
        let output = without_answers(output, &prefix, &["'\n", "use :? for help.\n"]);
        let lines = output.split_inclusive(|&byte| byte == b'\n');
        lines.filter(|line| *line != b"Interrupted.\n").collect::<Vec<_>>().concat()
    }

    fn recover(&self, _code: &str, payload: &str) -> Option<(Step, String)> {
        // An interrupted load leaves nothing in scope, not even `+`.
        payload.is_empty().then(|| {
            let step = Step { bytes: b":module +Prelude\n".to_vec(), advance: 1, script: None };
            (
                step,
                "The interrupted load emptied the scope; Prelude was restored. Load again to get the modules back."
                    .to_owned(),
            )
        })
    }

    fn quit(&self) -> Vec<u8> {
        b":quit\n".to_vec()
    }

    fn prompt(&self, _payload: &str) -> String {
        "ghci> ".to_owned()
    }

    fn replayable(&self, code: &str) -> bool {
        code::definitions(code).is_some_and(|definitions| definitions.whole)
    }

    fn definitions(&self, code: &str) -> Option<String> {
        code::definitions(code).map(|definitions| definitions.code)
    }
}

/// The number in `ghc: signal: 15`, and in `signal: 15` as GHC says it since 9.10.
fn signal(line: &str) -> Option<i32> {
    let number = match line.split_once(": signal: ") {
        Some((program, number)) if program.starts_with("ghc") && !program.contains(char::is_whitespace) => number,
        Some(_) => return None,
        None => line.strip_prefix("signal: ")?,
    };
    number.parse().ok()
}

/// The word of the barriers: not the nonce, which is never shown to anyone.
fn word(nonce: &Nonce) -> String {
    format!("hob-{}", &nonce.as_str()[..12])
}

/// Set for one prompt: the code after it asks for input.
const ASKS: &str = "HOB_ASKS";

/// Characters and nothing else, so that extensions which reinterpret literals do not matter.
fn characters(text: &str) -> String {
    let characters: String = text.chars().map(|c| format!("'{c}':")).collect();
    format!("({characters}Prelude.mempty)")
}

/// The line that announces code which asks for input. It binds nothing, not even `it`.
fn announcement() -> String {
    let (name, value) = (characters(ASKS), characters("1"));
    format!("_ <- System.Environment.setEnv {name} {value}\n")
}

/// What the prompt function is made of: definitions of `w`, that writes a text as bytes, of `p` and `q`, where to, and of
/// `r`, that waits for a moment until there is something to read.
///
/// `p` and `q` are handles of our own to the two descriptors, without an encoding. They are made of nothing that knows the
/// types of C: those are 26 more instances of `Num`, as many of `Show`, and GHC would go through all of them whenever it
/// looks for one, 200 kB and 70 to 100 µs more for every `1+1`.
///
/// `r` is where GHCi waits for the next command if that comes soon. At its own prompt it would wait by its event manager,
/// another thread of the operating system, and each command would have to go from there to the main one: two changes
/// of threads, often between two processors. Since nothing interrupts it, it takes no longer than 10 ms; a signal at the
/// prompt has to wait for that. What GHCi has read already it does not see, but then nobody waits for an answer: of code,
/// each part is sent when the one before it was answered.
fn own_handles() -> String {
    let (out, err) = (characters("<stdout>"), characters("<stderr>"));
    format!(
        "w h s = System.IO.hPutStr h s Prelude.>> System.IO.hFlush h ; \
         d f n = System.IO.Unsafe.unsafePerformIO (GHC.IO.Handle.FD.mkHandleFromFD f GHC.IO.Device.Stream n \
         System.IO.WriteMode Prelude.False Prelude.Nothing) ; \
         p = d GHC.IO.FD.stdout {out} ; q = d GHC.IO.FD.stderr {err} ; \
         r = GHC.IO.Device.ready GHC.IO.FD.stdin Prelude.False (Prelude.fromEnum '\\n')"
    )
}

/// The same by what every GHC offers to every program: for one that keeps the inner modules of base to itself. Bytes go
/// past the encoding of the handles that everyone uses, and nothing is waited for.
const RAW_BUFFERS: &str = "w h s = Foreign.C.String.withCAStringLen s \
     (\\ l -> System.IO.hPutBuf h (Prelude.fst l) (Prelude.snd l)) Prelude.>> System.IO.hFlush h ; \
     p = System.IO.stdout ; q = System.IO.stderr ; r = Prelude.return Prelude.False";

/// The line that installs the prompt function. It holds no literal but characters and names everything in full, so
/// that it compiles under RebindableSyntax, OverloadedStrings and OverloadedLists too; it is masked, so that an
/// interrupt cannot tear a marker. The program's own output comes first, and where it closed a stream, GHCi ends here
/// as at its own prompt. Letters beyond ASCII in the name of a module are told as `?`. What is the same at every prompt
/// stands outside of the function, which is byte code and would build it anew; and what only the next command needs comes
/// after the markers: the buffering, and the wait.
fn prompt_function(nonce: &Nonce, parts: &str) -> String {
    let (nonce, asks) = (characters(&format!("{} ", nonce.as_str())), characters(ASKS));
    format!(
        ":set prompt-function let {{ \
         k = {nonce} ; a = {asks} ; z = '\\n' : Prelude.mempty ; o = System.IO.stdout ; \
         b = System.IO.hSetBuffering o ; \
         c l = case l Prelude.< '\\DEL' of {{ Prelude.True -> l ; Prelude.False -> '?' }} ; {parts} }} in \
         \\ms n -> let {{ m = k Prelude.++ Prelude.show n }} in Control.Exception.uninterruptibleMask_ ( \
         System.IO.hFlush o Prelude.>> \
         w p (m Prelude.++ (' ' : (Prelude.map c (Prelude.concat ms) Prelude.++ z))) Prelude.>> \
         System.IO.hFlush System.IO.stderr Prelude.>> \
         w q (m Prelude.++ (' ' : z)) Prelude.>> \
         (System.Environment.lookupEnv a Prelude.>>= Prelude.maybe (b System.IO.LineBuffering) \
         (\\ _ -> System.Environment.unsetEnv a Prelude.>> b System.IO.NoBuffering))) Prelude.>> \
         r Prelude.>> Prelude.return Prelude.mempty\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn barriers_leave_no_trace() {
        let nonce = Nonce::known("0123456789abcdef0123456789abcdef");
        let barrier = "unknown command ':hob-0123456789ab-4'\nuse :? for help.\n";
        let kept = |before, after| {
            let output = format!("{before}{barrier}{after}");
            String::from_utf8(Ghci.without_barriers(output.as_bytes(), &nonce)).unwrap()
        };
        assert_eq!(kept("", ""), "");
        assert_eq!(kept("Interrupted.\nuse :? for help.\n", "late\n"), "use :? for help.\nlate\n");
        assert_eq!(kept("10 %, ", "20 %, "), "10 %, 20 %, ");
    }

    #[test]
    fn a_signal_is_what_ghci_says_of_one_not_what_a_program_prints() {
        let said = |stdout, stderr, payload| {
            Ghci.classify(Printed { code: "main", stdout, stderr, payload, interrupting: false }).signal
        };
        assert_eq!(said("", "*** Exception: ghc: signal: 15\n", "Prelude"), Some(15), "GHC 9.0 to 9.8");
        assert_eq!(said("", "*** Exception: signal: 15\n", "Prelude"), Some(15), "GHC 9.10");
        assert_eq!(said("ghc: signal: 15\nLeaving GHCi.\n", "", ""), Some(15));
        assert_eq!(said("signal: 1\nLeaving GHCi.\n", "", ""), Some(1));
        assert_eq!(said("ghc: signal: 15\n", "", "Prelude"), None);
        assert_eq!(said("signal: 15\n", "", "Prelude"), None);
        assert_eq!(said("", "*** Exception: user error (ghc: signal: 15)\n", "Prelude"), None);
    }
}
