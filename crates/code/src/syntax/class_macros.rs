//! Macros of C and C++ that the grammars take for something else: one between the word that begins a class and its name (`class API
//! Widget {`), where also attributes of compilers stand (`struct __attribute__((packed)) Pack {`), and one that is alone on its line
//! (`G_BEGIN_DECLS`), one behind the parameters of a function (`int log(const char *, ...) PRINTF_LIKE(1, 2);`), and the word before
//! a call by which Qt marks it (`emit changed(0)`).

use std::ops::Range;

use memchr::memmem;

use super::rules::{is_word, last_word, unclosed};

/// How long the head of a class may be, in bytes, as far as it is looked at.
const LONGEST: usize = 1_000;

/// The text as the grammars read it, without those. What stands elsewhere stays where it is. `None` if nothing changes.
pub(super) fn respaced(text: &[u8]) -> Option<Vec<u8>> {
    let mut respaced: Option<Vec<u8>> = None;
    for word in [&b"class"[..], b"struct", b"union", b"enum"] {
        for at in memmem::find_iter(text, word) {
            let end = at + word.len();
            let is_begin = text[..at].last().is_none_or(|byte| !is_word(*byte));
            if is_begin && let Some(between) = before_name(text, end, word == b"class") {
                let changed = respaced.get_or_insert_with(|| text.to_vec());
                changed[between].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            }
        }
    }
    for place in alone(text).into_iter().chain(marks(text)).chain(behind_parameters(text)) {
        let changed = respaced.get_or_insert_with(|| text.to_vec());
        changed[place].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    for end in unended(text) {
        respaced.get_or_insert_with(|| text.to_vec())[end] = b';';
    }
    respaced
}

/// The words by which Qt marks a call: `emit changed(0);`.
fn marks(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for word in [&b"emit"[..], b"Q_EMIT"] {
        found.extend(memmem::find_iter(text, word).map(|at| at..at + word.len()).filter(|place| {
            let before = text[..place.start].trim_ascii_end();
            let begins = before.last().is_none_or(|byte| b";{})".contains(byte)) || before.ends_with(b"else");
            let is_apart = text[..place.start].last().is_none_or(|byte| !is_word(*byte));
            let next = blank(text, place.end);
            begins && is_apart && next > place.end && text.get(next).is_some_and(|byte| is_word(*byte))
        }));
    }
    found
}

/// The macros behind the parameters of functions that are declared, with their arguments.
fn behind_parameters(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for at in memmem::find_iter(text, b")") {
        let start = blank(text, at + 1);
        let mut end = start;
        let mut next = start;
        loop {
            let word = word_end(text, next);
            if word == next || !is_macro(&text[next..word]) {
                break;
            }
            let open = blank(text, word);
            end = match text.get(open) {
                Some(b'(') => match closed(&text[..text.len().min(open + LONGEST)], open) {
                    Some(end) => end,
                    None => break,
                },
                _ => word,
            };
            next = blank(text, end);
        }
        let ends = text.get(next).is_some_and(|byte| b";{".contains(byte));
        if end > start && ends && declares_function(text, at) {
            found.push(start..end);
        }
    }
    found
}

/// Whether the parenthesis that closes at a place holds the parameters of a function that is declared there: `int log(int level)`.
fn declares_function(text: &[u8], close: usize) -> bool {
    let from = close.saturating_sub(LONGEST);
    let Some(open) = unclosed(&text[from..close], b'(') else { return false };
    let before = text[..from + open].trim_ascii_end();
    let name = last_word(before);
    let line = before[..before.len() - name.len()].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let typed = before[..before.len() - name.len()].trim_ascii_end();
    let of = typed.last().copied().unwrap_or_default();
    // The type may stand on the line before, where a comment or a directive is none.
    let above = typed.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let is_comment =
        [&b"//"[..], b"*", b"/*", b"#"].iter().any(|sign| above.starts_with(sign)) || above.ends_with(b"*/");
    if line.trim_ascii().is_empty() && is_comment || is_macro(name) {
        return false;
    }
    let statements = [&b"return"[..], b"else", b"do", b"case", b"goto", b"throw", b"new", b"delete", b"co_return"];
    let is_branch = [&b"if"[..], b"while", b"for", b"switch", b"catch"].contains(&name) || statements.contains(&name);
    !name.is_empty() && !is_branch && (is_word(of) || b"*&>".contains(&of)) && !statements.contains(&last_word(typed))
}

/// The ends of lines that are nothing but a macro with arguments and no semicolon, in the body of a class, or outside of anything:
/// `NO_COPY(Item)`. A semicolon there ends them.
fn unended(text: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut last, mut start) = (b';', 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.trim_ascii();
        let end = start + line.len();
        let name = bare.iter().take_while(|byte| is_word(**byte)).count();
        let is_one = bare.get(name) == Some(&b'(')
            && is_macro(&bare[..name])
            && closed(bare, name) == Some(bare.len())
            && line.ends_with(b"\n");
        let next = &text[blank(text, end)..];
        let is_in_class = [&b"public"[..], b"private", b"protected", b"signals", b"explicit", b"virtual"];
        let is_in_class = matches!(last, b'{' | b';' | b':') && is_in_class.iter().any(|word| next.starts_with(word));
        let is_outside = !line[0].is_ascii_whitespace() && matches!(last, b';' | b'}') && begins_declaration(next);
        if is_one && (is_in_class || is_outside) {
            found.push(end - 1);
            last = b';';
        } else if bare.starts_with(b"#") && !bare.ends_with(b"\\") {
            last = b';';
        } else if !bare.is_empty() {
            last = bare[bare.len() - 1];
        }
        start = end;
    }
    found
}

