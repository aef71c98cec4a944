//! Nodes through an independent client: a prompt file from its first save to its end, answered by its caller.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::report_of;

/// Runs the script, and checks its report.
pub(super) fn check(
    interpreter: &Path,
    script: &Path,
    hob: &Path,
    dir: &Path,
    mode: &str,
    version: &str,
) -> Result<String> {
    let report = report_of(interpreter, script, hob, dir, mode, version)?;
    if report["input"]["required"] != json!(["text"]) || report["delegate"] != "delegate" {
        bail!("listed {} and called {}", report["input"], report["delegate"]);
    }
    if report["output"]["properties"]["result"]["properties"]["score"]["maximum"] != 5 {
        bail!("its output schema is {}", report["output"]);
    }
    let (wrong, right) = (&report["wrong"], &report["right"]);
    if wrong["status"] != "rejected" || !wrong["problems"].to_string().contains("maximum of 5") {
        bail!("a wrong value gave {wrong}");
    }
    if right["status"] != "accepted" || right["value"] != json!({"reason": "wet", "score": 2}) {
        bail!("a right value gave {right}");
    }
    if !report["prompt"].to_string().contains("It rained.") {
        bail!("the prompt was {}", report["prompt"]);
    }
    let broken = &report["broken"];
    if broken["state"] != "last_good" || !broken["error"].to_string().contains("nodes/rate.node.md:6: ") {
        bail!("a broken file was {broken}");
    }
    if report["still"] != "delegate" || report["gone"] != true {
        bail!("its last good version gave {}, and gone is {}", report["still"], report["gone"]);
    }
    Ok(format!("{version}, saved, answered, edited, broken and deleted"))
}
