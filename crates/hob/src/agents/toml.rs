//! A list of servers in TOML, edited in place so that comments, order and spacing stay.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::{Broken, Entry, HARMLESS, SERVER};

pub(super) fn add(text: &str, table: &str, entry: &Entry) -> Result<String, Broken> {
    let mut document = parse(text)?;
    let servers = document.entry(table).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| Broken::Shape(table.to_owned()))?;
    let mut ours = Table::new();
    ours.insert("command", value(&entry.command));
    ours.insert("args", value(entry.args.iter().collect::<Array>()));
    servers.insert(SERVER, Item::Table(ours));
    // A new table is written after the last one with a blank line between; toml_edit leaves that to its caller, and
    // it also writes "\n" where the file has "\r\n".
    if let Some(ours) = servers.get_mut(SERVER).and_then(Item::as_table_mut)
        && !text.trim().is_empty()
    {
        ours.decor_mut().set_prefix("\n");
    }
    Ok(restore_newlines(text, document.to_string()))
}

pub(super) fn remove(text: &str, table: &str) -> Result<String, Broken> {
    let mut document = parse(text)?;
    if let Some(servers) = servers_mut(&mut document, table) {
        servers.remove(SERVER);
    }
    if servers_mut(&mut document, table).is_some_and(|servers| servers.is_empty()) {
        document.remove(table);
    }
    Ok(restore_newlines(text, document.to_string()))
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

fn servers_mut<'a>(document: &'a mut DocumentMut, table: &str) -> Option<&'a mut dyn TableLike> {
    document.get_mut(table).and_then(Item::as_table_like_mut)
}

fn parse(text: &str) -> Result<DocumentMut, Broken> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Broken::at(text, error.span().map_or(0, |span| span.start), error.message())
    })
}

fn restore_newlines(before: &str, after: String) -> String {
    match before.contains("\r\n") {
        true => after.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => after,
    }
}
