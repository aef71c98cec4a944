//! State machines as Mermaid state diagrams.

use super::Graph;

/// The diagram. The initial state is the one the machine starts in; terminal states lead to the end mark.
pub fn mermaid(graph: &Graph) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    if !graph.initial.is_empty() {
        text.push_str(&format!("    [*] --> {}\n", graph.initial));
    }
    for edge in &graph.edges {
        let guard = edge.guard.as_ref().map_or_else(String::new, |guard| format!(" [{}]", plain(guard)));
        let acts = if edge.acts { " / …" } else { "" };
        text.push_str(&format!("    {} --> {} : {}{guard}{acts}\n", edge.from, edge.to, edge.trigger.label()));
    }
    for state in &graph.terminal {
        text.push_str(&format!("    {state} --> [*]\n"));
    }
    let alone = |state: &&String| {
        **state != graph.initial
            && !graph.terminal.contains(state)
            && !graph.edges.iter().any(|edge| edge.from == **state || edge.to == **state)
    };
    for state in graph.states.iter().filter(alone) {
        text.push_str(&format!("    {state}\n"));
    }
    text
}

/// A guard without characters that are special to Mermaid.
fn plain(guard: &str) -> String {
    let words: Vec<_> = guard.split_whitespace().collect();
    words.join(" ").replace([':', ';', '#'], " ")
}