/// Whether a declaration begins a text: a word and a name, or another such macro. What is called there has its type by the line
/// before: `EXPORT(int)`, `area(void) {`.
fn begins_declaration(text: &[u8]) -> bool {
    let word = word_end(text, 0);
    let next = text.get(blank(text, word));
    word > 0
        && (next.is_some_and(|byte| is_word(*byte) || b"*&".contains(byte))
            || next == Some(&b'(') && is_macro(&text[..word]))
}

/// The macros that are alone on their lines, between declarations. The last value of an enumeration is none of them.
fn alone(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // What the last line with something in it ends with, and whether that was a directive or a comment.
    let (mut last, mut is_apart) = (b';', true);
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.trim_ascii();
        let end = start + line.len();
        if !bare.is_empty() {
            let is_word = bare.iter().all(|byte| is_word(*byte)) && is_macro(bare);
            let next = text.get(blank(text, end));
            let is_before = match next {
                Some(b'#') => matches!(last, b';' | b'}') && !is_apart,
                next => next.is_none_or(|next| super::is_word(*next)),
            };
            if is_word && is_before && (is_apart || matches!(last, b';' | b'}')) {
                let indent = line.len() - line.trim_ascii_start().len();
                found.push(start + indent..start + indent + bare.len());
            } else {
                is_apart = bare.starts_with(b"#") && !bare.ends_with(b"\\")
                    || bare.starts_with(b"//")
                    || bare.ends_with(b"*/");
                last = bare[bare.len() - 1];
            }
        }
        start = end;
    }
    found
}

/// What stands between the word that ends there and the name.
fn before_name(text: &[u8], after: usize, is_class: bool) -> Option<Range<usize>> {
    let text = &text[..text.len().min(after + LONGEST)];
    let start = blank(text, after);
    let mut at = start;
    loop {
        let end = word_end(text, at);
        let word = &text[at..end];
        let next = blank(text, end);
        let is_attribute = matches!(word, b"__attribute__" | b"__attribute" | b"__declspec");
        if !is_attribute && !is_macro(word) {
            break;
        }
        let next = if text.get(next) == Some(&b'(') { blank(text, closed(text, next)?) } else { next };
        // What a class is named comes last: `struct STAT {`, `class URL final {`.
        let following = &text[next..word_end(text, next)];
        if following.is_empty() || following == b"final" {
            break;
        }
        at = next;
    }
    let end = word_end(text, at);
    let rest = &text[blank(text, end)..];
    // `enum KIND kind : 4;` is a bit field.
    let has_body = || rest.iter().find(|byte| b"{;".contains(byte)) == Some(&b'{');
    let is_head = rest.starts_with(b"{") || rest.starts_with(b":") && !rest.starts_with(b"::") && has_body();
    let is_head = is_head || rest.starts_with(b"final") || is_class && rest.starts_with(b";");
    (start > after && at > start && end > at && is_head).then_some(start..at)
}

