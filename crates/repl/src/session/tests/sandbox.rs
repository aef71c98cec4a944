//! Attempts to leave the sandbox, from each language and its children. Where the kernel has no Landlock, or an old one,
//! the answer of the start must say so.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use process::sandbox::Support;

use super::*;
use crate::profile::Profiles;
use crate::sandboxed::{SandboxMode, note};

/// Attempts in one language. `OUT` is a directory outside of the worktree with the files `old` and `gone-N`, `IN` the
/// worktree with the link `link` to `OUT`, `PORT` a port on which somebody listens, and `FREE` one that is free. Each
/// prints `did it` if it succeeds.
type Attempts = (&'static str, &'static [&'static str]);

const ATTEMPTS: [Attempts; 4] = [
    (
        "python",
        &[
            "open('OUT/p1', 'w').write('x'); print('did it')",
            "open('OUT/old', 'a').write('x'); print('did it')",
            "import os; os.truncate('OUT/old', 0); print('did it')",
            "os.mkdir('OUT/p2'); print('did it')",
            "os.unlink('OUT/gone-1'); print('did it')",
            "open('mine', 'w').close(); os.rename('mine', 'OUT/p3'); print('did it')",
            "os.symlink('/etc', 'OUT/p4'); print('did it')",
            "os.mkfifo('OUT/p5'); print('did it')",
            "open('link/p6', 'w').close(); print('did it')",
            "open('/proc/self/rootOUT/p7', 'w').close(); print('did it')",
            "import socket; socket.create_connection(('127.0.0.1', PORT)).send(b'p'); print('did it')",
            "s = socket.socket(); s.bind(('127.0.0.1', FREE)); print('did it'); s.close()",
            "s = socket.socket(); s.listen(); print('did it'); s.close()",
            "s = socket.socket(); s.sendto(b'p', socket.MSG_FASTOPEN, ('127.0.0.1', PORT)); print('did it'); s.close()",
            "import subprocess; subprocess.run('echo x > OUT/p8 && echo did it', shell=True)",
        ],
    ),
    (
        "node",
        &[
            "fs.writeFileSync('OUT/n1', 'x'); console.log('did it')",
            "fs.appendFileSync('OUT/old', 'x'); console.log('did it')",
            "fs.mkdirSync('OUT/n2'); console.log('did it')",
            "fs.rmSync('OUT/gone-2'); console.log('did it')",
            "fs.writeFileSync('ours', ''); fs.renameSync('ours', 'OUT/n3'); console.log('did it')",
            "await new Promise((done, fail) => require('net').connect(PORT, '127.0.0.1', done).on('error', fail)); console.log('did it')",
            "await new Promise((done, fail) => { const s = require('net').createServer().on('error', fail).listen(FREE, '127.0.0.1', () => s.close(done)) }); console.log('did it')",
            "console.log(`${require('child_process').execSync('echo x > OUT/n4 && echo did it')}`)",
        ],
    ),
    (
        "bash",
        &[
            "echo x > OUT/b1 && echo did it",
            "echo x >> OUT/old && echo did it",
            "mkdir OUT/b2 && echo did it",
            "rm OUT/gone-3 && echo did it",
            "touch here && mv here OUT/b3 && echo did it",
            "ln -s /etc OUT/b4 && echo did it",
            "exec 7<>/dev/tcp/127.0.0.1/PORT && echo b >&7 && exec 7>&- && echo did it",
            "(setsid bash -c 'echo x > OUT/b5 && echo did it')",
        ],
    ),
    (
        "ghci",
        &[
            "writeFile \"OUT/g1\" \"x\" >> putStrLn \"did it\"",
            "appendFile \"OUT/old\" \"x\" >> putStrLn \"did it\"",
            "System.Directory.createDirectory \"OUT/g2\" >> putStrLn \"did it\"",
            "System.Process.callCommand \"echo x > OUT/g3 && echo did it\"",
        ],
    ),
];

/// Runs all attempts, and returns those that succeeded and those that failed.
async fn attempt(sandbox: Option<SandboxMode>) -> (Vec<String>, Vec<String>) {
    let top = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (top.path().join("in"), top.path().join("out"));
    std::fs::create_dir(&inside).expect("made");
    std::fs::create_dir(&outside).expect("made");
    std::os::unix::fs::symlink(&outside, inside.join("link")).expect("made");
    ["old", "gone-1", "gone-2", "gone-3"]
        .iter()
        .for_each(|name| std::fs::write(outside.join(name), "1").expect("written"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for (profile, attempts) in ATTEMPTS {
        let session = session(profile, &inside, sandbox);
        for code in attempts {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
            let code = code
                .replace("OUT", &outside.display().to_string())
                .replace("PORT", &port.to_string())
                .replace("FREE", &free.to_string());
            let result = eval(&session, &code).await;
            let list = if result.stdout.contains("did it") { &mut done } else { &mut refused };
            list.push(format!("{profile}: {code}: {} {}", result.stdout, result.stderr));
        }
        // The allowed operations work: the worktree, a temporary file, a device, and reading elsewhere.
        if profile == "bash" {
            let code =
                "echo x > made && f=$(mktemp) && echo y > \"$f\" && echo z > /dev/null && cat OUT/old made \"$f\"";
            let code = code.replace("OUT", &outside.display().to_string());
            let allowed = eval(&session, &code).await;
            assert!(allowed.stdout.ends_with("x\ny\n") && allowed.stderr.is_empty(), "{allowed:?}");
        }
        session.stop("done").await;
    }
    if done.is_empty() {
        let mut names: Vec<_> =
            std::fs::read_dir(&outside).expect("there").map(|entry| entry.expect("read").file_name()).collect();
        names.sort();
        assert_eq!(names, ["gone-1", "gone-2", "gone-3", "old"]);
        assert_eq!(std::fs::read_to_string(outside.join("old")).expect("there"), "1");
        listener.set_nonblocking(true).expect("set");
        let heard = listener.accept().map(|(mut stream, _)| stream.read(&mut [0]).is_ok());
        assert!(heard.is_err(), "somebody connected");
    }
    (done, refused)
}

fn session(profile: &str, folder: &Path, sandbox: Option<SandboxMode>) -> Handle {
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let profiles = Profiles::builtin();
    let launch =
        profiles.get(profile).expect("built in").launch(vec![keep("PATH"), keep("HOME")], folder.into(), 8 << 30);
    let launch = Launch { sandbox, ..launch.expect("the program is installed") };
    start(SessionSpec { launch, ..setup(&["unused"], folder, Arc::new(Ghci)) }, log()).expect("it starts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_code_of_a_sandbox_writes_or_connects_elsewhere_and_all_other_code_does() {
    let (done, refused) = attempt(None).await;
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(done.len() >= 30, "{}", done.len());
    let support = Support::ask();
    let (left, held) = attempt(Some(SandboxMode::Workspace)).await;
    if support.gaps().is_empty() {
        assert!(left.is_empty(), "{left:#?}");
        assert_eq!(held.len(), done.len());
        assert!(note(support).starts_with("In a sandbox: "));
        assert!(crate::sandboxed::trial().0);
    } else if support.is_any() {
        assert!(note(support).contains("this kernel only partly enforces"));
    } else {
        assert!(note(support).starts_with("NOT in a sandbox"));
        assert_eq!(left.len(), done.len());
        assert!(!crate::sandboxed::trial().0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_private_directory_ends_with_its_session() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = session("bash", folder.path(), Some(SandboxMode::Workspace));
    let place = eval(&session, "touch \"$TMPDIR/x\"; printf %s \"$TMPDIR\"").await.stdout;
    assert!(Path::new(&place).join("x").exists(), "{place}");
    session.stop("done").await;
    assert!(!Path::new(&place).exists());
}
