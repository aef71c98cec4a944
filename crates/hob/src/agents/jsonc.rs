//! Edits JSON files through a concrete syntax tree, which preserves comments, order and spacing.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::entry::HARMLESS;
use super::{Allows, Broken, Entry, SERVER, Shape};

/// The byte order mark, which some editors write and the parser rejects. It is handled separately.
const BOM: &str = "\u{feff}";

pub(super) fn add(text: &str, key: &str, shape: Shape, allows: Allows, entry: &Entry) -> Result<String, Broken> {
    let args = args(shape, entry);
    let fields = match shape {
        Shape::List => vec![("type".to_owned(), "local".into()), args],
        Shape::Plain | Shape::Typed => {
            let kind = (shape == Shape::Typed).then(|| ("type".to_owned(), CstInputValue::from("stdio")));
            let command = ("command".to_owned(), CstInputValue::from(entry.command.as_str()));
            kind.into_iter().chain([command, args]).collect()
        }
    };
    set(text, &[key.to_owned(), SERVER.to_owned()], CstInputValue::Object(fields), allows)
}

/// Replaces the arguments of our entry.
pub(super) fn set_args(text: &str, key: &str, shape: Shape, allows: Allows, entry: &Entry) -> Result<String, Broken> {
    let (field, args) = args(shape, entry);
    set(text, &[key.to_owned(), SERVER.to_owned(), field], args, allows)
}

/// Returns the field that holds the arguments of an entry, and its value.
fn args(shape: Shape, entry: &Entry) -> (String, CstInputValue) {
    let words = |words: &mut dyn Iterator<Item = &String>| {
        CstInputValue::Array(words.map(|word| CstInputValue::from(word.as_str())).collect())
    };
    match shape {
        Shape::List => ("command".to_owned(), words(&mut std::iter::once(&entry.command).chain(&entry.args))),
        Shape::Plain | Shape::Typed => ("args".to_owned(), words(&mut entry.args.iter())),
    }
}

pub(super) fn remove(text: &str, key: &str, allows: Allows) -> Result<String, Broken> {
    unset(text, &[key.to_owned(), SERVER.to_owned()], allows)
}

pub(super) fn entry(text: &str, path: &[&str], allows: Allows) -> Result<Option<Entry>, Broken> {
    let (_, root) = parse(text, allows)?;
    let Some(servers) = object_at(&root, path)? else { return Ok(None) };
    let Some(ours) = only_property(&servers, SERVER)? else { return Ok(None) };
    let Some(ours) = ours.object_value() else { return Err(Broken::Shape(SERVER.to_owned())) };
    let string = |node: CstNode| node.as_string_lit().and_then(|literal| literal.decoded_value().ok());
    let strings = |node: Option<CstNode>| {
        let elements = node.and_then(|node| node.as_array()).map(|array| array.elements()).unwrap_or_default();
        elements.into_iter().map(|word| string(word.clone()).unwrap_or_else(|| word.to_string())).collect::<Vec<_>>()
    };
    let field = |name: &str| Ok::<_, Broken>(only_property(&ours, name)?.and_then(|field| field.value()));
    let more = ours.properties().into_iter().filter(|property| {
        let name = name(property);
        let value = property.value();
        let is_empty = value.as_ref().is_some_and(|value| {
            value.as_object().is_some_and(|object| object.properties().is_empty())
                || value.as_array().is_some_and(|array| array.elements().is_empty())
        });
        let is_local = name == "type" && value.and_then(string).is_some_and(|kind| kind == "stdio" || kind == "local");
        !HARMLESS.contains(&&*name) && !is_local && !is_empty
    });
    let more = more.map(|property| name(&property)).collect();
    let command = field("command")?;
    let (command, args) = match command.clone().and_then(string) {
        Some(command) => (command, strings(field("args")?)),
        None => {
            let mut words = strings(command).into_iter();
            (words.next().unwrap_or_default(), words.collect())
        }
    };
    Ok(Some(Entry { command, args, more }))
}

/// Parses the whole file; `null` if it is empty.
pub(super) fn value(text: &str, allows: Allows) -> Result<Value, Broken> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    jsonc_parser::parse_to_serde_value::<Value>(text, &options(allows))
        .map_err(|error| Broken::at(text, error.range().start, error.kind().to_string()))
}

