//! Requests that a page refuses, each with a page that says what to do.

use super::*;

#[track_caller]
fn assert_refused(reply: &Reply, status: u16, advice: &str) {
    assert_eq!(reply.status, status, "{}\n{}", reply.head, reply.body);
    assert!(reply.body.contains(advice), "{advice}: {}", reply.body);
    assert_headers(reply);
}

/// Checks the headers that all answers have.
#[track_caller]
fn assert_headers(reply: &Reply) {
    let headers = [
        "content-security-policy: default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ];
    says(&reply.head, &headers);
}

#[test]
fn a_link_is_for_one_browser() {
    let project = fresh();
    let (page, link) = start(project.hob(["page"]));
    let (address, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let path = format!("/{path}");
    let folder = path.split_once("open").unwrap().0.to_owned();
    let browser = Browser { page, address: address.to_owned(), folder, cookie: String::new() };
    let again = "Run `hob page` again";
    assert_refused(&browser.send("GET", "/", &[], ""), 404, again);
    assert_refused(&browser.send("GET", "/now", &[], ""), 404, again);
    assert_refused(&browser.send("GET", &format!("{}now", browser.folder), &[], ""), 403, again);
    for token in ["0", "", &path[path.len() - 31..], &format!("0{}", &path[path.len() - 32..])] {
        assert_refused(&browser.send("GET", &format!("{}open?token={token}", browser.folder), &[], ""), 403, again);
    }
    let opened = browser.send("GET", &path, &[], "");
    assert_eq!(opened.status, 303);
    let rights = format!("; Path={}; HttpOnly; SameSite=Strict", browser.folder);
    assert!(opened.head.contains(&rights), "{}", opened.head);
    assert_refused(&browser.send("GET", &path, &[], ""), 403, again);
    let cookie = opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap().split(';').next();
    let cookie = format!("Cookie: a=b; {}", cookie.unwrap());
    assert_eq!(browser.send("GET", &path, &[&cookie], "").status, 303, "the browser that used it may come back");
    assert_eq!(browser.send("GET", &format!("{}now", browser.folder), &[&cookie], "").status, 200);
    assert_refused(&browser.send("GET", &browser.folder, &["Cookie: hob-page=0"], ""), 403, again);
    // A link on another page leads here: the browser withholds the cookie, and the page itself asks again.
    let led = browser.send("GET", &browser.folder, &["Sec-Fetch-Site: cross-site"], "");
    assert!(led.status == 200 && led.body.contains("http-equiv=\"refresh\""), "{}", led.body);
}

#[test]
fn other_hosts_origins_and_forms_are_refused() {
    let project = fresh();
    let (_agent, id) = ask_question(&project, "normal");
    let browser = Browser::open(&project);
    let now = format!("{}now", browser.folder);
    assert_headers(&browser.send("GET", &now, &[&browser.cookie], ""));
    for host in
        ["evil.example", "localhost.evil.example:80", "192.168.1.5:8080", "0.0.0.0:80", "", "127.0.0.1.evil.example"]
    {
        let reply = browser.send_raw("GET", &now, &[&format!("Host: {host}"), &browser.cookie], "");
        assert_refused(&reply, 403, "The page is served on this machine only");
    }
    for lines in [&[&*browser.cookie][..], &["Host: 127.0.0.1", "Host: 127.0.0.1", &browser.cookie]] {
        assert_refused(&browser.send_raw("GET", &now, lines, ""), 403, "The page is served on this machine only");
    }
    for host in ["localhost:1", "127.1.2.3:80", "[::1]:80", "LOCALHOST"] {
        let reply = browser.send_raw("GET", &now, &[&format!("Host: {host}"), &browser.cookie], "");
        assert_eq!(reply.status, 200, "{host}");
    }
    let cookie = browser.cookie.as_str();
    let own = format!("Origin: http://{}", browser.address);
    let evil = browser.send("GET", &now, &[cookie, "Origin: http://evil.example"], "");
    assert_refused(&evil, 403, "Nothing was done");
    assert_refused(&browser.send("PUT", &now, &[cookie, &own], ""), 405, "GET and POST");

    let page = browser.get(&format!("question?id={id}"));
    let token = hidden(&page).into_iter().find(|(name, _)| name == "token").unwrap().1;
    let act = format!("{}act", browser.folder);
    let body = |token: &str| format!("token={token}&question={id}&f0=yes&action=send");
    let post = |lines: &[&str], token: &str| browser.send("POST", &act, lines, &body(token));
    let (port, same_site) = (browser.address.rsplit_once(':').unwrap().1, "Sec-Fetch-Site: same-origin");
    let (by_name, by_tls) = (format!("http://localhost:{port}"), format!("https://{}", browser.address));
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", &by_name, &by_tls] {
        assert_refused(&post(&[cookie, &format!("Origin: {origin}")], &token), 403, "Nothing was done");
    }
    for (lines, token, advice) in [
        (&[cookie][..], &*token, "Nothing was done"),
        (&[cookie, &own, &own], &token, "Nothing was done"),
        (&[cookie, "Origin: null", "Sec-Fetch-Site: cross-site"], &token, "Nothing was done"),
        (&[&own], &token, "Run `hob page` again"),
        (&[cookie, &own], "0", "reload the page"),
        (&[cookie, &own], "", "reload the page"),
    ] {
        assert_refused(&post(lines, token), 403, advice);
    }
    assert_refused(&browser.send("GET", &format!("{act}?{}", body(&token)), &[cookie], ""), 404, "Go back");
    let large = format!("{}&note={}", body(&token), "x".repeat(2 << 20));
    let mut stream = TcpStream::connect(&browser.address).unwrap();
    let head = format!(
        "POST {act} HTTP/1.1\r\nHost: {}\r\n{cookie}\r\n{own}\r\nContent-Length: {}\r\n\r\n",
        browser.address,
        large.len()
    );
    // The answer comes before all of it is read.
    let _ = stream.write_all(format!("{head}{large}").as_bytes());
    let mut first = String::new();
    let _ = BufReader::new(stream).read_line(&mut first);
    assert!(first.is_empty() || first.starts_with("HTTP/1.1 413"), "{first}");
    assert!(project.run(["questions", "--json"]).stdout.contains("\"open\": true"));
    // A form without a referrer has this origin; only the browser can write the second line.
    assert_eq!(post(&[cookie, "Origin: null", same_site], &token).status, 303);
}

#[test]
fn a_page_of_an_agent_only_shows() {
    let project = fresh();
    let (_agent, id) = ask_question(&project, "normal");
    let mut command = project.hob(["page"]);
    command.env("CLAUDECODE", "1");
    let browser = Browser::open_page(command);
    let page = browser.get(&format!("question?id={id}"));
    assert!(page.contains("Go?") && page.contains("started by Claude Code") && !page.contains("<form"), "{page}");
    assert_refused(&browser.act(&format!("question={id}&f0=yes&action=send")), 403, "Nothing was sent");
    assert!(project.run(["questions", "--json"]).stdout.contains("\"open\": true"));
    assert!(!browser.get("mail").contains("method=\"post\""));
    drop(browser.follow("now"));
    assert_eq!(ask::watching(&project), 0);
}

/// Asks for a page as another user, who knows link and cookie.
const ANOTHER: &str = r#"
import os, socket, sys
address, target, cookie = sys.argv[1:]
host, port = address.split(":")
# Python loads this codec from files that the other user may not read.
host.encode("idna")
os.setgid(12345)
os.setuid(12345)
with socket.create_connection((host, int(port))) as to:
    try:
        to.sendall(f"GET {target} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n".encode())
        print(to.recv(100))
    except ConnectionError:
        print(b"")
"#;

#[test]
fn another_user_of_the_machine_is_refused() {
    if !rustix::process::geteuid().is_root() || !testkit::has_program("python3") {
        return;
    }
    let project = fresh();
    let browser = Browser::open(&project);
    let cookie = browser.cookie.strip_prefix("Cookie: ").unwrap();
    let target = format!("{}now", browser.folder);
    let mut command = project.command("python3");
    command.current_dir("/").args(["-c", ANOTHER, &browser.address, &target, cookie]);
    assert_eq!(testkit::Ran::run(&mut command).ok(), "b''\n");
    assert!(browser.get("now").contains("<h1>Now</h1>"));
}
