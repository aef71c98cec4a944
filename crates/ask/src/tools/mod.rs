//! The tools, one file each, and their lists.

mod ask_cancel;
mod ask_form;
mod ask_list;
mod ask_wait;
mod confirm_action;
mod request_guidance;
mod select_option;

use std::sync::Arc;

use mcp::tool::{AnyTool, Tool, tool};

use crate::Board;

/// The tools in the default toolset.
pub const CORE: &[&str] =
    &[confirm_action::ConfirmAction::NAME, select_option::SelectOption::NAME, request_guidance::RequestGuidance::NAME];

/// The tools whose calls wait for a person.
pub const WAITING: &[&str] = &[
    ask_form::AskForm::NAME,
    ask_wait::AskWait::NAME,
    confirm_action::ConfirmAction::NAME,
    request_guidance::RequestGuidance::NAME,
    select_option::SelectOption::NAME,
];

/// Returns the tools under the predecessor's names: those that ask, and the one that waits.
pub fn tidepool(board: &Arc<Board>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(confirm_action::ConfirmAction(board.clone())),
        tool(request_guidance::RequestGuidance(board.clone())),
        tool(select_option::SelectOption(board.clone())),
    ]
}

/// Returns all tools of the toolset.
pub fn tools(board: &Arc<Board>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(ask_cancel::AskCancel(board.clone())),
        tool(ask_form::AskForm(board.clone())),
        tool(ask_list::AskList(board.clone())),
        tool(ask_wait::AskWait(board.clone())),
        tool(confirm_action::ConfirmAction(board.clone())),
        tool(request_guidance::RequestGuidance(board.clone())),
        tool(select_option::SelectOption(board.clone())),
    ]
}

#[cfg(test)]
mod tests;
