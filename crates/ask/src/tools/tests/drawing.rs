//! Programs that cannot draw every field: numbers and lists become text fields. A dialog that is accepted without a value does
//! not count as an answer.

use super::*;

fn form() -> Value {
    json!({"title": "The release", "fields": [
        {"id": "copies", "kind": "integer", "min": 1, "max": 9, "required": true},
        {"id": "share", "kind": "number", "default": 0.5},
        {"id": "with", "kind": "multichoice", "max": 2, "options": [{"id": "docs"}, {"id": "source"}, {"id": "tests"}]},
    ]})
}

#[tokio::test(start_paused = true)]
async fn numbers_and_several_choices_are_text_that_is_checked_on_return() {
    let house = Fixture::new();
    let mut client = house.client("a", Some("legacy")).await;
    let call = client.begin("ask_form", form()).await;
    let (mut dialog, params) = client.dialog().await;
    let fields = &params["requestedSchema"]["properties"];
    let drawn = ["copies", "share", "with"].map(|field| fields[field].to_string());
    expect_test::expect![[r#"
        {"type":"string","title":"copies","description":"A whole number; from 1 to 9."}
        {"type":"string","title":"share","default":"0.5","description":"A number."}
        {"type":"string","title":"with","description":"Several of these, with commas: docs, source, tests; at most 2."}"#]]
    .assert_eq(&drawn.join("\n"));
    for (content, problem) in [
        (json!({"copies": "many"}), "`copies`: a whole number is needed"),
        (json!({"copies": "3", "with": "docs, drawings"}), "`with`: one of the options is needed: docs, source, tests"),
    ] {
        client.reply(&dialog, json!({"action": "accept", "content": content})).await;
        let (next, params) = client.dialog().await;
        assert_eq!(params["message"], format!("The answer did not fit: {problem}\n\nThe release"));
        dialog = next;
    }
    let content = json!({"copies": " 3 ", "share": "0.25", "with": "docs, tests"});
    client.reply(&dialog, json!({"action": "accept", "content": content})).await;
    let result = client.response(call).await["structuredContent"].clone();
    assert_eq!(result["values"], json!({"copies": 3, "share": 0.25, "with": ["docs", "tests"]}), "{result}");
}

#[tokio::test(start_paused = true)]
async fn after_two_empty_answers_the_program_cannot_show_it() {
    let house = Fixture::new();
    let optional = json!({"title": "T", "fields": [{"id": "a"}]});
    let contents = [json!({"action": "accept"}), json!({"action": "accept", "content": {}})];
    for (tool, arguments) in [("ask_form", form()), ("confirm_action", delete()), ("ask_form", optional)] {
        let mut client = house.client("a", Some("legacy")).await;
        let call = client.begin(tool, arguments).await;
        for content in &contents {
            let (dialog, _) = client.dialog().await;
            client.reply(&dialog, content.clone()).await;
        }
        let result = client.response(call).await["structuredContent"].clone();
        let id = result["question"].as_str().unwrap();
        assert_eq!((&result["status"], &result["open"]), (&json!("unavailable"), &json!(true)), "{result}");
        let advice = result["advice"].as_str().unwrap();
        assert!(
            advice.contains("it cannot show the question") && advice.contains(&format!("`hob answer {id}`")),
            "{advice}"
        );
        let dialogs = client.unread.iter().filter(|message| message["method"] == "elicitation/create");
        assert_eq!(dialogs.count(), 0, "no third dialog");
    }
}
