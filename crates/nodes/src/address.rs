//! URLs of models: validation, and the test for loopback addresses.

use std::net::IpAddr;

use hyper::Uri;

/// Validates a URL, and returns its base and host.
pub(crate) fn checked(url: &str) -> Result<(String, String), String> {
    let wrong = |what: &str| format!("url {url:?} {what}, such as http://127.0.0.1:8080/v1");
    // Either would swallow the path that is appended later. The parser drops a fragment silently.
    if url.contains(['#', '?']) {
        return Err(wrong("has a query or a fragment (`?`, `#`); write the base of the API"));
    }
    let uri: Uri = url.parse().map_err(|_| wrong("is not a valid URL"))?;
    let host = uri.host().map(|host| host.trim_matches(['[', ']']).to_owned());
    let host = host.filter(|host| !host.is_empty()).ok_or_else(|| wrong("names no host"))?;
    let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
    if authority.contains('@') {
        return Err("the URL contains credentials; put the key into key_file".to_owned());
    }
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_loopback(&host) => {}
        Some("http") => return Err(wrong("is not encrypted; use https, or an address of this machine")),
        _ => return Err(wrong("is neither http nor https")),
    }
    Ok((url.trim_end_matches('/').to_owned(), host))
}

/// Returns an error if the URL is invalid.
pub(crate) fn check(url: &str) -> Result<(), String> {
    checked(url).map(drop)
}

/// Returns true if the URL is valid and names this machine.
pub(crate) fn is_local(url: &str) -> bool {
    checked(url).is_ok_and(|(_, host)| is_loopback(&host))
}

/// Returns true if a host is this machine. Names other than `localhost` are not resolved.
pub(crate) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_request_may_go() {
        let said = |url: &str| match checked(url) {
            Ok((base, host)) => format!("{base} {host} {}", is_local(url)),
            Err(why) => why,
        };
        for (url, wanted) in [
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1 127.0.0.1 true"),
            ("http://[::1]:80", "http://[::1]:80 ::1 true"),
            ("http://localhost", "http://localhost localhost true"),
            ("https://api.example.com/v1", "https://api.example.com/v1 api.example.com false"),
        ] {
            assert_eq!(said(url), wanted);
        }
        for (url, wanted) in [
            ("http://example.com", "is not encrypted"),
            ("http://127.0.0.1.example.com", "is not encrypted"),
            ("http://localhost@example.com", "contains credentials"),
            ("https://key@example.com", "contains credentials"),
            ("https://example.com/?key=1", "has a query"),
            ("https://example.com/v1?", "has a query"),
            ("http://127.0.0.1:2375/containers/create#", "has a query or a fragment"),
            ("http://127.0.0.1:2375/containers/create?x=#y", "has a query or a fragment"),
            ("ftp://127.0.0.1", "neither http nor https"),
            ("127.0.0.1:80", "neither http nor https"),
            ("", "is not a valid URL"),
        ] {
            assert!(said(url).contains(wanted), "{url}: {}", said(url));
            assert!(!is_local(url), "{url}");
        }
    }
}
