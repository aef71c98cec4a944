//! Content, resources and prompts → a revision's JSON.

use super::{Era, base64};
use crate::content::{Annotations, Body, Content, Contents, Icon, Media, Resource};
use crate::prompt::{self, Message};
use crate::resource::Template;
use crate::wire::build::push_string;

use super::value::{member, push};

/// A JSON array of content blocks.
pub(super) fn blocks(out: &mut Vec<u8>, era: Era, content: &[Content]) {
    list(out, content, |out, content| block(out, era, content, None));
}

fn block(out: &mut Vec<u8>, era: Era, content: &Content, hints: Option<&Annotations>) {
    let revision = era.revision();
    match content {
        Content::Annotated(content, hints) => return block(out, era, content, Some(hints)),
        Content::Text(text) => text_block(out, text),
        Content::Image(media) => media_block(out, "image", media),
        Content::Audio(media) if revision.audio => media_block(out, "audio", media),
        Content::Audio(media) => {
            let size = media.data.len();
            text_block(out, &format!("[a sound was left out: {}, {size} bytes]", media.mime_type));
        }
        Content::Resource(resource) => {
            out.extend_from_slice(b"{\"type\":\"resource\",\"resource\":");
            contents(out, resource);
        }
        Content::Link(resource) if revision.structured => {
            out.extend_from_slice(b"{\"type\":\"resource_link\",");
            described(out, era, resource, "uri", &resource.uri);
        }
        Content::Link(resource) => text_block(out, &format!("[resource {}: {}]", resource.name, resource.uri)),
    }
    // The annotations of a link's resource come before those of the link.
    if !matches!(content, Content::Link(resource) if revision.structured && resource.annotations.is_some()) {
        annotations(out, era, hints);
    }
    out.push(b'}');
}

/// All but the closing brace.
fn text_block(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    push_string(out, text);
}

/// All but the closing brace.
fn media_block(out: &mut Vec<u8>, kind: &str, media: &Media) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"data\":\"");
    base64::push(out, &media.data);
    out.extend_from_slice(b"\",\"mimeType\":");
    push_string(out, &media.mime_type);
}

fn annotations(out: &mut Vec<u8>, era: Era, hints: Option<&Annotations>) {
    let Some(hints) = hints else { return };
    if era.revision().structured {
        member(out, "annotations", &Some(hints));
    } else {
        member(out, "annotations", &Some(Annotations { last_modified: None, ..hints.clone() }));
    }
}

/// One resource of `resources/list`.
pub(super) fn resource(out: &mut Vec<u8>, era: Era, resource: &Resource) {
    out.push(b'{');
    described(out, era, resource, "uri", &resource.uri);
    out.push(b'}');
}

/// One template of `resources/templates/list`.
pub(super) fn template(out: &mut Vec<u8>, era: Era, template: &Template) {
    out.push(b'{');
    described(out, era, &template.about, "uriTemplate", template.uri.as_str());
    out.push(b'}');
}

/// The members of a resource or a template, without braces.
fn described(out: &mut Vec<u8>, era: Era, resource: &Resource, address: &str, uri: &str) {
    let revision = era.revision();
    push_string(out, address);
    out.push(b':');
    push_string(out, uri);
    out.extend_from_slice(b",\"name\":");
    push_string(out, &resource.name);
    if revision.structured {
        member(out, "title", &resource.title);
    }
    member(out, "description", &resource.description);
    member(out, "mimeType", &resource.mime_type);
    member(out, "size", &resource.size);
    annotations(out, era, resource.annotations.as_ref());
    icons(out, era, &resource.icons);
    if revision.structured {
        member(out, "_meta", &resource.meta);
    }
}

/// The contents of `resources/read` as a JSON array.
pub(super) fn all_contents(out: &mut Vec<u8>, read: &[Contents]) {
    list(out, read, contents);
}

fn contents(out: &mut Vec<u8>, contents: &Contents) {
    out.extend_from_slice(b"{\"uri\":");
    push_string(out, &contents.uri);
    member(out, "mimeType", &contents.mime_type);
    match &contents.body {
        Body::Text(text) => {
            out.extend_from_slice(b",\"text\":");
            push_string(out, text);
        }
        Body::Blob(bytes) => {
            out.extend_from_slice(b",\"blob\":\"");
            base64::push(out, bytes);
            out.push(b'"');
        }
    }
    out.push(b'}');
}

/// One prompt of `prompts/list`.
pub(super) fn prompt(out: &mut Vec<u8>, era: Era, prompt: &prompt::Declaration) {
    out.extend_from_slice(b"{\"name\":");
    push_string(out, &prompt.name);
    if era.revision().structured {
        member(out, "title", &prompt.title);
    }
    if !prompt.description.is_empty() {
        member(out, "description", &Some(&prompt.description));
    }
    if !prompt.arguments.is_empty() {
        out.extend_from_slice(b",\"arguments\":");
        list(out, &prompt.arguments, |out, argument| {
            out.extend_from_slice(b"{\"name\":");
            push_string(out, &argument.name);
            if !argument.description.is_empty() {
                member(out, "description", &Some(&argument.description));
            }
            member(out, "required", &Some(argument.required));
            out.push(b'}');
        });
    }
    icons(out, era, &prompt.icons);
    out.push(b'}');
}

/// The messages of `prompts/get` as a JSON array.
pub(super) fn messages(out: &mut Vec<u8>, era: Era, messages: &[Message]) {
    list(out, messages, |out, message| {
        out.extend_from_slice(b"{\"role\":");
        push(out, &message.role);
        out.extend_from_slice(b",\"content\":");
        block(out, era, &message.content, None);
        out.push(b'}');
    });
}

/// The member `icons` with a leading comma, if there are any and the revision has them.
fn icons(out: &mut Vec<u8>, era: Era, icons: &[Icon]) {
    if era.revision().described && !icons.is_empty() {
        member(out, "icons", &Some(icons));
    }
}

/// A JSON array.
pub(super) fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}
