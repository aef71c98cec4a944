//! Parses the options of a command as its program does: clusters of letters, values, abbreviations.
//!
//! [`PROGRAMS`] lists the options of common programs, one word for each option with all its names. `f|force` takes no value,
//! `m|message:` takes one, and `S|gpg-sign?` takes one only in the same word.

use super::shell::Word;

/// The options that a program has.
pub(super) type Options = &'static str;

/// An argument.
#[derive(Debug, Clone)]
pub(super) enum Argument {
    Option(GivenOption),
    /// An operand. It may be the value of the option before it if that option is unknown.
    Operand {
        word: Word,
        may_be_value: bool,
    },
}

/// An option on a command line.
#[derive(Debug, Clone)]
pub(super) struct GivenOption {
    /// The name with its dashes: `-f`, `--force`. An option that does not parse keeps its whole text.
    pub(super) name: String,
    /// Its entry in the program's options.
    pub(super) entry: Option<&'static str>,
    pub(super) value: Option<Word>,
    /// True if it is a letter of a word that may not be an option.
    pub(super) is_doubtful: bool,
    /// True if it is a whole word of letters. An entry for each letter follows.
    pub(super) is_cluster: bool,
    /// The word that contains it, if that word has holes.
    pub(super) open: Option<Word>,
}

/// Arguments of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    pub(super) list: Vec<Argument>,
    /// The number of words that were read.
    pub(super) length: usize,
    /// The number of arguments before `--`.
    pub(super) dashes: Option<usize>,
}

/// The options of git before its subcommand.
pub(super) const GIT: Options = "C: c: git-dir: work-tree: namespace: config-env: attr-source: super-prefix: exec-path? p|paginate P|no-pager bare no-replace-objects no-optional-locks literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-lazy-fetch h|help v|version html-path man-path info-path list-cmds:";