/// Whether a word is written as macros are that export a class: `GEO_API`, `geo_EXPORT`.
fn is_macro(word: &[u8]) -> bool {
    let is_loud = word.iter().any(u8::is_ascii_uppercase) && !word.iter().any(u8::is_ascii_lowercase);
    word.len() > 1 && is_loud || [&b"_API"[..], b"_EXPORT", b"_PUBLIC"].iter().any(|end| word.ends_with(end))
}

fn blank(text: &[u8], at: usize) -> usize {
    at + text[at.min(text.len())..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn word_end(text: &[u8], at: usize) -> usize {
    at + text[at.min(text.len())..].iter().take_while(|byte| is_word(**byte)).count()
}

/// The end of what the parenthesis at a place opens.
fn closed(text: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let end = text[open..].iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(open + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_before_the_name_of_a_class() {
        let check = |text: &str, wanted: Option<&str>| {
            let read = respaced(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
            let read = read.map(|read| read.split_whitespace().collect::<Vec<_>>().join(" "));
            assert_eq!(read.as_deref(), wanted, "{text}");
        };
        check("class API Widget : Base {};", Some("class Widget : Base {};"));
        check("class API Widget;", Some("class Widget;"));
        check("class geo_EXPORT Widget final {};", Some("class Widget final {};"));
        check("struct __attribute__((packed)) Pack { int p; };", Some("struct Pack { int p; };"));
        check("struct ALIGN(16) API\nPack {", Some("struct Pack {"));
        check("enum class API Kind { A };", Some("enum class Kind { A };"));
        check("struct STAT stat;", None);
        check("struct STAT { int a; };", None);
        check("struct STAT stat(int a) {}", None);
        check("class Widget {};", None);
        check("template <class T> class API::Widget {};", None);
        check("subclass API Widget {};", None);
        check("class API", None);
        check("class URL final : public Base {};", None);
        check("struct node { enum TYPE type : 8; unsigned len : 24; };", None);
        check(
            "#include <a.h>\nG_BEGIN_DECLS\n\nstruct hdr { int a; };\nG_END_DECLS\n",
            Some("#include <a.h> struct hdr { int a; };"),
        );
        check("int a;\n  Q_OBJECT\n  int b;", Some("int a; int b;"));
        check("enum Kind {\n  RED,\n  GREEN\n};", None);
        check("enum Kind {\n#ifdef X\n  RED\n#endif\n};", None);
        check("x = A |\n  FLAG\n  ;", None);
        check(
            "void f() { emit changed(0); if (a) Q_EMIT moved(1); }",
            Some("void f() { changed(0); if (a) moved(1); }"),
        );
        check("int emit = 1; emit(2);", None);
        check("class A {\n  NO_COPY(A)\npublic:\n};", Some("class A { NO_COPY(A);public: };"));
        check("void f() {\n  CHECK(a)\n  b();\n}", None);
        check("int log(const char *f, ...) LIKE(1, 2) WUR;\n", Some("int log(const char *f, ...) ;"));
        check("buf_t *make(void) NOTHROW\n  ALLOC(1);\n", Some("buf_t *make(void) ;"));
        check("void f() { if (a) CHECK(b); else if (a) LOG(b); x = g(a) PLUS(b); return g(a) PLUS(b); }", None);
        check("  // all of it\n  return (int) MAX(a, b);\n#endif\n  FOREACH(p, l) FREE(p);\n", None);
        check("  // all of it\n  each(p, l) FREE(p);\n", None);
        check("int\nlog (int a) LIKE(1, 2);\n", Some("int log (int a) ;"));
        check(
            "GETTER(struct peer, port)\nGETTER(struct peer, fd)\nstatic int a;\n",
            Some("GETTER(struct peer, port);GETTER(struct peer, fd);static int a;"),
        );
        check("EXPORT(int)\narea(void) {}\n", None);
        check("int a;\nTEST(Account, Deposits)\n{\n}\n", None);
    }
}
