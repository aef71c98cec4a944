//! Admission of requests. A page is for the browser of the person who started it: each request names this machine as its
//! host, comes from the page itself, knows the page's secret folder, and has the cookie that the one-time link gave.
//!
//! The folder is in the cookie's path because browsers send cookies of a host to all of its ports: another server on this
//! machine must not see it.

use std::sync::Mutex;

use hyper::header::{COOKIE, HOST, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};
use subtle::ConstantTimeEq;

/// The header by which a browser says where a request comes from. No script can set it.
const FETCH_SITE: &str = "sec-fetch-site";

/// The secrets of a page.
pub(super) struct Gate {
    /// The name of the folder with all addresses.
    folder: String,
    /// The one-time token, until it is used.
    token: Mutex<Option<String>>,
    cookie: String,
    /// The token in each form.
    form_token: String,
}

/// A decision about a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The request may have this address in the folder.
    Admitted { address: String },
    /// The one-time link was used now: set this cookie and go to the folder.
    Exchanged { cookie: String, folder: String },
    /// The browser withheld the cookie because another page led here: let the page itself ask again.
    Again,
    /// The request gets this page instead.
    Refused(Refusal),
}

/// A refused request: the reason, and the advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) advice: &'static str,
}

impl Refusal {
    pub(super) const fn new(status: StatusCode, title: &'static str, advice: &'static str) -> Refusal {
        Refusal { status, title, advice }
    }
}

const AGAIN: &str = "Run `hob page` again and open the link that it prints. Each link works once.";

const HOST_REFUSED: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "This address does not belong to this machine",
    "The page is served on this machine only. Open it as http://127.0.0.1 with its port; from elsewhere, forward that port with ssh.",
);
const ORIGIN_REFUSED: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "Another page sent this request",
    "Nothing was done. If you wanted it, open hob's page and do it there.",
);
const UNKNOWN: Refusal = Refusal::new(StatusCode::NOT_FOUND, "This address does not belong to this page", AGAIN);
const USED: Refusal = Refusal::new(StatusCode::FORBIDDEN, "This link is invalid or was used before", AGAIN);
const NO_COOKIE: Refusal = Refusal::new(StatusCode::FORBIDDEN, "This browser did not open the page's link", AGAIN);
const METHOD: Refusal =
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Unknown kind of request", "The page answers GET and POST.");

impl Gate {
    /// Creates the secrets.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub(super) fn new() -> std::io::Result<Gate> {
        Ok(Gate { folder: secret()?, token: Mutex::new(Some(secret()?)), cookie: secret()?, form_token: secret()? })
    }

    /// Returns the path of the one-time link.
    pub(super) fn link(&self) -> String {
        let token = self.token.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone().unwrap_or_default();
        format!("/{}/open?token={token}", self.folder)
    }

    /// Returns the token for the page's forms.
    pub(super) fn form_token(&self) -> &str {
        &self.form_token
    }

    /// Returns true if a form is from this page.
    pub(super) fn is_own_form(&self, token: &str) -> bool {
        is_equal(token, &self.form_token)
    }

    /// Decides about a request. `target` is its path and query.
    pub(super) fn admit(&self, method: &Method, target: &str, headers: &HeaderMap) -> Admission {
        let host = match the_one(headers, HOST.as_str()) {
            Ok(Some(host)) if is_loopback(host) => host,
            _ => return Admission::Refused(HOST_REFUSED),
        };
        let Ok(site) = the_one(headers, FETCH_SITE) else { return Admission::Refused(ORIGIN_REFUSED) };
        let is_own = match the_one(headers, ORIGIN.as_str()) {
            Ok(Some("null")) => site == Some("same-origin"),
            Ok(Some(origin)) => origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host)),
            Ok(None) => *method == Method::GET || site == Some("same-origin"),
            Err(()) => false,
        };
        if !is_own {
            return Admission::Refused(ORIGIN_REFUSED);
        }
        if *method != Method::GET && *method != Method::POST {
            return Admission::Refused(METHOD);
        }
        let (folder, address) = target.trim_start_matches('/').split_once('/').unwrap_or_default();
        if !is_equal(folder, &self.folder) {
            return Admission::Refused(UNKNOWN);
        }
        let has_cookie = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok()).any(|line| {
            line.split(';')
                .filter_map(|pair| pair.trim().split_once('='))
                .any(|(name, value)| name == COOKIE_NAME && is_equal(value, &self.cookie))
        });
        if let Some(token) = address.strip_prefix("open?token=") {
            return self.exchange(token, has_cookie);
        }
        match (has_cookie, site) {
            (true, _) => Admission::Admitted { address: address.to_owned() },
            (false, Some("cross-site" | "same-site")) if *method == Method::GET => Admission::Again,
            (false, _) => Admission::Refused(NO_COOKIE),
        }
    }

    fn exchange(&self, token: &str, has_cookie: bool) -> Admission {
        let mut unused = self.token.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_valid = unused.as_ref().is_some_and(|unused| is_equal(token, unused));
        // The browser that used the link may come back by it.
        if !is_valid && !has_cookie {
            return Admission::Refused(USED);
        }
        if is_valid {
            *unused = None;
        }
        let folder = format!("/{}/", self.folder);
        let cookie = format!("{COOKIE_NAME}={}; Path={folder}; HttpOnly; SameSite=Strict", self.cookie);
        Admission::Exchanged { cookie, folder }
    }
}

const COOKIE_NAME: &str = "hob-page";

fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(hex::encode(bytes))
}

fn is_equal(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// Returns the value of a header that may be sent once.
fn the_one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        _ => Err(()),
    }
}

/// Returns true if a host with an optional port is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_address = || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    name.eq_ignore_ascii_case("localhost") || name == "[::1]" || is_address()
}
