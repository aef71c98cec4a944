//! Admission of requests: by the host that they name, the origin of the web page that sent them, and their token.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};

use super::refusal::Refusal;
use super::{HttpOptions, unauthenticated};

/// Returns the principal of a request, or the reason to refuse it.
pub(super) fn admit(options: &HttpOptions, parts: &Parts) -> Result<String, Refusal> {
    check_host(options, parts)?;
    check_origin(options, &parts.headers)?;
    let principal = match &options.authorize {
        None => String::new(),
        Some(authorize) => authorize(&parts.headers).ok_or_else(|| {
            let problem =
                if parts.headers.contains_key(AUTHORIZATION) { "invalid token" } else { "a token is required" };
            let message = format!("{problem}: send the header `Authorization: Bearer TOKEN`");
            Refusal::new(StatusCode::UNAUTHORIZED, message)
        })?,
    };
    if unauthenticated::mark_authenticated(parts) {
        Ok(principal)
    } else {
        Err(Refusal::busy(None, "connections", options.limits.connections))
    }
}

pub(super) fn check_host(options: &HttpOptions, parts: &Parts) -> Result<(), Refusal> {
    let mut named = parts.headers.get_all(HOST).iter();
    let host = match (parts.uri.authority(), named.next(), named.next()) {
        (Some(authority), _, None) => authority.as_str(),
        (None, Some(host), None) => host.to_str().unwrap_or_default(),
        _ => return Err(Refusal::new(StatusCode::BAD_REQUEST, "one Host header is required")),
    };
    let name = without_port(host);
    if is_loopback(name) || options.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let message = format!("unknown host {host:?}: use a host name that the server is configured to accept");
    Err(Refusal::new(StatusCode::FORBIDDEN, message))
}

pub(super) fn check_origin(options: &HttpOptions, headers: &HeaderMap) -> Result<(), Refusal> {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = match (origins.next(), origins.next()) {
        (None, _) => return Ok(()),
        (Some(origin), None) => origin.to_str().unwrap_or_default(),
        (Some(_), Some(_)) => return Err(Refusal::new(StatusCode::FORBIDDEN, "more than one Origin")),
    };
    let here = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    if here.is_some_and(|host| is_loopback(without_port(host)))
        || options.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    {
        return Ok(());
    }
    Err(Refusal::new(StatusCode::FORBIDDEN, format!("pages of {origin:?} may not send requests here")))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let is_address = || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    name.eq_ignore_ascii_case("localhost") || name == "[::1]" || is_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins() {
        let check = |host: &str, origin: Option<&str>| {
            let mut request = axum::http::Request::builder().uri("/mcp").header("host", host);
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let (parts, ()) = request.body(()).expect("legal").into_parts();
            let options = HttpOptions {
                hosts: vec!["mcp.example".to_owned()],
                origins: vec!["https://app.example:8443".to_owned()],
                ..HttpOptions::default()
            };
            admit(&options, &parts).map_err(|refusal| refusal.status.as_u16()).err()
        };
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:3000", "127.1.2.3", "[::1]:80", "[::1]", "mcp.example:1"] {
            assert_eq!(check(host, None), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "mcp.example.", "", "::1"] {
            assert_eq!(check(host, None), Some(403), "{host}");
        }
        for origin in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:80", "https://app.example:8443"] {
            assert_eq!(check("localhost", Some(origin)), None, "{origin}");
        }
        for origin in ["null", "http://evil.example", "http://localhost.evil.example", "https://app.example", "file://"]
        {
            assert_eq!(check("localhost", Some(origin)), Some(403), "{origin}");
        }
    }
}
