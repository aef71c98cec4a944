//! The packages in bare Debian systems, made by `debootstrap`: Debian 12 and Debian 11, whose glibc is 2.31.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use taskkit::workspace::{on_path, read, run_quietly, target_dir};

use crate::binary::Binary;
use crate::product::Product;
use crate::{files, npm, wheel};

/// A system, the packages that it has, and the one command that installs hob from `/packages`.
struct Root {
    suite: &'static str,
    has: &'static str,
    install: &'static str,
    /// The profile of the evaluation, and its code, whose result is 2. Debian 12's Node is too old for a session.
    profile: &'static str,
    code: &'static str,
}

/// What an agent sends to `hob mcp`, by lines.
const AGENT: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"repl_eval","arguments":{"profile":"PROFILE","code":"CODE"}}}"#,
];

const ROOTS: [Root; 3] = [
    // Debian 12's pip refuses to install outside of a venv.
    Root {
        suite: "bookworm",
        has: "python3-pip",
        install: "pip3 install --no-index --break-system-packages /packages/WHEEL",
        profile: "python",
        code: "1+1",
    },
    Root {
        suite: "bookworm",
        has: "npm",
        install: "npm install --global --offline /packages/MAIN /packages/PLATFORM",
        profile: "bash",
        code: "echo $((1+1))",
    },
    Root {
        suite: "bullseye",
        has: "python3-pip",
        install: "pip3 install --no-index /packages/WHEEL",
        profile: "python",
        code: "1+1",
    },
];

/// Installs and evaluates in each system. The systems are kept in the build directory.
pub(crate) fn run(product: &Product, binary: &Binary, out: &Path) -> Result<()> {
    if on_path("debootstrap").is_none() {
        bail!("debootstrap is missing: `apt-get install debootstrap`");
    }
    let [main, platform] = npm::file_names(product, binary);
    let wheel = wheel::file_name(product, binary);
    for Root { suite, has, install, profile, code } in &ROOTS {
        let dir = target_dir()?.join("tools/debian").join(format!("{suite}-{has}"));
        if !dir.join("packages").exists() {
            // One that was interrupted cannot be continued.
            drop(std::fs::remove_dir_all(&dir));
            std::fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
            run_quietly(Command::new("debootstrap").args(["--variant=minbase", suite]).arg(&dir))?;
            // debootstrap's own list of packages fails at those of npm.
            chroot(&dir, &format!("apt-get install -y -qq --no-install-recommends {has} 2>&1"))?;
        }
        for name in [&wheel, &main, &platform] {
            files::put(&dir.join("packages").join(name), &files::read_bytes(&out.join(name))?, false)?;
        }
        let install = install.replace("WHEEL", &wheel).replace("MAIN", &main).replace("PLATFORM", &platform);
        let from = Instant::now();
        chroot(&dir, &format!("{install} >/dev/null 2>&1"))?;
        let installed = from.elapsed().as_secs_f64();
        let timed = |script: &str| -> Result<(String, f64)> {
            let from = Instant::now();
            let said = chroot(
                &dir,
                &format!("mkdir -p /project && cd /project && touch hob.toml && {script} && hob stop >/dev/null"),
            )?;
            Ok((said, from.elapsed().as_secs_f64()))
        };
        let (said, evaluated) = timed(&format!("hob --version && hob eval --profile {profile} '{code}'"))?;
        if said != format!("hob {}\n2\n", product.version) {
            bail!("hob in {suite} printed {said:?}");
        }
        let lines = AGENT.join("\n").replace("PROFILE", profile).replace("CODE", code);
        let (said, called) = timed(&format!("printf '%s\n' '{lines}' | hob mcp"))?;
        if !said.contains(r#""content":[{"type":"text","text":"2\n"#) {
            bail!("an agent in {suite} got {said:?}");
        }
        let glibc = chroot(&dir, "ldd --version | head -1")?;
        println!(
            "package: {suite} with {has} ({}): installed in {installed:.1} s, `hob eval` in {evaluated:.1} s, an agent's call in \
             {called:.1} s",
            glibc.trim().rsplit(' ').next().unwrap_or_default(),
        );
    }
    println!("{} passed, 0 failed", ROOTS.len());
    Ok(())
}

/// Runs a script in a root with its own processes, which end with it.
fn chroot(root: &Path, script: &str) -> Result<String> {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]);
    command.arg(r#"mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1""#).arg(root).arg(script);
    command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    read(command.env("HOME", "/root").env("LANG", "C.UTF-8"))
}