/// Common programs and their options. An entry `git push` is for that subcommand.
const PROGRAMS: &[(&str, Options)] = &[
    ("rm", "r|R|recursive f|force i I interactive? v|verbose d|dir one-file-system preserve-root? no-preserve-root"),
    (
        "cp",
        "a|archive b backup? d f|force i|interactive H l|link L|dereference n|no-clobber P|no-dereference p preserve? R|r|recursive s|symbolic-link S|suffix: t|target-directory: T|no-target-directory u|update? v|verbose x|one-file-system reflink?",
    ),
    (
        "mv",
        "b backup? f|force i|interactive n|no-clobber S|suffix: t|target-directory: T|no-target-directory u|update? v|verbose",
    ),
    ("chmod", "c|changes f|silent|quiet v|verbose R|recursive reference: preserve-root no-preserve-root"),
    ("chown", "c|changes f|silent|quiet v|verbose R|recursive h|no-dereference from: reference: H L P"),
    ("mkdir", "m|mode: p|parents v|verbose"),
    (
        "ln",
        "s|symbolic f|force n|no-dereference T|no-target-directory t|target-directory: v|verbose r|relative b i L P S|suffix:",
    ),
    ("tee", "a|append i|ignore-interrupts p output-error?"),
    (
        "sed",
        "n|quiet|silent e|expression: f|file: E|r|regexp-extended i|in-place? l|line-length: s|separate u|unbuffered z|null-data b|binary posix debug sandbox follow-symlinks",
    ),
    (
        "grep",
        "e|regexp: f|file: m|max-count: A|after-context: B|before-context: C|context: d|directories: D|devices: label: include: exclude: exclude-from: exclude-dir: binary-files: color? colour? E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp i|ignore-case y no-ignore-case v|invert-match w|word-regexp x|line-regexp c|count l|files-with-matches L|files-without-match n|line-number H|with-filename h|no-filename o|only-matching q|quiet|silent s|no-messages r|recursive R|dereference-recursive a|text b|byte-offset T|initial-tab Z|null z|null-data U|binary I u line-buffered V|version",
    ),
    (
        "rg",
        "e|regexp: f|file: g|glob: iglob: t|type: T|type-not: m|max-count: A|after-context: B|before-context: C|context: j|threads: r|replace: M|max-columns: E|encoding: d|max-depth: sort: sortr: color: colors: pre: pre-glob: engine: ignore-file: max-filesize: type-add: F|fixed-strings P|pcre2 i|ignore-case S|smart-case s|case-sensitive v|invert-match w|word-regexp x|line-regexp c|count count-matches l|files-with-matches files-without-match files n|line-number N|no-line-number H|with-filename I|no-filename o|only-matching q|quiet u|unrestricted uu uuu a|text b|byte-offset L|follow z|search-zip p|pretty U|multiline 0|null hidden no-ignore no-ignore-vcs heading no-heading json stats vimgrep column trim debug passthru line-buffered V|version",
    ),
    ("dd", ""),
    ("kill", "s|signal: l|list? L|table 9 15"),
    ("git", GIT),
    (
        "git add",
        "n|dry-run v|verbose f|force i|interactive p|patch e|edit A|all no-all u|update N|intent-to-add refresh ignore-errors ignore-missing sparse chmod: renormalize pathspec-from-file: pathspec-file-nul",
    ),
    (
        "git branch",
        "d|delete D m|move M c|copy C f|force v|verbose q|quiet t|track? u|set-upstream-to: l|list a|all r|remotes i|ignore-case contains: no-contains: merged? no-merged? points-at: sort: format: column? color? unset-upstream edit-description show-current abbrev? create-reflog",
    ),
    (
        "git checkout",
        "b: B: d|detach f|force m|merge q|quiet t|track? l p|patch ours theirs orphan: conflict: ignore-other-worktrees overlay no-overlay pathspec-from-file: pathspec-file-nul guess no-guess progress no-progress recurse-submodules?",
    ),
    ("git clean", "d f|force i|interactive n|dry-run q|quiet e|exclude: x X"),
    (
        "git commit",
        "a|all p|patch C|reuse-message: c|reedit-message: F|file: m|message: t|template: s|signoff no-signoff n|no-verify v|verbose e|edit no-edit i|include o|only q|quiet u|untracked-files? S|gpg-sign? no-gpg-sign z|null fixup: squash: reset-author author: date: allow-empty allow-empty-message cleanup: amend no-post-rewrite dry-run short branch porcelain long trailer: status no-status pathspec-from-file: pathspec-file-nul verify",
    ),
    (
        "git fetch",
        "a|append f|force j|jobs: k|keep m|multiple n|no-tags o|server-option: p|prune P|prune-tags q|quiet t|tags u|update-head-ok v|verbose 4|ipv4 6|ipv6 all no-all atomic depth: deepen: shallow-since: shallow-exclude: unshallow update-shallow dry-run porcelain filter: refetch refmap: upload-pack: recurse-submodules? no-recurse-submodules set-upstream negotiation-tip: negotiate-only progress stdin write-fetch-head no-write-fetch-head auto-maintenance no-auto-maintenance",
    ),
    (
        "git merge",
        "n|no-stat m|message: F|file: s|strategy: X|strategy-option: S|gpg-sign? e|edit no-edit ff no-ff ff-only q|quiet v|verbose squash no-squash commit no-commit abort continue quit log? stat signoff verify no-verify cleanup: into-name: allow-unrelated-histories rerere-autoupdate autostash overwrite-ignore",
    ),
    (
        "git pull",
        "r|rebase? a|append f|force j|jobs: k|keep m|multiple n|no-stat o|server-option: p|prune q|quiet s|strategy: t|tags u|update-head-ok v|verbose X|strategy-option: S|gpg-sign? 4|ipv4 6|ipv6 all depth: upload-pack: ff no-ff ff-only no-rebase squash commit no-commit edit no-edit autostash no-autostash allow-unrelated-histories recurse-submodules? refmap: filter: set-upstream verify-signatures dry-run",
    ),
    (
        "git push",
        "f|force n|dry-run u|set-upstream d|delete o|push-option: v|verbose q|quiet 4|ipv4 6|ipv6 force-with-lease? force-if-includes no-force-with-lease no-force-if-includes no-force mirror no-mirror all branches tags no-tags follow-tags no-follow-tags prune porcelain no-verify verify receive-pack: exec: repo: thin no-thin atomic no-atomic signed? no-signed progress no-progress recurse-submodules:",
    ),
    (
        "git rebase",
        "i|interactive x|exec: r|rebase-merges? s|strategy: X|strategy-option: S|gpg-sign? q|quiet v|verbose n|no-stat m|merge C: f|force-rebase|no-ff k|keep-empty onto: continue skip abort quit edit-todo show-current-patch root autosquash no-autosquash autostash no-autostash keep-base apply signoff stat verify no-verify empty: whitespace: update-refs no-update-refs fork-point no-fork-point rerere-autoupdate",
    ),
    (
        "git reset",
        "q|quiet p|patch N|intent-to-add soft mixed hard merge keep refresh no-refresh recurse-submodules? pathspec-from-file: pathspec-file-nul",
    ),
    (
        "git restore",
        "s|source: p|patch W|worktree S|staged q|quiet m|merge ours theirs conflict: ignore-unmerged ignore-skip-worktree-bits overlay no-overlay recurse-submodules? pathspec-from-file: pathspec-file-nul",
    ),
    ("git rm", "n|dry-run q|quiet cached f|force r ignore-unmatch sparse pathspec-from-file: pathspec-file-nul"),
    (
        "git switch",
        "c|create: C|force-create: d|detach f|force|discard-changes m|merge q|quiet t|track? orphan: conflict: guess no-guess ignore-other-worktrees",
    ),
    (
        "git tag",
        "a|annotate s|sign u|local-user: f|force d|delete v|verify l|list? m|message: F|file: n? i|ignore-case e|edit sort: contains: no-contains: merged? no-merged? points-at: format: column? color? cleanup: create-reflog",
    ),
    ("git stash", "p|patch k|keep-index S|staged u|include-untracked a|all q|quiet m|message: index"),
    (
        "curl",
        "X|request: H|header: d|data: o|output: O|remote-name u|user: A|user-agent: b|cookie: c|cookie-jar: e|referer: F|form: K|config: T|upload-file: x|proxy: E|cert: m|max-time: w|write-out: r|range: D|dump-header: C|continue-at: y|speed-time: Y|speed-limit: z|time-cond: U|proxy-user: P|ftp-port: Q|quote: t|telnet-option: s|silent S|show-error f|fail L|location i|include|show-headers I|head k|insecure v|verbose g|globoff G|get n|netrc N|no-buffer p|proxytunnel q|disable R|remote-time a|append j|junk-session-cookies J|remote-header-name l|list-only Z|parallel 0|http1.0 1|tlsv1 2 3 4|ipv4 6|ipv6 # V|version h|help data-raw: data-binary: data-urlencode: data-ascii: json: url: url-query: output-dir: create-dirs connect-timeout: retry: retry-delay: retry-max-time: cacert: key: cert-type: resolve: connect-to: form-string: limit-rate: max-redirs: noproxy: oauth2-bearer: unix-socket: compressed fail-with-body http1.1 http2 http3 location-trusted no-progress-meter retry-all-errors retry-connrefused ssl-no-revoke tlsv1.2 tlsv1.3",
    ),
    (
        "wget",
        "O|output-document: o|output-file: a|append-output: P|directory-prefix: U|user-agent: e|execute: i|input-file: t|tries: T|timeout: w|wait: Q|quota: l|level: A|accept: R|reject: D|domains: I|include-directories: X|exclude-directories: B|base: q|quiet v|verbose c|continue N|timestamping S|server-response b|background r|recursive k|convert-links p|page-requisites m|mirror n: x|force-directories method: header: post-data: post-file: body-data: body-file: user: password: no-check-certificate no-verbose",
    ),
    (
        "npm",
        "w|workspace: C|prefix: g|global D|save-dev S|save f|force s|silent y|yes registry: tag: otp: access: loglevel: userconfig: cache: script-shell: dry-run workspaces json omit: include: ignore-scripts save-exact no-save",
    ),
    ("docker", "H|host: l|log-level: config: c|context: D|debug tls tlscacert: tlscert: tlskey: tlsverify v|version"),
    (
        "docker run",
        "a|attach: d|detach e|env: env-file: h|hostname: i|interactive t|tty l|label: m|memory: p|publish: P|publish-all q|quiet u|user: v|volume: w|workdir: c|cpu-shares: name: network|net: entrypoint: mount: privileged? rm? cap-add: cap-drop: device: dns: add-host: cpus: gpus: ip: ipc: pid: platform: pull: read-only? restart: runtime: security-opt: shm-size: tmpfs: ulimit: volumes-from: userns: cgroupns: cidfile: init? label-file: log-driver: log-opt: link: expose: health-cmd: no-healthcheck stop-signal: stop-timeout: sysctl: uts: group-add:",
    ),
    ("docker exec", "d|detach e|env: env-file: i|interactive t|tty u|user: w|workdir: privileged? detach-keys:"),
    (
        "docker compose",
        "f|file: p|project-name: profile: env-file: project-directory: ansi: progress: parallel: dry-run",
    ),
    (
        "kubectl",
        "n|namespace: s|server: f|filename: l|selector: o|output: c|container: k|kustomize: A|all-namespaces R|recursive w|watch v: context: cluster: kubeconfig: user: token: as: as-group: as-uid: certificate-authority: client-certificate: client-key: request-timeout: tls-server-name: cache-dir: field-selector: grace-period: timeout: force? all? now? wait? cascade? dry-run? ignore-not-found? insecure-skip-tls-verify?",
    ),
    (
        "cargo",
        "p|package: j|jobs: Z: C: F|features: v|verbose q|quiet r|release color: config: manifest-path: target: target-dir: profile: message-format: bin: example: test: bench: exclude: index: registry: token: path: git: branch: tag: rev: root: version|vers: workspace all all-targets all-features no-default-features lib bins tests benches examples doc no-run no-fail-fast locked offline frozen dry-run allow-dirty no-verify timings? keep-going e: E|filter-expr: h|help V",
    ),
    (
        "gh",
        "R|repo: t|title: b|body: F|body-file: B|base: H|head: l|label: a|assignee: r|reviewer: m|milestone: q|jq: X|method: f|raw-field: hostname: json: template:",
    ),
    (
        "make",
        "f|file|makefile: C|directory: I|include-dir: j|jobs? l|load-average? o|old-file|assume-old: W|what-if|new-file|assume-new: B|always-make b m d debug? e|environment-overrides E|eval: i|ignore-errors k|keep-going L|check-symlink-times n|just-print|dry-run|recon O|output-sync? p|print-data-base q|question r|no-builtin-rules R|no-builtin-variables s|silent|quiet S|no-keep-going t|touch v|version w|print-directory no-print-directory trace",
    ),
    (
        "tar",
        "c|create x|extract|get t|list r|append u|update A|catenate d|diff f|file: C|directory: z|gzip j|bzip2 J|xz v|verbose p|preserve-permissions T|files-from: X|exclude-from: exclude: strip-components: I|use-compress-program: k|keep-old-files O|to-stdout to-command: checkpoint-action: h|dereference",
    ),
    ("head", "n|lines: c|bytes: q|quiet v|verbose z|zero-terminated"),
    ("tail", "n|lines: c|bytes: f F q|quiet v|verbose z|zero-terminated follow? pid: retry s|sleep-interval:"),
    (
        "ls",
        "a|all A|almost-all l h|human-readable r|reverse R|recursive t S 1 d|directory F|classify? i|inode s|size n|numeric-uid-gid g o G|no-group p q m x C u c U v X Z L|dereference H k b|escape N|literal Q|quote-name I|ignore: w|width: T|tabsize: color? sort: time: time-style: format: full-time group-directories-first hide:",
    ),
    ("terraform", ""),
];

