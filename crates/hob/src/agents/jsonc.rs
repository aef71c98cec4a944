//! A list of servers in JSON, edited through a concrete syntax tree so that comments, order and spacing stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use super::{Broken, Entry, HARMLESS, SERVER};

/// The byte order mark is handled separately: the parser does not accept it, and some editors write it.
const BOM: &str = "\u{feff}";

pub(super) fn add(text: &str, key: &str, typed: bool, entry: &Entry) -> Result<String, Broken> {
    let (bom, root) = parse(text)?;
    let object = root.object_value_or_create().ok_or_else(|| Broken::Shape("the whole file".to_owned()))?;
    let servers = object.object_value_or_create(key).ok_or_else(|| Broken::Shape(key.to_owned()))?;
    let mut fields = Vec::new();
    if typed {
        fields.push(("type".to_owned(), "stdio".into()));
    }
    fields.push(("command".to_owned(), CstInputValue::from(entry.command.as_str())));
    fields.push(("args".to_owned(), CstInputValue::Array(entry.args.iter().map(|arg| arg.as_str().into()).collect())));
    servers.append(SERVER, CstInputValue::Object(fields));
    Ok(format!("{bom}{root}"))
}

pub(super) fn remove(text: &str, key: &str) -> Result<String, Broken> {
    let (bom, root) = parse(text)?;
    if let Some(servers) = servers(&root, key)? {
        if let Some(ours) = servers.get(SERVER) {
            ours.remove();
        }
        if servers.properties().is_empty()
            && let Some(property) = root.object_value().and_then(|object| object.get(key))
        {
            property.remove();
        }
    }
    Ok(format!("{bom}{root}"))
}

pub(super) fn entry(text: &str, key: &str) -> Result<Option<Entry>, Broken> {
    let (_, root) = parse(text)?;
    let Some(servers) = servers(&root, key)? else { return Ok(None) };
    let Some(ours) = only(&servers, SERVER)? else { return Ok(None) };
    let Some(ours) = ours.object_value() else { return Err(Broken::Shape(SERVER.to_owned())) };
    let string = |node: CstNode| node.as_string_lit().and_then(|literal| literal.decoded_value().ok());
    let field = |name: &str| Ok::<_, Broken>(only(&ours, name)?.and_then(|field| field.value()));
    let args = field("args")?.and_then(|args| args.as_array()).map(|args| args.elements()).unwrap_or_default();
    let more = ours.properties().into_iter().filter(|property| {
        let name = name(property);
        let value = property.value();
        let is_empty = value.as_ref().is_some_and(|value| {
            value.as_object().is_some_and(|object| object.properties().is_empty())
                || value.as_array().is_some_and(|array| array.elements().is_empty())
        });
        let is_stdio = name == "type" && value.and_then(string).is_some_and(|value| value == "stdio");
        !HARMLESS.contains(&&*name) && !is_stdio && !is_empty
    });
    Ok(Some(Entry {
        command: field("command")?.and_then(string).unwrap_or_default(),
        args: args.into_iter().map(|arg| string(arg.clone()).unwrap_or_else(|| arg.to_string())).collect(),
        more: more.map(|property| name(&property)).collect(),
    }))
}

/// The only property of that name. If there are two, agents may choose the other one.
fn only(object: &CstObject, wanted: &str) -> Result<Option<CstObjectProp>, Broken> {
    let mut found = object.properties().into_iter().filter(|property| name(property) == wanted);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Broken::Twice(wanted.to_owned())),
        (found, None) => Ok(found),
    }
}

fn name(property: &CstObjectProp) -> String {
    property.name().and_then(|name| name.decoded_value().ok()).unwrap_or_default()
}

fn servers(root: &CstRootNode, key: &str) -> Result<Option<CstObject>, Broken> {
    if root.value().is_none() {
        return Ok(None);
    }
    let object = root.object_value().ok_or_else(|| Broken::Shape("the whole file".to_owned()))?;
    match only(&object, key)? {
        None => Ok(None),
        Some(property) => property.object_value().map(Some).ok_or_else(|| Broken::Shape(key.to_owned())),
    }
}

/// Comments and trailing commas are common in these files; any other invalid JSON is an error that we must not build
/// upon.
fn parse(text: &str) -> Result<(&str, CstRootNode), Broken> {
    let (bom, text) = match text.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => ("", text),
    };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options)
        .map_err(|error| Broken::at(text, error.range().start, error.kind().to_string()))?;
    Ok((bom, root))
}
