//! The server: accepts connections of this machine's user, limits them, and gives each request to its part.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use super::admission::{Admission, Refusal};
use super::response::{Answer, html, refused, see};
use super::route::Route;
use super::{Site, act, frame, peer, show};

/// The maximum number of open connections. A browser has six for each origin.
const CONNECTIONS: usize = 64;
/// The time limit for the head of a request, and for its body.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// The size limit of a posted form, in bytes.
const BODY_MAX: usize = 1 << 20;
/// The pause before accepting again after an error, such as a lack of descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

const UNKNOWN: Refusal = Refusal::new(
    StatusCode::NOT_FOUND,
    "Page not found",
    "Go back, or open the first room by its link at the top of the page.",
);
const TOO_LARGE: Refusal = Refusal::new(
    StatusCode::PAYLOAD_TOO_LARGE,
    "The form is too large",
    "Nothing was sent. A form has at most 1 MiB: go back and shorten the texts.",
);

/// Serves until the process is told to end by Ctrl-C, TERM or HUP.
pub(super) async fn serve(listener: TcpListener, site: Arc<Site>) -> io::Result<()> {
    let [mut interrupt, mut terminate, mut hang_up] =
        [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    let daemon = site.daemon.clone();
    std::thread::Builder::new().name("rooms".to_owned()).spawn(move || daemon.follow())?;
    if site.refusal.is_none() {
        tokio::spawn(site.daemon.clone().report_presence(site.tabs.subscribe()));
    }
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let here = listener.local_addr()?;
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = interrupt.recv() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hang_up.recv() => return Ok(()),
        };
        let Ok((stream, from)) = accepted else {
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        // A connection beyond the limit, or of another user, is closed at once.
        let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
        let site = site.clone();
        tokio::spawn(async move {
            let is_own = tokio::task::spawn_blocking(move || peer::is_own_user(from, here)).await.unwrap_or(false);
            if is_own {
                let respond = service_fn(move |request| {
                    let site = site.clone();
                    async move { Ok::<_, Infallible>(respond(site, request).await) }
                });
                // An error is the end of this connection alone.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(REQUEST_TIME)
                    .serve_connection(TokioIo::new(stream), respond)
                    .await;
            }
            drop(permit);
        });
    }
}

async fn respond(site: Arc<Site>, request: Request<Incoming>) -> Answer {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let address = match site.gate.admit(request.method(), target, request.headers()) {
        Admission::Admitted { address } => address,
        Admission::Exchanged { cookie, folder } => return see(&folder, Some(&cookie)),
        Admission::Again => return html(StatusCode::OK, frame::again()),
        Admission::Refused(refusal) => return refused(&refusal),
    };
    let Some(route) = Route::parse(&address) else { return refused(&UNKNOWN) };
    if route != Route::Act {
        return if request.method() == Method::GET { show::get(site, route).await } else { refused(&UNKNOWN) };
    }
    if request.method() != Method::POST {
        return refused(&UNKNOWN);
    }
    let body = Limited::new(request.into_body(), BODY_MAX).collect();
    match tokio::time::timeout(REQUEST_TIME, body).await {
        Ok(Ok(body)) => act::post(site, &body.to_bytes()).await,
        _ => refused(&TOO_LARGE),
    }
}
