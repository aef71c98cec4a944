//! GHCi behind `cabal repl`: cabal stays its parent, in the same process group.

use super::*;
use crate::result::Status;
use crate::session::InterruptOutcome;

/// Creates a package that needs no package server.
fn package() -> (tempfile::TempDir, Handle) {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write(".cabal/config", "-- none\n");
    write(
        "two.cabal",
        "cabal-version: 2.4\nname: two\nversion: 0.1.0.0\nbuild-type: Simple\n\nlibrary\n  hs-source-dirs: src\n  \
         exposed-modules: One, Two\n  build-depends: base\n  default-language: Haskell2010\n",
    );
    write("src/One.hs", "module One where\n\none :: Int\none = 1\n");
    write("src/Two.hs", "module Two where\n\nimport One\n\ntwo :: Int\ntwo = one + one\n");
    let mut setup = setup(&["cabal", "repl", "-v1"], dir.path(), Arc::new(Ghci));
    setup.launch.env.push(("CABAL_DIR".to_owned(), dir.path().join(".cabal").display().to_string()));
    let session = start(setup, log()).expect("cabal is installed");
    (dir, session)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_package_of_two_modules() {
    let (_dir, session) = package();
    assert_eq!(line(&eval(&session, "import Two\ntwo").await), "done | \"2\\n\" | \"\"");
    assert!(session.loads().borrow().ok, "the start was a load");

    let waiting = eval(&session, "getLine").await;
    assert_eq!(waiting.status, Status::WaitingForInput);
    session.input("hello\n".to_owned(), false).await.expect("it reads");
    let read = session.wait(None, LONG, 1000).await.expect("an answer");
    assert_eq!(line(&read), "done | \"\\\"hello\\\"\\n\" | \"\"");

    for endless in ["sum [1 ..]", "getLine", ":! sleep 100"] {
        let running =
            session.eval(EvalRequest { wait: Duration::ZERO, ..EvalRequest::new(endless) }).await.expect("taken");
        assert_eq!(running.status, Status::Running);
        assert_eq!(interrupt("ghci", &session).await.outcome, InterruptOutcome::Interrupted, "{endless}");
        assert_eq!(line(&eval(&session, "two + 1").await), "done | \"3\\n\" | \"\"");
    }

    // cabal reports the end of its child in its own text and exit status.
    let ended = eval(&session, "Foreign.Storable.peek (Foreign.Ptr.nullPtr :: Foreign.Ptr.Ptr Int)").await;
    assert_eq!(ended.status, Status::Exited, "{ended:?}");
    assert!(!session.info().state.is_alive());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_leaves_no_ghc_behind() {
    let (_dir, session) = package();
    let code = "System.Posix.Internals.c_getpid";
    let pid = eval(&session, code).await.stdout.trim().to_owned();
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "{pid}");
    session.stop("the test is over").await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "ghc ended with cabal");
}
