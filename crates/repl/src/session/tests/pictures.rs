//! Pictures that Python draws: files next to the session's output.

use std::path::Path;
use std::sync::Arc;

use process::output::OutputLog;

use super::{eval, setup};
use crate::adapter::ghci::Ghci;
use crate::profile::Profiles;
use crate::result::Status;
use crate::session::{Handle, SessionSpec, start};

/// Starts Python with its output in this folder.
fn session(folder: &Path) -> Handle {
    let keep = |name: &str| (name.to_owned(), std::env::var(name).unwrap_or_default());
    let profiles = Profiles::builtin();
    let python = profiles.get("python").expect("built in");
    let launch = python.launch(vec![keep("PATH"), keep("HOME")], folder.into(), 8 << 30).expect("it is installed");
    let spec = SessionSpec { launch, ..setup(&["unused"], folder, Arc::new(Ghci)) };
    start(spec, OutputLog::create(Some(folder), Default::default()).expect("room")).expect("it starts")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_gives_pictures() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = session(folder.path());
    // A picture of one pixel, by the method that notebooks use.
    let code = "import base64\n\
                class Dot:\n    \
                    def _repr_png_(self):\n        \
                        return base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==')\n    \
                    def __repr__(self):\n        \
                        return 'a dot'\n\
                Dot()";
    let result = eval(&session, code).await;
    assert_eq!((result.value.as_deref(), result.pictures.len()), (Some("a dot"), 1), "{result:?}");
    let written = std::fs::read(&result.pictures[0]).expect("written");
    assert!(written.starts_with(b"\x89PNG\r\n\x1a\n"));
    // Twenty files are kept.
    for _ in 0..20 {
        assert_eq!(eval(&session, "_").await.pictures.len(), 1);
    }
    assert!(!Path::new(&result.pictures[0]).exists());
    // A picture that cannot be drawn is a value all the same, and a class is none.
    assert_eq!(eval(&session, "Dot").await.pictures.len(), 0);
    let failing = eval(&session, "class Blot(Dot):\n    def _repr_png_(self): raise ValueError\nBlot()").await;
    assert_eq!((failing.value.as_deref(), failing.pictures.len(), failing.status), (Some("a dot"), 0, Status::Done));
    let other =
        eval(&session, "class Jpeg(Dot):\n    def _repr_png_(self): return b'\\xff\\xd8\\xff\\xe0'\nJpeg()").await;
    assert_eq!((other.value.as_deref(), other.pictures.len()), (Some("a dot"), 0), "{other:?}");
    session.stop("done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_gives_the_figures_of_pyplot() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = session(folder.path());
    if eval(&session, "import matplotlib").await.status == Status::Error {
        return;
    }
    let plot = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]); plt.show()";
    for _ in 0..2 {
        let result = eval(&session, plot).await;
        assert_eq!((result.stderr.as_str(), result.pictures.len()), ("", 1), "{result:?}");
    }
    // A figure that is the value as well is one picture. Later evaluations do not show it again.
    assert_eq!(eval(&session, "figure, axes = plt.subplots(); figure").await.pictures.len(), 1);
    assert_eq!(eval(&session, "1 + 1").await.pictures.len(), 0);
    assert_eq!(eval(&session, "axes.set_title('Later'); figure").await.pictures.len(), 1);
    session.stop("done").await;
}
