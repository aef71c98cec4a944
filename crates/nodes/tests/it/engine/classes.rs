//! Every class of failure that the engine can have, for real.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{engine, node, run};
use nodes::{ModelSettings, Models, Node, NodesSettings};

const FRONT: &str = "policy: { attempts: 2, timeout: 20s }";

#[tokio::test]
async fn each_class_is_had_for_real() {
    let Some(engine) = engine().await else { return };
    println!("{} with a model of SHA-256 {}", nodes::engine::PACKAGE, nodes::engine::SHA256);
    let models = engine.models("fixed");
    let words = || json!({"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]});
    // Done.
    let good = node("good", FRONT, &words()).unwrap();
    assert_eq!(run(&models, &good).await, (Ok(json!({"word": ""})), vec!["Done".to_owned()]));
    // Cut by the limit of tokens: once more with twice as many, never a success.
    let cut = node(
        "cut",
        &format!("{FRONT}\nconfig: {{ maxOutputTokens: 2 }}"),
        &json!({"type": "array", "items": {"type": "string", "minLength": 9}, "minItems": 4}),
    )
    .unwrap();
    let (said, classes) = run(&models, &cut).await;
    assert!(said.unwrap_err().contains("cut at 4 tokens; raise config.maxOutputTokens"), "{classes:?}");
    assert_eq!(classes, ["Truncated", "Truncated"]);
    // Longer than the context, with the server's numbers.
    let text = format!(
        "---\ndescription: Long.\ninput: {{ schema: {{ text: string }} }}\n{FRONT}\noutput: {{ schema: {} }}\n---\n{{{{ text }}}}\n",
        words()
    );
    let long = Node::parse("long", &text).unwrap();
    let input = Map::from_iter([("text".to_owned(), Value::from("word ".repeat(4_000)))]);
    let failure = nodes::run(&long, input, &models).await.unwrap_err();
    assert_eq!(format!("{:?}", failure.kind), "Model(TooLong)");
    assert!(failure.why.contains("tokens of 4096"), "{}", failure.why);
    // Valid for the decoder, and not for us: asked again, and then refused.
    let hole = node(
        "hole",
        FRONT,
        &json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 100}}, "required": ["n"]}),
    )
    .unwrap();
    let (said, classes) = run(&models, &hole).await;
    assert!(said.unwrap_err().contains("/n: it is less than the minimum of 100, got 1"), "{classes:?}");
    assert_eq!(classes, ["Invalid", "Invalid"]);
    // A stopped server: the time is over.
    let pid = rustix::process::Pid::from_raw(engine.pid()).unwrap();
    let slow = node("slow", "policy: { attempts: 2, timeout: 1s }", &words()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let (said, classes) = run(&models, &slow).await;
    assert!(said.unwrap_err().starts_with("Budget: no answer within 1 s, by policy.timeout"), "{classes:?}");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(run(&models, &good).await.1, ["Done"]);
    // A killed server: the connection is refused.
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    while tokio::net::TcpStream::connect(engine.url().trim_start_matches("http://").trim_end_matches("/v1"))
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    let (said, classes) = run(&models, &good).await;
    assert!(said.unwrap_err().contains("cannot be reached"), "{classes:?}");
    assert_eq!(classes, ["Transport", "Transport"]);
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_connection_at_once() {
    let Some(engine) = engine().await else { return };
    let proxy = Proxy::start(engine.url()).await;
    let model = ModelSettings { url: proxy.url.clone(), model: "fixed".to_owned(), key_file: None, key_env: None };
    let settings = NodesSettings { models: [("fixed".to_owned(), model)].into(), ..NodesSettings::default() };
    let models = Models::new(&settings);
    // Many long texts: it takes the engine a while.
    let text = json!({"type": "string", "minLength": 200});
    let output = json!({"type": "array", "items": text, "minItems": 15});
    let node =
        node("slow", "policy: { attempts: 1, timeout: 60s }\nconfig: { maxOutputTokens: 4000 }", &output).unwrap();
    let call = tokio::spawn(async move { nodes::run(&node, Map::new(), &models).await.map(|done| done.value) });
    let (mut asked, mut closed) = (proxy.asked, proxy.closed);
    asked.recv().await.expect("a request");
    let given_up = Instant::now();
    call.abort();
    let seen: Instant =
        tokio::time::timeout(Duration::from_secs(20), closed.recv()).await.expect("closed").expect("an instant");
    let took = seen.saturating_duration_since(given_up);
    println!("closed {took:?} after the call was given up");
    assert!(took < Duration::from_millis(100), "{took:?}");
}

/// Passes one connection on, and says when a request arrived and when its client closed it.
struct Proxy {
    url: String,
    asked: tokio::sync::mpsc::UnboundedReceiver<()>,
    closed: tokio::sync::mpsc::UnboundedReceiver<Instant>,
}

impl Proxy {
    async fn start(target: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (say_asked, asked) = tokio::sync::mpsc::unbounded_channel();
        let (say_closed, closed) = tokio::sync::mpsc::unbounded_channel();
        let target = target.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(target).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            let mut buffer = vec![0; 65_536];
            loop {
                match from_client.read(&mut buffer).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => {
                        to_server.write_all(&buffer[..count]).await.unwrap();
                        let _ = say_asked.send(());
                    }
                }
            }
            let _ = say_closed.send(Instant::now());
        });
        Proxy { url, asked, closed }
    }
}