/// Programs whose words with one dash are not clusters of letters.
const LONG_WITH_ONE_DASH: &[&str] = &["terraform", "java", "find", "go", "openssl", "ffmpeg", "dd"];

/// Returns the options of a program and its subcommand, and the number of arguments before and including the subcommand.
pub(super) fn options_of(program: &str, arguments: &[Word]) -> (Option<Options>, usize) {
    let entry = |name: &str| PROGRAMS.iter().find(|(program, _)| *program == name).map(|(_, options)| *options);
    let own = entry(program);
    if !matches!(program, "git" | "docker") {
        return (own, 0);
    }
    let before = read(own, arguments, true, false);
    let Some(subcommand) = arguments.get(before.length).and_then(Word::text) else { return (None, before.length) };
    (entry(&format!("{program} {subcommand}")), before.length)
}

/// Returns the entry for an option's name without dashes. An abbreviated name counts.
pub(super) fn entry_of(options: Options, name: &str) -> Option<&'static str> {
    let names = |entry: &'static str| entry.trim_end_matches([':', '?']).split('|');
    let entries = || options.split(' ').filter(|entry| !entry.is_empty());
    if let Some(exact) = entries().find(|entry| names(entry).any(|known| known == name)) {
        return Some(exact);
    }
    if name.chars().count() < 2 {
        return None;
    }
    // If several options have this prefix, the program refuses it or takes the shortest.
    let starts = entries().flat_map(|entry| names(entry).map(move |known| (known.len(), entry, known)));
    starts.filter(|(length, _, known)| *length > 1 && known.starts_with(name)).min().map(|(_, entry, _)| entry)
}

