//! The page's section about hooks.

use std::fmt::Write as _;

use super::Tried;
use super::cells::CELLS;

const TITLE: &str = "\n## Hooks of agents\n";

pub(super) fn section(tried: &[Tried], tables: &str) -> String {
    let mut page = format!(
        "{TITLE}\nMeasured with the tables of agents `{tables}`, by `cargo xtask clients agents --hooks`: an agent's shell runs `touch marker`, with \
         hooks as `hob hooks\ninstall` writes them. Whether it ran, which `hob doctor` had said before; **bold** where the two differ, _in italics_ where both say that \
         the\nfail mode is not kept. Codex's hooks run here by a flag in place of a person's review. Cursor has no package: what is said of it is from\nits \
         documentation.\n\n| state, fail mode |"
    );
    for tried in tried {
        let _ = write!(page, " {} {} |", tried.hooked.title, tried.version);
    }
    let _ = writeln!(page, "\n|---|{}", "---|".repeat(tried.len()));
    for (index, cell) in CELLS.iter().enumerate() {
        let _ = write!(page, "| {} |", cell.label());
        for tried in tried {
            let _ = match &tried.cells[index] {
                Some(Ok(outcome)) if outcome.wrong().is_some() => {
                    write!(page, " **{}** ({}) |", outcome.ran(), outcome.wrong().unwrap_or_default())
                }
                Some(Ok(outcome)) if !outcome.holds => write!(page, " _{}_ |", outcome.ran()),
                Some(Ok(outcome)) => write!(page, " {} |", outcome.ran()),
                Some(Err(error)) => write!(page, " FAIL: {} |", format!("{error:#}").replace('\n', " ")),
                None => write!(page, " not tried |"),
            };
        }
        page.push('\n');
    }
    page.push_str(
        "\nWhere the policy denies, the reason is in what the model got. Without a rule, the same conversation with hooks on every event and without:\n\n",
    );
    for tried in tried {
        let _ = match &tried.neutral {
            Some(Ok(said)) => writeln!(page, "- {}: {}.", tried.hooked.title, said.join("; ")),
            Some(Err(error)) => {
                writeln!(page, "- {}: FAIL: {}", tried.hooked.title, format!("{error:#}").replace('\n', " "))
            }
            None => Ok(()),
        };
    }
    page
}

/// Returns this section of a page.
pub(in crate::agents) fn section_text(page: &str) -> Option<&str> {
    let section = &page[page.find(TITLE)?..];
    let after = section[TITLE.len()..].find("\n## ").map_or(section.len(), |end| TITLE.len() + end);
    Some(&section[..after])
}

/// Replaces this section of a page.
pub(in crate::agents) fn replaced(page: &str, section: &str) -> String {
    let Some(at) = page.find(TITLE) else {
        // Inserted before the verbatim messages to each agent.
        let at = page.find("\n## Claude Code\n").unwrap_or(page.len());
        return format!("{}{section}{}", &page[..at], &page[at..]);
    };
    let rest = &page[at + TITLE.len()..];
    let after = rest.find("\n## ").map_or("", |end| &rest[end..]);
    format!("{}{section}{after}", &page[..at])
}
