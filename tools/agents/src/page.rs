//! `cargo xtask page`: checks `hob page` in a real browser, with agents at work (`tools/agents/page/check.mjs`). Fails on any
//! violation that axe finds, and writes a screenshot of each room and form.

use std::process::Command;

use anyhow::{Result, bail};
use taskkit::setup;
use taskkit::workspace::{Profile, build, target_dir};

pub(crate) fn run() -> Result<()> {
    let setup::Browser { chromium, node, scripts } = setup::browser()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    let pictures = target_dir()?.join("page");
    let checked = Command::new(node).arg(scripts.join("check.mjs")).arg(hob).arg(chromium).arg(&pictures).status()?;
    if !checked.success() {
        bail!("the page has faults; each line above names one");
    }
    println!("page: the screenshots are in {}", pictures.display());
    Ok(())
}
