//! `hob page`: serves a page for the browser of the person at this machine.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use clap::Args;
use project::Project;
use ui::page::Page;

use super::current_project::{connect_or_start, hello};
use crate::commands::ask;
use crate::exit::{Exit, Failure};
use crate::terminal;

/// Show agents, sessions, mail and questions in the browser, and answer there
#[derive(Debug, Args)]
pub(crate) struct PageCommand {
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Use this port [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

impl PageCommand {
    pub(crate) fn run(self, project: Project) -> Result<Exit, Failure> {
        let hello = hello(&project)?;
        let mut control = connect_or_start(&project, &hello)?;
        let refusal = ask::refusal(Some(&mut control));
        drop(control);
        let only_shows = refusal.clone();
        let page = Page::bind(project, hello, refusal, self.port).map_err(|error| {
            Failure::new(format_args!("cannot serve the page at port {}: {error}", self.port))
                .hint("Give another port, or leave out --port to use a free one.")
        })?;
        let link = page.link();
        terminal::line(&link);
        if let Some(why) = only_shows {
            terminal::note(format!("The page is read-only, so you cannot answer there: {why}."));
        }
        terminal::note("The link opens the page once, in one browser. Ctrl-C ends the page.");
        if self.open && !open(&link) {
            terminal::note("No browser could be started: open the link yourself.");
        }
        page.serve().map_err(|error| Failure::new(format_args!("the page ended: {error}")))?;
        Ok(Exit::Done)
    }
}

/// Opens a link in the person's browser. Another user may see the link in the list of processes, and cannot use it: the
/// page serves this user alone.
fn open(link: &str) -> bool {
    let mut command = Command::new("xdg-open");
    // The browser outlives Ctrl-C.
    command.arg(link).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
