//! The page: what agents do and what waits for a person, in a browser on this machine.
//!
//! Modules, from the network inwards: `server.rs` (connections), `admission.rs` and `peer.rs` (who is admitted), `route.rs`
//! (addresses), `show.rs` (requests for pages, and their changes), `act.rs` (posted forms), `daemon.rs` (the daemon),
//! `frame.rs`, `dashboard.rs`, `detail.rs`, `form.rs`, `write.rs` (the drawing), `html.rs` (the one place that escapes).

mod act;
mod admission;
mod daemon;
mod dashboard;
mod detail;
mod form;
mod frame;
mod html;
mod peer;
mod response;
mod route;
mod server;
mod show;
mod write;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use project::{Hello, Project};
use tokio::sync::watch;

use self::admission::Gate;
use self::daemon::Daemon;

/// A page that is not served yet.
pub struct Page {
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
}

/// The state behind all requests.
struct Site {
    gate: Gate,
    daemon: Arc<Daemon>,
    /// The reason why this process may not act for a person.
    refusal: Option<String>,
    /// The outcome of the last action, until a page shows it.
    outcome: Mutex<Option<String>>,
    /// The number of tabs that follow the changes.
    tabs: watch::Sender<usize>,
}

impl Page {
    /// Takes a port of this machine; 0 for a free one. `refusal` is the reason why this process may not answer for a person.
    ///
    /// # Errors
    /// If the port cannot be used.
    pub fn bind(project: Project, hello: Hello, refusal: Option<String>, port: u16) -> io::Result<Page> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let site = Site {
            gate: Gate::new()?,
            daemon: Arc::new(Daemon::new(project, hello)),
            refusal,
            outcome: Mutex::default(),
            tabs: watch::channel(0).0,
        };
        Ok(Page { listener, address, site })
    }

    /// Returns the link that opens the page in one browser, once.
    pub fn link(&self) -> String {
        format!("http://{}{}", self.address, self.site.gate.link())
    }

    /// Serves the page until the process is told to end. Blocks.
    ///
    /// # Errors
    /// If the threads or the listener fail.
    pub fn serve(self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let served = runtime.block_on(server::serve(self.listener, Arc::new(self.site)));
        // The thread that follows the daemon may be waiting for it.
        runtime.shutdown_background();
        served
    }
}
