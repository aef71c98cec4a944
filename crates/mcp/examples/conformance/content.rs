//! Tools for each kind of content, and for schemas that must arrive as they are.

use std::sync::Arc;

use mcp::resource::Contents;
use mcp::tool::{AnyTool, Content, ToolError};
use serde_json::json;

use crate::made::{build_tool, text, text_result};

/// The smallest picture: one red pixel.
pub(crate) const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2,
    0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3,
    1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// An empty sound.
const SILENCE: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

/// Returns all these tools.
pub(crate) fn tools() -> Vec<Arc<dyn AnyTool>> {
    [
        build_tool("test_simple_text", "Gives a text.", |_, _| async {
            text_result("This is a simple text response for testing.")
        }),
        build_tool("test_image_content", "Gives a picture.", |_, _| async {
            Ok(vec![Content::image(PIXEL, "image/png")])
        }),
        build_tool("test_audio_content", "Gives a sound.", |_, _| async {
            Ok(vec![Content::audio(SILENCE, "audio/wav")])
        }),
        build_tool("test_embedded_resource", "Gives a resource with what is in it.", |_, _| async {
            let text = "This is an embedded resource content.";
            Ok(vec![Content::Resource(Contents::text("test://embedded-resource", "text/plain", text))])
        }),
        build_tool("test_multiple_content_types", "Gives contents of several kinds.", |_, _| async {
            let data = r#"{"test":"data","value":123}"#;
            Ok(vec![
                Content::text("Multiple content types test:"),
                Content::image(PIXEL, "image/png"),
                Content::Resource(Contents::text("test://mixed-content-resource", "application/json", data)),
            ])
        }),
        build_tool("test_error_handling", "Always fails.", |_, _| async {
            Err(ToolError::user("This tool intentionally returns an error for testing"))
        }),
        build_tool("test_custom_headers", "Says where it runs.", |_, arguments| async move {
            text_result(format!("in {}", text(&arguments, "region")))
        })
        .takes(json!({
            "type": "object",
            "properties": {
                "region": {"type": "string", "description": "Where to run.", "x-mcp-header": "Region"},
            },
            "required": ["region"],
        })),
        build_tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", |_, _| async {
            text_result("accepted")
        })
        .takes(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })),
    ]
    .map(|made| made.tool())
    .into()
}