/// Sets the value at a path of keys, and creates missing objects on the path.
pub(super) fn set(text: &str, path: &[String], value: CstInputValue, allows: Allows) -> Result<String, Broken> {
    let (bom, root) = parse(text, allows)?;
    let Some((last, way)) = path.split_last() else { return Ok(text.to_owned()) };
    let object = create_object(&root, way)?;
    match only_property(&object, last)? {
        Some(present) => present.set_value(value),
        None => _ = object.append(last, value),
    }
    Ok(format!("{bom}{root}"))
}

/// Removes the value at a path of keys, and objects on the path that become empty, but not the root.
pub(super) fn unset(text: &str, path: &[String], allows: Allows) -> Result<String, Broken> {
    let (bom, root) = parse(text, allows)?;
    for length in (1..=path.len()).rev() {
        let (last, way) = (&path[length - 1], &path[..length - 1]);
        let Some(property) = object_at(&root, way)?.map(|object| only_property(&object, last)).transpose()?.flatten()
        else {
            continue;
        };
        let is_empty = property.object_value().is_some_and(|object| object.properties().is_empty());
        if length < path.len() && !is_empty {
            break;
        }
        property.remove();
    }
    Ok(format!("{bom}{root}"))
}

/// Appends to the array at a path of keys, and creates missing parts.
pub(super) fn push(text: &str, path: &[String], value: CstInputValue, allows: Allows) -> Result<String, Broken> {
    let Some((last, way)) = path.split_last() else { return Ok(text.to_owned()) };
    push_each(text, way, [(last.clone(), value)], allows)
}

/// Appends to several arrays in the object at a path, and creates missing parts.
pub(super) fn push_each(
    text: &str,
    way: &[String],
    values: impl IntoIterator<Item = (String, CstInputValue)>,
    allows: Allows,
) -> Result<String, Broken> {
    let (bom, root) = parse(text, allows)?;
    let object = create_object(&root, way)?;
    for (key, value) in values {
        let array = match only_property(&object, &key)? {
            Some(present) => present.array_value().ok_or_else(|| Broken::Shape(key.clone()))?,
            None => object.array_value_or_create(&key).ok_or_else(|| Broken::Shape(key.clone()))?,
        };
        array.append(value);
    }
    Ok(format!("{bom}{root}"))
}

/// Removes the array element equal to `is`, and the array if it becomes empty.
pub(super) fn pull(text: &str, path: &[String], is: &Value, allows: Allows) -> Result<String, Broken> {
    let (bom, root) = parse(text, allows)?;
    let Some((last, way)) = path.split_last() else { return Ok(text.to_owned()) };
    let array = object_at(&root, way)?.and_then(|object| object.get(last)).and_then(|property| property.array_value());
    let Some(array) = array else { return Ok(text.to_owned()) };
    let is_it = |element: &CstNode| value(&element.to_string(), allows).is_ok_and(|element| element == *is);
    if let Some(element) = array.elements().into_iter().find(is_it) {
        element.remove();
    }
    if array.elements().is_empty() { unset(&format!("{bom}{root}"), path, allows) } else { Ok(format!("{bom}{root}")) }
}

