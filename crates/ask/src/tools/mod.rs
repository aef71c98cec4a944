//! The tools, one file each. This file holds their lists and what they share: a call that asks, waits and says how that
//! ended.

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

/// The tools that a connection is offered first.
pub const CORE: &[&str] =
    &[confirm_action::ConfirmAction::NAME, select_option::SelectOption::NAME, request_guidance::RequestGuidance::NAME];

/// The tools of the predecessor's name: those that ask, and the one that waits.
pub fn tidepool(board: &Arc<Board>) -> Vec<Arc<dyn AnyTool>> {
    vec![
        tool(confirm_action::ConfirmAction(board.clone())),
        tool(request_guidance::RequestGuidance(board.clone())),
        tool(select_option::SelectOption(board.clone())),
    ]
}

/// All tools of the toolset.
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
