//! The `Asks` declaration of a tool, and the result if the client does not support it.

use serde_json::{Value, json};

use super::client::text;
use super::client_questions::{accept, connect, handshake, modern, with_responses};
use super::faults::{declaration, declared};
use crate::server::{Server, ServerInfo};
use crate::tool::{Ask, AskError, Asks, Context, Declaration, Effect, Outcome, Tool, ToolError, ToolFn, tool};

/// Asks in a dialog or not at all.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// What was said.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Reply {
    /// In words.
    said: String,
}

/// Whether it is meant.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    /// Whether it is.
    sure: bool,
}

struct ByDialog;

impl Tool for ByDialog {
    const NAME: &'static str = "by_dialog";
    const EFFECT: Effect = Effect::READ;
    const ASKS: Asks = Asks::PersonByDialog;
    type Args = Nothing;
    type Output = Reply;

    async fn call(&self, cx: Context, _: Nothing) -> Result<Reply, ToolError> {
        let form = Ask::form::<Sure>("Sure?");
        let page = Ask::Url { message: "Sign in.".to_owned(), url: "https://example.com/in".to_owned() };
        let can = (cx.can_ask(&form), cx.can_ask(&page), cx.can_ask(&Ask::Roots));
        let said = match cx.ask(form).await {
            Err(AskError::Unsupported) => "nobody to ask".to_owned(),
            answer => format!("{:?}", answer?.accepted::<Sure>()?.map(|said| said.sure)),
        };
        Ok(Reply { said: format!("{can:?}: {said}") })
    }

    fn text(output: &Reply) -> String {
        output.said.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_asks_by_dialog_alone_takes_no_answer_by_an_argument() {
    let server = Server::with_tools(ServerInfo::new("asks", "1"), [tool(ByDialog)]);
    let declaration = server.registry().get("by_dialog").expect("it is there").declaration().clone();
    assert!(declaration.input_schema["properties"].get("resume").is_none(), "{}", declaration.input_schema);
    let output = declaration.output_schema.expect("it is structured");
    assert_eq!(output["properties"]["said"]["type"], "string");

    // Without a dialog, in both eras, and though an agent tries to answer.
    let mut client = connect(&server);
    client.call(1, "by_dialog", json!({})).await;
    let done = client.next().await;
    assert_eq!(text(&done), "(false, false, false): nobody to ask");
    assert_eq!(done["result"]["structuredContent"], json!({"said": "(false, false, false): nobody to ask"}));
    let call = |id: u64, capabilities: Value| {
        let params = json!({"name": "by_dialog", "_meta": modern(capabilities)});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    client.send(call(2, json!({"elicitation": {"url": {}}}))).await;
    assert_eq!(text(&client.next().await), "(false, true, false): nobody to ask");
    client.call(3, "by_dialog", json!({"resume": {"id": "x", "answers": {"sure": true}}})).await;
    assert!(text(&client.next().await).starts_with("by_dialog: unknown field `resume`"));

    // With one.
    let asking = call(4, json!({"elicitation": {}, "roots": {}}));
    client.send(asking.clone()).await;
    let question = client.next().await;
    client.send(with_responses(asking, 5, &question, json!({"answer": accept(json!({"sure": true}))}))).await;
    assert_eq!(text(&client.next().await), "(true, false, true): Some(true)");
    handshake(&mut client, "2025-11-25", json!({"elicitation": {"form": {}, "url": {}}})).await;
    client.call(6, "by_dialog", json!({})).await;
    let question = client.next().await;
    client.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(json!({"sure": false}))})).await;
    assert_eq!(text(&client.next().await), "(true, true, false): Some(false)");
}

#[tokio::test(start_paused = true)]
async fn a_function_that_asks_is_told_to_declare_it() {
    let ask = async |cx: Context, (): ()| Ok(format!("{:?}", cx.ask(Ask::form::<Sure>("Sure?")).await?));
    let undeclared = ToolFn::new("undeclared", Effect::READ).description("Asks.").build(ask);
    let declared = ToolFn::new("declared", Effect::READ).description("Asks.").asks(Asks::Person).build(ask);
    let looks = ToolFn::new("looks", Effect::READ).description("Asks.").build(|cx, (): ()| async move {
        Ok(cx.ask(Ask::form::<Sure>("Sure?")).await.expect_err("it is not declared").to_string())
    });
    let mut client = connect(&Server::with_tools(ServerInfo::new("asks", "1"), [undeclared, declared, looks]));
    client.call(1, "looks", json!({})).await;
    assert_eq!(
        text(&client.next().await),
        "the tool asks, but does not declare it: write `const ASKS: Asks = Asks::Person;` in its `impl Tool`, or \
         `.asks(Asks::Person)` where its `ToolFn` is made"
    );
    // It is a bug of the program, which its log says.
    client.call(2, "undeclared", json!({})).await;
    assert!(text(&client.next().await).starts_with("internal error in undeclared (fault "));
    client.call(3, "declared", json!({})).await;
    assert!(text(&client.next().await).starts_with("Question for the person: Sure?"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_outlived_an_unsupported_question_fails_with_what_it_failed_of() {
    let asks = |name: &str| Declaration { asks: Asks::Person, ..declaration(name) };
    let sample = || Ask::Sample(json!({"messages": [], "maxTokens": 5}));
    let tools = [
        declared(asks("goes_on"), move |cx| async move {
            match cx.ask(sample()).await {
                Err(AskError::Unsupported) => Err(ToolError::user("the disk is full")),
                answer => Ok(Outcome::text(format!("{answer:?}"))),
            }
        }),
        declared(
            asks("gives_up"),
            move |cx| async move { Ok(Outcome::text(format!("{:?}", cx.ask(sample()).await?))) },
        ),
        declared(asks("hints"), move |cx| async move {
            let said = cx.ask(sample()).await.map_err(|error| ToolError::from(error).hint("call `goes_on` instead"))?;
            Ok(Outcome::text(format!("{said:?}")))
        }),
    ];
    let mut client = connect(&Server::with_tools(ServerInfo::new("asks", "1"), tools));
    let mut answers = Vec::new();
    for (id, name) in [(1, "goes_on"), (2, "gives_up"), (3, "hints")] {
        let params = json!({"name": name, "_meta": modern(json!({}))});
        client.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
        answers.push(client.next().await);
    }
    assert_eq!(text(&answers[0]), "the disk is full");
    assert_eq!(answers[1]["error"]["code"], -32021);
    assert_eq!(
        text(&answers[2]),
        "this needs an answer from the user, which the client does not support\ncall \
                                   `goes_on` instead"
    );
}