/// Removes our hook handlers, and the groups, lists and objects that become empty. With `is_of_groups`, lists contain
/// groups, which contain the handlers.
pub(super) fn without_handlers(
    text: &str,
    allows: Allows,
    is_of_groups: bool,
    is_ours: impl Fn(&Value) -> bool,
) -> Result<String, Broken> {
    let (bom, root) = parse(text, allows)?;
    let Some(hooks) = object_at(&root, &["hooks"]).ok().flatten() else { return Ok(text.to_owned()) };
    let is_handler = |node: &CstNode| value(&node.to_string(), allows).is_ok_and(|handler| is_ours(&handler));
    let mut is_changed = false;
    let mut emptied = Vec::new();
    for event in hooks.properties() {
        let Some(list) = event.array_value() else { continue };
        let mut is_touched = false;
        for element in list.elements() {
            if !is_of_groups {
                if is_handler(&element) {
                    element.remove();
                    is_touched = true;
                }
                continue;
            }
            let group = element.as_object().and_then(|group| group.get("hooks"));
            let Some(handlers) = group.and_then(|group| group.array_value()) else { continue };
            let ours: Vec<CstNode> = handlers.elements().into_iter().filter(is_handler).collect();
            if ours.is_empty() {
                continue;
            }
            is_touched = true;
            if ours.len() == handlers.elements().len() {
                element.remove()
            } else {
                ours.into_iter().for_each(CstNode::remove)
            }
        }
        if is_touched && list.elements().is_empty() {
            emptied.push(name(&event));
        }
        is_changed |= is_touched;
    }
    if !is_changed {
        return Ok(text.to_owned());
    }
    let mut text = format!("{bom}{root}");
    for event in emptied {
        let without = unset(&text, &["hooks".to_owned(), event], allows)?;
        // Keep an empty list if it contains comments.
        if comments(&without) == comments(&text) {
            text = without;
        }
    }
    Ok(text)
}

/// Counts the comments of a text.
fn comments(text: &str) -> usize {
    let (mut count, mut rest) = (0, text);
    while let Some(at) = rest.find(['"', '/']) {
        rest = &rest[at..];
        let end = match rest.as_bytes() {
            [b'"', ..] => {
                let mut is_escaped = false;
                let end = rest[1..].find(|c| {
                    let ends = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    ends
                });
                end.map(|end| end + 2)
            }
            [b'/', b'/', ..] => {
                count += 1;
                rest.find('\n')
            }
            [b'/', b'*', ..] => {
                count += 1;
                rest.find("*/").map(|end| end + 2)
            }
            _ => Some(1),
        };
        rest = end.map_or("", |end| &rest[end..]);
    }
    count
}

/// Converts a value for the editor.
pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// Returns the object at a path, and creates missing parts.
fn create_object(root: &CstRootNode, path: &[impl AsRef<str>]) -> Result<CstObject, Broken> {
    let mut object = root.object_value_or_create().ok_or_else(|| Broken::Shape("the whole file".to_owned()))?;
    for key in path.iter().map(AsRef::as_ref) {
        only_property(&object, key)?;
        object = object.object_value_or_create(key).ok_or_else(|| Broken::Shape(key.to_owned()))?;
    }
    Ok(object)
}

/// Returns the object at a path, if it exists.
fn object_at(root: &CstRootNode, path: &[impl AsRef<str>]) -> Result<Option<CstObject>, Broken> {
    if root.value().is_none() {
        return Ok(None);
    }
    let mut object = root.object_value().ok_or_else(|| Broken::Shape("the whole file".to_owned()))?;
    for key in path.iter().map(AsRef::as_ref) {
        let Some(property) = only_property(&object, key)? else { return Ok(None) };
        object = property.object_value().ok_or_else(|| Broken::Shape(key.to_owned()))?;
    }
    Ok(Some(object))
}

/// Returns the only property of that name. If there are two, agents may use either, so that is an error.
fn only_property(object: &CstObject, wanted: &str) -> Result<Option<CstObjectProp>, Broken> {
    let mut found = object.properties().into_iter().filter(|property| name(property) == wanted);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Broken::Twice(wanted.to_owned())),
        (found, None) => Ok(found),
    }
}

fn name(property: &CstObjectProp) -> String {
    property.name().and_then(|name| name.decoded_value().ok()).unwrap_or_default()
}

/// Parses JSON with the agent's extensions. Other invalid JSON is an error, because an edit would be unreliable.
fn parse(text: &str, allows: Allows) -> Result<(&str, CstRootNode), Broken> {
    let (bom, text) = match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    };
    let root = CstRootNode::parse(text, &options(allows))
        .map_err(|error| Broken::at(text, error.range().start, error.kind().to_string()))?;
    if allows == Allows::Nothing {
        // The tree accepts comments in any case.
        value(text, allows)?;
    }
    Ok((bom, root))
}

fn options(allows: Allows) -> ParseOptions {
    ParseOptions {
        allow_comments: allows != Allows::Nothing,
        allow_trailing_commas: allows == Allows::CommentsAndTrailingCommas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}
