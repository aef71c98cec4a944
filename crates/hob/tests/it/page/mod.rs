//! `hob page` over real HTTP, as browsers with and without scripts use it: who is refused, a question answered by a plain
//! form, sessions, changes as they come, and hostile text.

mod refusals;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::{McpPeer, TestProject, kill_hard, until};

use crate::http::{Reply, exchange};
use crate::{ask, fresh, says};

/// A page that is served, and the browser that opened it.
pub(crate) struct Browser {
    page: Child,
    address: String,
    folder: String,
    /// The header line with the cookie.
    cookie: String,
}

impl Browser {
    pub(crate) fn open(project: &TestProject) -> Browser {
        Browser::open_page(project.hob(["page"]))
    }

    fn open_page(command: Command) -> Browser {
        let (page, link) = start(command);
        let (address, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut browser = Browser { page, address: address.to_owned(), folder: String::new(), cookie: String::new() };
        let opened = browser.send("GET", &format!("/{path}"), &[], "");
        assert_eq!(opened.status, 303, "{}", opened.head);
        let header = |name: &str| opened.head.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        browser.folder = header("location: ");
        browser.cookie = format!("Cookie: {}", header("set-cookie: ").split(';').next().unwrap());
        browser
    }

    /// Sends a request with the host and these header lines.
    fn send(&self, method: &str, target: &str, lines: &[&str], body: &str) -> Reply {
        let host = format!("Host: {}", self.address);
        self.send_raw(method, target, &[&[&*host], lines].concat(), body)
    }

    fn send_raw(&self, method: &str, target: &str, lines: &[&str], body: &str) -> Reply {
        exchange(&self.address, &format!("{method} {target}"), lines, body)
    }

    /// Sends the form of a page with this body, from a page of this origin.
    fn act(&self, body: &str) -> Reply {
        let origin = format!("Origin: http://{}", self.address);
        self.send("POST", &format!("{}act", self.folder), &[&self.cookie, &origin], body)
    }

    /// Gets a page.
    pub(crate) fn get(&self, address: &str) -> String {
        let reply = self.send("GET", &format!("{}{address}", self.folder), &[&self.cookie], "");
        assert_eq!(reply.status, 200, "{address}: {}\n{}", reply.head, reply.body);
        reply.body
    }

    /// Posts the form of a page as a browser without scripts does, with these fields.
    pub(crate) fn post(&self, page: &str, fields: &[(&str, &str)]) -> Reply {
        let kept = hidden(page).into_iter();
        let given = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let body = kept.chain(given).map(|(name, value)| format!("{name}={}", encoded(&value)));
        self.act(&body.collect::<Vec<_>>().join("&"))
    }

    /// Follows the changes of a page.
    pub(crate) fn follow(&self, address: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let target = format!("{}live?of={}", self.folder, encoded(address));
        let head = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n", self.address, self.cookie);
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    /// Tells the page to end, and returns its exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.page);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.page.wait().unwrap().code()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        kill_hard(self.page.id() as i32);
        let _ = self.page.wait();
    }
}

/// Starts a page, and returns the link that it prints.
fn start(mut command: Command) -> (Child, String) {
    let mut page = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut link = String::new();
    BufReader::new(page.stdout.take().unwrap()).read_line(&mut link).unwrap();
    assert!(link.starts_with("http://127.0.0.1:"), "{link:?}");
    (page, link.trim_end().to_owned())
}

/// Returns the next change with this text.
pub(crate) fn change(changes: &mut BufReader<TcpStream>, text: &str) -> Value {
    loop {
        let mut line = String::new();
        assert!(changes.read_line(&mut line).unwrap() > 0, "the stream ended before {text:?} came");
        if let Some(change) = line.strip_prefix("data: ").filter(|change| change.contains(text)) {
            return serde_json::from_str(change).unwrap();
        }
    }
}

/// Has an agent ask whether to go on. Returns the agent and the question's id.
fn ask_question(project: &TestProject, danger: &str) -> (McpPeer, String) {
    let mut agent = ask::agent(project);
    let asked = agent.call("confirm_action", json!({"action": "Go?", "danger": danger, "wait_s": 0}));
    let id = asked.structured["question"].as_str().unwrap_or_else(|| panic!("{asked:?}")).to_owned();
    (agent, id)
}

/// Parses fields as `NAME=VALUE`, with a bar between them.
fn fields_of(text: &str) -> Vec<(&str, &str)> {
    text.split('|').map(|field| field.split_once('=').unwrap()).collect()
}

/// Returns the hidden fields of the first form that can be sent.
fn hidden(page: &str) -> Vec<(String, String)> {
    let (_, form) = page.split_once(" method=\"post\"").expect("a form");
    let (form, _) = form.split_once("</form>").unwrap();
    let inputs = form.split("<input type=\"hidden\"").skip(1);
    let value = |input: &str, key: &str| {
        input.split_once(&format!(" {key}=\"")).unwrap().1.split_once('"').unwrap().0.replace("&amp;", "&")
    };
    inputs.map(|input| (value(input, "name"), value(input, "value"))).collect()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_question_is_answered_without_scripts() {
    let project = fresh();
    let mut agent = ask::agent(&project);
    let fields = json!([
        {"id": "ship", "kind": "boolean", "label": "Ship it?", "required": true},
        {"id": "when", "kind": "date", "required": true, "show_if": {"field": "ship", "equals": true}},
        {"id": "why", "kind": "multiline", "show_if": {"field": "ship", "equals": false}},
        {"id": "copies", "kind": "integer", "min": 1, "default": 2},
        {"id": "to", "kind": "choice", "options": [{"id": "a"}, {"id": "b", "label": "Bee"}], "other": true},
        {"id": "with", "kind": "multichoice", "options": [{"id": "x"}, {"id": "y"}], "default": ["x"]},
    ]);
    let attachments = json!([{"kind": "diff", "label": "the change", "text": "-old\n+<new>\n"}]);
    let asked = agent
        .call("ask_form", json!({"title": "The <release>", "fields": fields, "attachments": attachments, "wait_s": 0}));
    let id = asked.structured["question"].as_str().unwrap();
    let browser = Browser::open(&project);
    let room = until("the question is listed", || Some(browser.get("questions")).filter(|page| page.contains(id)));
    assert!(room.contains("<title>(1) Questions"), "{room}");
    let page = browser.get(&format!("question?id={id}"));
    says(&page, &["<h1>The &lt;release&gt;</h1>", "<span class=\"added\">+&lt;new&gt;\n</span>"]);
    assert!(page.contains(" value=\"2\"") && page.contains("value=\"0\" checked"), "the defaults: {page}");

    let typed = fields_of("f0=yes|f1=soon|f2=not asked|f3=several|o4=Cee \"x\"|f4=other|f5=1|note=mind\r\nthe gap");
    let rejected = browser.post(&page, &[&typed[..], &[("action", "send")]].concat());
    assert_eq!(rejected.status, 422, "{}", rejected.body);
    let kept =
        ["value=\"yes\" checked", " value=\"several\"", " value=\"Cee &quot;x&quot;\"", "mind\nthe gap</textarea>"];
    says(&rejected.body, &kept);
    says(&rejected.body, &["Not sent: "]);
    assert_eq!(project.run(["questions", "--json"]).stdout.matches("\"open\": true").count(), 1);

    let both = browser.post(&page, &[("f4", "0"), ("o4", "Cee"), ("action", "send")]);
    assert!(both.status == 422 && both.body.contains("keep one of them"), "{}", both.body);

    // Fields that are not asked and numbers beyond the options are no values.
    let right =
        "f0=yes|f1=2026-12-01|f2=not asked|f4=-1|f5=7|f3=3|o4=Cee|f4=other|f5=0|f5=1|note=mind\r\nthe gap|action=send";
    let right = fields_of(right);
    let sent = browser.post(&rejected.body, &right);
    assert_eq!(sent.status, 303, "{}", sent.body);
    let closed = browser.get(&format!("question?id={id}"));
    assert!(closed.contains("This question is answered by tester (page).") && !closed.contains("<form"), "{closed}");
    let result = agent.call("ask_wait", json!({})).structured;
    assert_eq!(
        result["values"],
        json!({"ship": true, "when": "2026-12-01", "copies": 3, "to": "Cee", "with": ["x", "y"]})
    );
    // A second answer is too late, and what was typed is not lost, even if it would not fit.
    for fields in [&right[..], &[("f4", "0"), ("o4", "Cee"), ("action", "send")]] {
        let late = browser.post(&rejected.body, fields);
        assert_eq!(late.status, 409, "{}", late.body);
        says(&late.body, &["Your answer was not sent: the question is answered already", "to: Cee"]);
    }
}

#[test]
fn a_dangerous_question_takes_only_what_is_typed() {
    let project = fresh();
    let (mut agent, id) = ask_question(&project, "high");
    let browser = Browser::open(&project);
    let page = browser.get(&format!("question?id={id}"));
    assert!(page.contains("Type yes or no in full") && !page.contains("type=\"radio\""), "{page}");
    for typed in ["", "y", "on"] {
        assert_eq!(browser.post(&page, &[("f0", typed), ("action", "send")]).status, 422, "{typed:?}");
    }
    assert_eq!(browser.post(&page, &[("f0", "no"), ("action", "send")]).status, 303);
    assert_eq!(agent.call("ask_wait", json!({})).structured["confirmed"], false);
    let (mut agent, id) = ask_question(&project, "normal");
    let page = browser.get(&format!("question?id={id}"));
    assert_eq!(browser.post(&page, &[("note", "ask Ann"), ("action", "decline")]).status, 303);
    assert_eq!(agent.call("ask_wait", json!({})).structured["status"], "declined");
}

#[test]
fn a_session_is_interrupted_and_stopped_in_a_tab_that_counts_as_a_person() {
    let project = fresh();
    let browser = Browser::open(&project);
    // A tab that is open counts as a present person.
    let watching = |count: u64| until("the faces are counted", || (ask::watching(&project) == count).then_some(()));
    watching(0);
    let long =
        ["eval", "--profile", "bash", "--session", "long", "--wait", "0", "echo from the first byte; sleep 1000"];
    project.run(long);
    let mut changes = browser.follow("sessions");
    watching(1);
    let running = change(&mut changes, "Interrupt long");
    let page = running["parts"]["live"].as_str().unwrap();
    let session = page.split_once("href=\"session?id=").unwrap().1.split_once('#').unwrap().0.to_owned();
    until("the output is shown", || {
        browser.get(&format!("session?id={session}")).contains("from the first byte").then_some(())
    });
    let done = browser.post(page, &[("action", "interrupt")]);
    assert_eq!((done.status, done.head.contains("location: sessions\r\n")), (303, true), "{}", done.head);
    assert!(browser.get("sessions").contains("long #1: interrupted, "));
    change(&mut changes, "idle");
    drop(changes);
    watching(0);
    let page = browser.get("sessions");
    assert_eq!(browser.post(&page, &[("action", "stop")]).status, 303);
    assert!(browser.get("now").contains("long: it was stopped"));
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).ok()).unwrap();
    assert_eq!(status["sessions"][0]["state"], "stopped");
}

