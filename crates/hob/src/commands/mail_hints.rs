//! The commands for the tools of the mail, in the hints of the daemon.

/// The commands that replace tool calls in hints. Longer texts come first.
const COMMANDS: [(&str, &str); 14] = [
    ("Call register_agent with {\"name\": \"", "Run `hob quickstart --name "),
    (
        "\"} first, or use another name",
        " --role ROLE` in this worktree first, or act as an existing agent with `--as NAME`",
    ),
    ("\"} first", " --role ROLE` in this worktree first"),
    ("groups (action list)", "`hob group list`"),
    ("groups (action create)", "`hob group create`"),
    ("groups (action show)", "`hob group show`"),
    ("groups (action add)", "`hob group add`"),
    ("groups (action remove)", "`hob group remove`"),
    ("list_agents", "`hob agents`"),
    ("register_agent", "`hob quickstart`"),
    ("check_messages", "`hob inbox`"),
    ("search_messages", "`hob search`"),
    ("get_thread", "`hob thread`"),
    ("delivery_status", "`hob call delivery_status`"),
];

/// Replaces tool calls in a hint with commands.
pub(crate) fn in_commands(hint: &str) -> String {
    COMMANDS.iter().fold(hint.to_owned(), |hint, (tool, command)| hint.replace(tool, command))
}