/// Reads arguments. `to_first_operand` is for programs that pass on further arguments; `has_single_dash` makes `-name` one option.
pub(super) fn read(
    options: Option<Options>,
    words: &[Word],
    to_first_operand: bool,
    has_single_dash: bool,
) -> Arguments {
    let mut read = Arguments::default();
    let mut may_be_value = false;
    while let Some(word) = words.get(read.length) {
        let start = word.start();
        if word.text() == Some("--") {
            read.length += 1;
            read.dashes = Some(read.list.len());
            break;
        }
        if !start.starts_with('-') || start.len() < 2 {
            if to_first_operand {
                return read;
            }
            read.list.push(Argument::Operand { word: word.clone(), may_be_value });
            may_be_value = false;
            read.length += 1;
            continue;
        }
        read.length += 1;
        let next = words.get(read.length);
        let taken = if start.starts_with("--") || has_single_dash {
            long(options, word, next, &mut read.list)
        } else {
            cluster(options, word, next, &mut read.list)
        };
        may_be_value = taken.is_none();
        read.length += usize::from(taken == Some(true) && next.is_some());
    }
    if !to_first_operand {
        let rest = words.get(read.length..).unwrap_or_default();
        read.list.extend(rest.iter().map(|word| Argument::Operand { word: word.clone(), may_be_value: false }));
        read.length = words.len();
    }
    read
}

