//! `cargo xtask page`: checks `hob page` in a real browser, with agents at work (`tools/agents/page/check.mjs`). Fails on any
//! violation that axe finds, and writes a screenshot of each room and form. Then it plays each task of a person by keyboard
//! (`tasks.mjs`). `cargo xtask screenshots`: takes the pictures of README and of the guide (`tools/agents/page/shots.mjs`).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use taskkit::setup;
use taskkit::workspace::{Profile, build, root, target_dir};

/// The size limits of the pictures in bytes, by the ending of their names.
const LIMITS: [(&str, u64); 2] = [("svg", 60_000), ("png", 150_000)];

pub(crate) fn run() -> Result<()> {
    let pictures = target_dir()?.join("page");
    let [is_whole, are_done] = [run_script("check.mjs", &pictures)?, run_script("tasks.mjs", &pictures)?];
    if !is_whole || !are_done {
        bail!("the page has faults; each line above names one");
    }
    println!("page: the screenshots are in {}", pictures.display());
    Ok(())
}

pub(crate) fn take_screenshots() -> Result<()> {
    let pictures = root().join("docs/pictures");
    if !run_script("shots.mjs", &pictures)? {
        bail!("no pictures were taken");
    }
    for file in std::fs::read_dir(&pictures)? {
        let (path, bytes) = file.and_then(|file| Ok((file.path(), file.metadata()?.len())))?;
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let (_, limit) = LIMITS.iter().find(|(known, _)| *known == ending).context("a picture is SVG or PNG")?;
        println!("screenshots: {} ({bytes} bytes)", path.display());
        if bytes > *limit {
            bail!("{} is larger than {limit} bytes", path.display());
        }
    }
    Ok(())
}

/// Runs a script with the built program and a browser. Returns true if it succeeds.
fn run_script(name: &str, pictures: &Path) -> Result<bool> {
    let setup::Browser { chromium, node, scripts } = setup::browser()?;
    let hob = build(Profile::Dev, &["-p", "hob"])?.join("hob");
    Ok(Command::new(node).arg(scripts.join(name)).arg(hob).arg(chromium).arg(pictures).arg(root()).status()?.success())
}