#[test]
fn messages_are_read_and_written_without_scripts() {
    let project = fresh();
    let mut ann = ask::agent_as(&project, &["mail"]);
    ann.call("register_agent", json!({"name": "ann", "role": "tester"}));
    let id = ann.call("send_message", json!({"to": "user", "content": "Which port?"})).structured["message_id"].clone();
    let browser = Browser::open(&project);
    let thread = format!("thread?id={}", id.as_str().unwrap());
    until("the need is listed", || browser.get("now").contains(&format!("href=\"{thread}#main\"")).then_some(()));
    let page = browser.get(&thread);
    until("it was read by opening it", || browser.get("mail").contains("user (read)").then_some(()));
    assert!(!browser.get("mail?find=nowhere").contains("Which port?</a>"));
    assert!(!browser.get("now").contains("Which port?</a>"));
    let typed =
        |to: &'static str| [("action", "write"), ("to", to), ("text", "80 <or> 8080\r\nmind"), ("priority", "high")];
    let rejected = browser.post(&page, &typed("nobody"));
    assert_eq!(rejected.status, 422, "{}", rejected.body);
    says(
        &rejected.body,
        &["Not sent: ", "value=\"nobody\"", "80 &lt;or&gt; 8080\nmind</textarea>", "value=\"high\" selected"],
    );
    let sent = browser.post(&rejected.body, &typed("ann"));
    assert_eq!((sent.status, sent.head.contains(&format!("location: {thread}\r\n"))), (303, true), "{}", sent.head);
    assert!(browser.get(&thread).contains("Sent to ann."));
    assert_eq!(browser.post(&browser.get("mail"), &typed("role:tester")).status, 303);
    assert_eq!(browser.post(&browser.get("agent?id=ann"), &typed("ann")).status, 303);
    let taken = ann.call("check_messages", json!({})).structured;
    assert_eq!(taken["messages"].as_array().unwrap().len(), 3, "{taken}");
    let message = &taken["messages"][0];
    assert_eq!((&message["from"], &message["content"]), (&json!("user"), &json!("80 <or> 8080\nmind")));
    assert_eq!((&message["reply_to"], &message["priority"]), (&id, &json!("high")));
}

