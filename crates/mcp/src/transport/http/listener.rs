//! The HTTP server: accepts connections, applies the limits to each, and shuts them down gracefully.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::HttpOptions;
use super::endpoint::Endpoint;
use super::lingering_close::Reclaimed;
use super::unauthenticated::{Admission, AdmissionQueue};
use crate::server::Server;

/// The pause before accepting again after an error, such as a lack of descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The time for connections to end, beyond the grace period of their calls.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Serves HTTP until the future is done, then shuts down: running calls get their grace, streams are ended. An error
/// means that the listener cannot be used.
pub async fn serve(
    listener: TcpListener,
    server: Server,
    options: HttpOptions,
    until: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.local_addr()?;
    let endpoint = Arc::new(Endpoint::new(server, options));
    let routes = super::routes(endpoint.clone());
    let connections = Arc::new(Semaphore::new(endpoint.options.limits.connections));
    let queue = AdmissionQueue::default();
    let all = u32::try_from(endpoint.options.limits.connections).unwrap_or(u32::MAX);
    let (ends, ended) = watch::channel(false);
    let mut until = pin!(until);
    loop {
        let accepting = async {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    if connections.available_permits() == 0 {
                        tracing::debug!(
                            "the connection limit is reached: closing the oldest connection without an accepted \
                             request"
                        );
                        queue.evict_oldest();
                    }
                    Some((stream, peer, connections.clone().acquire_owned().await.ok()?))
                }
                Err(error) => {
                    // The connection's own fault, or a temporary shortage.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_RETRY).await;
                    None
                }
            }
        };
        let (stream, peer, place) = tokio::select! {
            biased;
            () = &mut until => break,
            accepted = accepting => match accepted {
                Some(accepted) => accepted,
                None => continue,
            },
        };
        tracing::debug!(%peer, "a connection");
        let (routes, endpoint, ended) = (routes.clone(), endpoint.clone(), ended.clone());
        let admission = queue.enter();
        count(&endpoint, |open| open + 1);
        tokio::spawn(async move {
            connection(stream, routes, admission, &endpoint, ended).await;
            drop(place);
            count(&endpoint, |open| open.saturating_sub(1));
        });
    }
    drop(listener);
    ends.send_replace(true);
    endpoint.end();
    // All places are free once all connections are over.
    let over = async {
        let _ = connections.acquire_many(all).await;
        // A WebSocket no longer counts as an HTTP connection, but holds a stream slot.
        endpoint.is_quiet().await;
    };
    let grace = crate::server::Limits::default().grace + CLOSE_GRACE;
    if tokio::time::timeout(grace, over).await.is_err() {
        tracing::warn!("connections were cut off: they did not end in time");
    }
    Ok(())
}

/// Updates the embedder's count of open connections.
fn count(endpoint: &Endpoint, change: impl FnOnce(usize) -> usize) {
    if let Some(open) = &endpoint.options.open {
        open.send_modify(|open_now| *open_now = change(*open_now));
    }
}

async fn connection(
    stream: TcpStream,
    routes: axum::Router,
    admission: Arc<Admission>,
    endpoint: &Endpoint,
    mut ended: watch::Receiver<bool>,
) {
    let limits = &endpoint.options.limits;
    // An answer is one write, which need not wait for more.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays without TCP_NODELAY");
    }
    let service = TrackedRoutes { admission: admission.clone(), routes: TowerToHyperService::new(routes) };
    let reclaimed = Reclaimed::default();
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head.max(8 << 10))
        .max_header_size(limits.head)
        .max_headers(limits.fields)
        .serve_connection(TokioIo::new(reclaimed.lend(stream)), service)
        .with_upgrades();
    let mut serving = Box::pin(serving);
    let mut must_leave = pin!(admission.must_leave(limits.unauthenticated_time));
    let served = tokio::select! {
        served = &mut serving => Some(served),
        () = &mut must_leave => {
            tracing::debug!("a connection was closed: none of its requests was accepted");
            return;
        }
        () = told_to_end(&mut ended) => None,
    };
    let served = match served {
        Some(served) => served,
        None => {
            serving.as_mut().graceful_shutdown();
            let grace = crate::server::Limits::default().grace + CLOSE_GRACE;
            match tokio::time::timeout(grace, &mut serving).await {
                Ok(served) => served,
                Err(_) => return,
            }
        }
    };
    match served {
        Err(error) if error.is_parse() => tracing::warn!(%error, "a connection was closed: invalid HTTP"),
        Err(error) => tracing::debug!(%error, "a connection ended"),
        Ok(()) => {}
    }
    // Dropping the connection gives its stream back.
    drop(serving);
    tokio::select! {
        () = reclaimed.linger() => {}
        () = must_leave => {}
        () = told_to_end(&mut ended) => {}
    }
}

/// The routes for one connection, which attach its admission to each request.
struct TrackedRoutes {
    admission: Arc<Admission>,
    routes: TowerToHyperService<axum::Router>,
}

impl Service<Request<Incoming>> for TrackedRoutes {
    type Response = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<axum::Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        self.admission.attach_to(&mut request);
        self.routes.call(request)
    }
}

async fn told_to_end(ended: &mut watch::Receiver<bool>) {
    // An error means that the sender was dropped, which means the same.
    let _ = ended.wait_for(|ended| *ended).await;
}