/// Reads `--name`, `--name=value` or `--name value`. Returns whether the next word is its value, if known.
fn long(options: Option<Options>, word: &Word, next: Option<&Word>, list: &mut Vec<Argument>) -> Option<bool> {
    let start = word.start();
    let (name, is_attached) = start.split_once('=').map_or((start, false), |(name, _)| (name, true));
    let is_open = word.text().is_none() && !is_attached;
    let entry = options.filter(|_| !is_open).and_then(|options| entry_of(options, name.trim_start_matches('-')));
    let takes_next = entry.is_some_and(|entry| entry.ends_with(':')) && !is_attached;
    let value =
        if is_attached { Some(word.without_start(name.len() + 1)) } else { next.filter(|_| takes_next).cloned() };
    let open = is_open.then(|| word.clone());
    list.push(Argument::Option(GivenOption {
        name: name.to_owned(),
        entry,
        value,
        is_doubtful: false,
        is_cluster: false,
        open,
    }));
    if entry.is_none() && !is_attached { None } else { Some(takes_next) }
}

/// Reads `-abc`: letters, of which the last may take the rest or the next word as its value.
fn cluster(options: Option<Options>, word: &Word, next: Option<&Word>, list: &mut Vec<Argument>) -> Option<bool> {
    let start = word.start();
    let Some(options) = options else {
        // A long word of letters may be the value of its first letter.
        let letters = start.get(1..).unwrap_or_default();
        let is_cluster = letters.len() > 1 && letters.chars().all(|c| c.is_ascii_alphabetic()) && word.text().is_some();
        let open = word.text().is_none().then(|| word.clone());
        let whole =
            GivenOption { name: start.to_owned(), entry: None, value: None, is_doubtful: false, is_cluster, open };
        if is_cluster {
            let is_doubtful = letters.len() > 6;
            list.push(Argument::Option(whole.clone()));
            list.extend(letters.chars().map(|letter| {
                let name = format!("-{letter}");
                Argument::Option(GivenOption { name, is_doubtful, is_cluster: false, ..whole.clone() })
            }));
        } else {
            list.push(Argument::Option(whole));
        }
        return None;
    };
    let mut push = |name: String, entry, value, open| {
        list.push(Argument::Option(GivenOption { name, entry, value, is_doubtful: false, is_cluster: false, open }));
    };
    let mut known = Some(false);
    for (at, letter) in start.char_indices().skip(1) {
        let mut buffer = [0; 4];
        let entry = entry_of(options, letter.encode_utf8(&mut buffer));
        let rest = word.without_start(at + letter.len_utf8());
        let has_rest = !rest.parts.iter().all(|part| *part == super::shell::Part::Text(String::new()));
        let name = format!("-{letter}");
        match entry {
            Some(entry) if entry.ends_with([':', '?']) && has_rest => {
                push(name, Some(entry), Some(rest), None);
                return Some(false);
            }
            Some(entry) if entry.ends_with(':') => {
                push(name, Some(entry), next.cloned(), None);
                return Some(true);
            }
            entry => {
                known = if entry.is_some() { known } else { None };
                push(name, entry, None, None);
            }
        }
    }
    if word.text().is_none() {
        push(start.to_owned(), None, None, Some(word.clone()));
        known = None;
    }
    known
}

/// Returns true if a program reads `-name` as one option.
pub(super) fn has_single_dash(program: &str) -> bool {
    LONG_WITH_ONE_DASH.contains(&program)
}
