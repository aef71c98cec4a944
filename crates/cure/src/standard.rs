//! The standard library: its modules are written in Cure and embedded in the binary.

/// All modules: name and text.
const MODULES: &[(&str, &str)] = &[
    ("Std.Core", include_str!("../std/core.cure")),
    ("Std.Eq", include_str!("../std/eq.cure")),
    ("Std.Fsm", include_str!("../std/fsm.cure")),
    ("Std.Io", include_str!("../std/io.cure")),
    ("Std.List", include_str!("../std/list.cure")),
    ("Std.Map", include_str!("../std/map.cure")),
    ("Std.Math", include_str!("../std/math.cure")),
    ("Std.Option", include_str!("../std/option.cure")),
    ("Std.Ord", include_str!("../std/ord.cure")),
    ("Std.Pair", include_str!("../std/pair.cure")),
    ("Std.Queue", include_str!("../std/queue.cure")),
    ("Std.Rec", include_str!("../std/rec.cure")),
    ("Std.Result", include_str!("../std/result.cure")),
    ("Std.Show", include_str!("../std/show.cure")),
    ("Std.String", include_str!("../std/string.cure")),
    ("Std.System", include_str!("../std/system.cure")),
    ("Std.Typeclasses", include_str!("../std/typeclasses.cure")),
    ("Std.Vector", include_str!("../std/vector.cure")),
];

/// The modules whose types and classes are in scope everywhere.
pub(crate) const PRELUDE: &[&str] = &["Std.Core", "Std.Eq", "Std.Ord", "Std.Show"];

/// The text of a module.
pub fn source(name: &str) -> Option<&'static str> {
    MODULES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all modules, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

/// True if a module belongs to the prelude, so that it cannot use the prelude itself.
pub(crate) fn before_prelude(name: &str) -> bool {
    PRELUDE.contains(&name)
}

/// True if a module of this name would hide one that Erlang needs.
pub(crate) fn is_reserved(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "application",
        "array",
        "atomics",
        "base64",
        "beam_lib",
        "binary",
        "c",
        "calendar",
        "code",
        "compile",
        "counters",
        "crypto",
        "cure_fsm",
        "cure_main",
        "dets",
        "dict",
        "digraph",
        "edlin",
        "epp",
        "erl_eval",
        "erl_lint",
        "erl_parse",
        "erl_scan",
        "erlang",
        "erpc",
        "error_logger",
        "ets",
        "file",
        "filelib",
        "filename",
        "gb_sets",
        "gb_trees",
        "gen",
        "gen_event",
        "gen_fsm",
        "gen_server",
        "gen_statem",
        "gen_tcp",
        "gen_udp",
        "global",
        "heart",
        "inet",
        "init",
        "io",
        "io_lib",
        "io_lib_format",
        "json",
        "kernel",
        "lists",
        "logger",
        "maps",
        "math",
        "net",
        "net_kernel",
        "orddict",
        "ordsets",
        "os",
        "persistent_term",
        "pg",
        "pool",
        "prim_file",
        "proc_lib",
        "proplists",
        "queue",
        "rand",
        "random",
        "re",
        "rpc",
        "sets",
        "shell",
        "slave",
        "sofs",
        "ssl",
        "string",
        "supervisor",
        "sys",
        "timer",
        "unicode",
        "user",
        "uri_string",
        "win32reg",
        "zip",
        "zlib",
    ];
    RESERVED.contains(&name) || name.starts_with("cure_fsm.")
}
