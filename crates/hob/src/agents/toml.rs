//! Edits TOML files in place, which preserves comments, order and spacing.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::entry::HARMLESS;
use super::{Broken, Entry, SERVER};

pub(super) fn add(text: &str, table: &str, entry: &Entry) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let servers = child(document.as_table_mut(), table)?;
    let mut ours = Table::new();
    ours.insert("command", value(&entry.command));
    ours.insert("args", value(entry.args.iter().collect::<Array>()));
    servers.insert(SERVER, Item::Table(ours));
    separate_by_blank_line(text, servers.get_mut(SERVER));
    Ok(restore_newlines(text, document.to_string()))
}

/// Replaces the arguments of our entry.
pub(super) fn set_args(text: &str, table: &str, entry: &Entry) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let ours = child(child(document.as_table_mut(), table)?, SERVER)?;
    ours.insert("args", value(entry.args.iter().collect::<Array>()));
    Ok(restore_newlines(text, document.to_string()))
}

pub(super) fn remove(text: &str, table: &str) -> Result<String, Broken> {
    unset(text, &[table.to_owned(), SERVER.to_owned()])
}

pub(super) fn entry(text: &str, table: &str) -> Result<Option<Entry>, Broken> {
    let document = parse(text)?;
    let Some(servers) = document.get(table) else { return Ok(None) };
    let servers = servers.as_table_like().ok_or_else(|| Broken::Shape(table.to_owned()))?;
    let Some(ours) = servers.get(SERVER) else { return Ok(None) };
    let ours = ours.as_table_like().ok_or_else(|| Broken::Shape(SERVER.to_owned()))?;
    let more = ours.iter().filter(|(name, value)| {
        let is_empty = value.as_table_like().is_some_and(|table| table.is_empty())
            || value.as_array().is_some_and(|array| array.is_empty());
        !HARMLESS.contains(name) && !is_empty
    });
    Ok(Some(Entry {
        more: more.map(|(name, _)| name.to_owned()).collect(),
        command: ours.get("command").and_then(Item::as_str).unwrap_or_default().to_owned(),
        args: ours
            .get("args")
            .and_then(Item::as_array)
            .map(|args| args.iter().map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned)).collect())
            .unwrap_or_default(),
    }))
}

/// Parses the whole file, as JSON.
pub(super) fn value_of(text: &str) -> Result<Value, Broken> {
    fn table(table: &dyn TableLike) -> Value {
        Value::Object(table.iter().map(|(name, item)| (name.to_owned(), json(item))).collect())
    }
    fn json(item: &Item) -> Value {
        match item {
            item if item.is_table_like() => item.as_table_like().map_or(Value::Null, table),
            Item::Value(toml_edit::Value::String(text)) => text.value().as_str().into(),
            Item::Value(toml_edit::Value::Boolean(is)) => (*is.value()).into(),
            Item::Value(toml_edit::Value::Integer(number)) => (*number.value()).into(),
            Item::Value(toml_edit::Value::Array(array)) => {
                array.iter().map(|value| json(&Item::Value(value.clone()))).collect()
            }
            other => other.to_string().trim().into(),
        }
    }
    Ok(table(parse(text)?.as_table()))
}

/// Sets the string or boolean at a path of keys, and creates missing tables on the path.
pub(super) fn set(text: &str, path: &[String], new: &Value) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let Some((last, way)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut is_new = false;
    for key in way {
        is_new = !table.contains_key(key);
        table = child(table, key)?;
    }
    table.insert(last, new.as_bool().map_or_else(|| value(new.as_str().unwrap_or_default()), value));
    if is_new {
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        let made = way.iter().try_fold(document.as_item_mut(), |item, key| item.get_mut(key));
        // Write the innermost table explicitly; its parents stay implicit.
        if let Some(Item::Table(made)) = made {
            made.set_implicit(false);
            if !text.trim().is_empty() {
                made.decor_mut().set_prefix("\n");
            }
        }
    }
    Ok(restore_newlines(text, document.to_string()))
}

/// Removes the value at a path of keys, and tables on the path that become empty.
pub(super) fn unset(text: &str, path: &[String]) -> Result<String, Broken> {
    let mut document = parse(text)?;
    for length in (1..=path.len()).rev() {
        let (last, way) = (&path[length - 1], &path[..length - 1]);
        let start: Option<&mut dyn TableLike> = Some(document.as_table_mut());
        let table = way.iter().fold(start, |table, key| table?.get_mut(key).and_then(Item::as_table_like_mut));
        let Some(table) = table else { continue };
        let is_empty = |item: &Item| item.as_table_like().is_some_and(|table| table.is_empty());
        if length < path.len() && !table.get(last).is_some_and(is_empty) {
            break;
        }
        table.remove(last);
    }
    Ok(restore_newlines(text, document.to_string()))
}

/// Returns the table of that name. Creates it if missing, as an implicit table.
fn child<'a>(table: &'a mut dyn TableLike, key: &str) -> Result<&'a mut dyn TableLike, Broken> {
    let child = table.entry(key).or_insert_with(|| {
        let mut made = Table::new();
        made.set_implicit(true);
        Item::Table(made)
    });
    child.as_table_like_mut().ok_or_else(|| Broken::Shape(key.to_owned()))
}

/// Separates a new table from the previous one by a blank line; toml_edit leaves that to the caller.
fn separate_by_blank_line(text: &str, item: Option<&mut Item>) {
    if let Some(table) = item.and_then(Item::as_table_mut)
        && !text.trim().is_empty()
    {
        table.decor_mut().set_prefix("\n");
    }
}

fn parse(text: &str) -> Result<DocumentMut, Broken> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Broken::at(text, error.span().map_or(0, |span| span.start), error.message())
    })
}

/// Restores "\r
/// ", which toml_edit replaces with "
/// ".
fn restore_newlines(before: &str, after: String) -> String {
    if before.contains("\r\n") { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after }
}
