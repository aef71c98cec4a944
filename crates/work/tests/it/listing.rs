//! The token cost of the tool list for a model.

use testkit::tokens;
use work::{Work, tools};

#[test]
fn the_toolset_costs_at_most_its_budget() {
    let cost = |tools: Vec<std::sync::Arc<dyn mcp::tool::AnyTool>>| -> Vec<(String, usize)> {
        let of = |tool: &std::sync::Arc<dyn mcp::tool::AnyTool>| {
            let declaration = tool.declaration();
            let text = format!("{}\n{}\n{}", declaration.name, declaration.description, declaration.input_schema);
            (declaration.name.clone(), tokens::count(&text))
        };
        tools.iter().map(of).collect()
    };
    let work = Work::declared();
    let (all, tidepool) = (cost(tools::tools(&work)), cost(tools::tidepool(&work)));
    println!("{all:?} {tidepool:?}");
    let sum = |costs: &[(String, usize)]| costs.iter().map(|(_, cost)| cost).sum::<usize>();
    assert!(sum(&all) <= 500, "{all:?}");
    assert!(sum(&tidepool) <= 250, "{tidepool:?}");
}