#[test]
fn hostile_text_stays_text() {
    let project = fresh();
    let mut agent = ask::agent_as(&project, &["ask", "mail"]);
    let hostile =
        "<script>alert(1)</script><img src=x onerror=alert(1)>\" onclick=\"alert(1) javascript:alert(1) \u{202e}txet";
    let long = "x".repeat(1_000_000);
    let fields = json!([
        {"id": "a", "kind": "choice", "label": hostile, "help": hostile, "options": [{"id": hostile.replace('\u{202e}', ""), "label": hostile}], "other": true},
    ]);
    let attachments = json!([{"kind": "text", "label": hostile, "text": hostile}]);
    let asked = agent.call(
        "ask_form",
        json!({"title": hostile, "message": hostile, "fields": fields, "attachments": attachments, "wait_s": 0}),
    );
    let id = asked.structured["question"].as_str().unwrap_or_else(|| panic!("{asked:?}")).to_owned();
    let loud = format!("echo '{hostile}'; head -c 1000000 /dev/zero | tr '\\0' x");
    project.run(["eval", "--profile", "bash", "--session", "loud", &loud]).ok();
    agent.call("register_agent", json!({"name": "ann", "role": hostile}));
    agent.call("send_message", json!({"to": ["ann"], "content": format!("{hostile} {}", &long[..5000])}));
    let browser = Browser::open(&project);
    until("the rows are there", || browser.get("questions").contains(&id).then_some(()));
    let session = browser.get("sessions").split_once("session?id=").unwrap().1.split_once('"').unwrap().0.to_owned();
    let rooms = ["now", "agents", "sessions", "mail", "questions", "activity", "work", "nodes"].map(str::to_owned);
    for address in rooms.into_iter().chain([format!("question?id={id}"), format!("session?id={session}")]) {
        let page = browser.get(&address);
        for bad in ["<script>", "<img src=x", "\" onclick=", "\"javascript:", "\u{202e}"] {
            assert!(!page.contains(bad), "{address}: {bad}: {page}");
        }
        assert!(page.len() < 1_000_000, "{address}: {} bytes", page.len());
    }
    let page = browser.get(&format!("question?id={id}"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && page.contains("\\u{202e}txet"), "{page}");
}
