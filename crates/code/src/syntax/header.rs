//! Whether a header that has no word of C++'s is C++ all the same: a struct in it has functions, which C does not know.

/// A part of the text: a word, or a byte that is none.
type Token<'a> = &'a [u8];

/// How far before its brace the head of a struct is looked for, in parts.
const MOST_OF_HEAD: usize = 24;

const TYPES: &[&[u8]] =
    &[b"void", b"char", b"short", b"int", b"long", b"float", b"double", b"signed", b"unsigned", b"bool", b"const"];

/// Whether a struct or union has a function with a body, one that is declared, or a constructor. Reads the text once.
pub(super) fn has_member_functions(text: &[u8]) -> bool {
    let tokens = tokens(text);
    // The open brackets: where, and of a struct its name.
    let mut open: Vec<(usize, Option<Token<'_>>)> = Vec::new();
    // The parentheses that stand directly in a struct, with its name.
    let mut member: Option<(usize, Token<'_>)> = None;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            b"{" => open.push((at, struct_before(&tokens[..at]))),
            b"(" | b"[" => {
                if let (b"(", Some((_, Some(name)))) = (*token, open.last()) {
                    member = Some((at, name));
                }
                open.push((at, None));
            }
            b"}" | b")" | b"]" => {
                let opened = open.pop().map(|(at, _)| at);
                let closed = member.take_if(|(begin, _)| Some(*begin) == opened);
                if closed.is_some_and(|(begin, name)| is_function(&tokens, begin..at, name)) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The name of the struct or union whose brace follows; empty where it has none.
fn struct_before<'a>(tokens: &[Token<'a>]) -> Option<Token<'a>> {
    let head = &tokens[tokens.len().saturating_sub(MOST_OF_HEAD)..];
    let from = head.iter().rposition(|token| matches!(*token, b"struct" | b"union"))?;
    let mut name: Token<'a> = b"";
    let mut depth = 0usize;
    for (at, token) in head.iter().enumerate().skip(from + 1) {
        match *token {
            // Only attributes have arguments there: a function that gives a struct has them, too.
            b"(" if depth > 0 || head[at - 1].starts_with(b"__") => depth += 1,
            b")" => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            word if is_word(word) => name = word,
            _ => return None,
        }
    }
    Some(if name.starts_with(b"__") { b"" } else { name })
}

/// Whether a member of a struct is a function by what stands around its parentheses.
fn is_function(tokens: &[Token<'_>], parentheses: std::ops::Range<usize>, of: Token<'_>) -> bool {
    let before = |back: usize| parentheses.start.checked_sub(back).map_or(&b""[..], |at| tokens[at]);
    let (name, last) = (before(1), before(2));
    // `__attribute__((packed))`, `GUARDED_BY(lock)`, `unsigned (*f)(int)`.
    let is_name = is_word(name)
        && !name.starts_with(b"__")
        && name.iter().any(u8::is_ascii_lowercase)
        && !TYPES.contains(&name)
        && !matches!(name, b"sizeof" | b"typeof" | b"struct" | b"union" | b"enum" | b"_Alignas" | b"_Static_assert");
    if !is_name {
        return false;
    }
    let within = &tokens[parentheses.start + 1..parentheses.end];
    let is_made = name == of && matches!(last, b"{" | b"}" | b";" | b"~");
    let is_typed = matches!(last, b"*" | b"&")
        || is_word(last) && !matches!(last, b"struct" | b"union" | b"enum" | b"typeof" | b"return");
    // `aligned(8)`, `counted_by(len)` and the like stand behind a member.
    let has_parameters = match *within {
        [] => true,
        [one] => TYPES.contains(&one),
        [b"*" | b"^", ..] => false,
        [first, second, ..] => is_word(first) && (is_word(second) || matches!(second, b"*" | b"&" | b"," | b"<")),
    };
    match tokens.get(parentheses.end + 1) {
        Some(&b"{") => is_made || is_typed,
        Some(&(b";" | b"const" | b"noexcept" | b"override")) => (is_made || is_typed) && has_parameters,
        _ => false,
    }
}

fn is_word(token: Token<'_>) -> bool {
    token.first().is_some_and(|first| super::is_word(*first) && !first.is_ascii_digit())
}

/// The words of a text and what stands between them, without comments, texts and the lines of the preprocessor.
fn tokens(text: &[u8]) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut is_first = true;
    let after = |rest: &[u8], end: &[u8]| memchr::memmem::find(rest, end).map_or(rest.len(), |at| at + end.len());
    while let Some(byte) = rest.first() {
        let taken = match byte {
            b'\n' => {
                is_first = true;
                1
            }
            byte if byte.is_ascii_whitespace() => 1,
            b'/' if rest.starts_with(b"//") => after(rest, b"\n") - 1,
            b'/' if rest.starts_with(b"/*") => 2 + after(&rest[2..], b"*/"),
            b'#' if is_first => line(rest),
            b'"' | b'\'' => quoted(rest),
            _ => {
                let word = rest.iter().take_while(|byte| super::is_word(**byte)).count().max(1);
                tokens.push(&rest[..word]);
                is_first = false;
                word
            }
        };
        rest = rest.get(taken.max(1)..).unwrap_or_default();
    }
    tokens
}

/// How long a line of the preprocessor is: it may go on.
fn line(text: &[u8]) -> usize {
    let mut ends = memchr::memchr_iter(b'\n', text);
    let is_end = |at: &usize| {
        let line = &text[..*at];
        !line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\")
    };
    ends.find(is_end).unwrap_or(text.len())
}

/// How long a text in quotes is, at most to the end of its line.
fn quoted(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            byte if *byte == text[0] => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_with_functions() {
        for text in [
            "struct Pts { int *begin() { return 0; } };",
            "struct Pts { int x; int size() const; };",
            "struct Pts {\n  int f(int x, char *y);\n};",
            "struct Pts { Pts() {} };",
            "struct Pts { ~Pts(); };",
            "struct __attribute__((packed)) Pts { int x; bool is(void); };",
            "union U { int x; int get() { return x; } };",
            "struct A { struct B { int x; } b; int get(const struct B *b) const { return 1; } };",
            "typedef struct { int x; A &get(int) noexcept { return *this; } } Named;",
        ] {
            assert!(has_member_functions(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn structs_of_c() {
        for text in [
            "struct A { int (*f)(int); void *(*g)(void *, int); unsigned int (*h)(void); };",
            "struct A { unsigned int (*f); const char *(*get)(void); };",
            "struct A { int x; } __attribute__((packed));",
            "struct __attribute__((packed)) A { int x __attribute__((aligned(8))); };",
            "struct A { struct __attribute__((packed)) { int x; } y; struct __packed { int z; }; };",
            "struct A { int x GUARDED_BY(lock); int y aligned(8); int z counted_by(len); };",
            "struct A { int x; } f(int x) { return g(x); }",
            "struct A f(int x) { int y(void); return g(x); }",
            "struct A make(struct B b) { return (struct A){ f(1), { g(2) } }; }",
            "struct A a = { f(1), .x = g(2), { h(3) } };\nstatic struct A all[] = { { f(1) } };",
            "struct A { int x : f(3), y[sizeof(int)]; DECLARE_BITMAP(map, 3); LIST_ENTRY(A) next; };",
            "struct A { _Alignas(8) int x; _Static_assert(sizeof(int) == 4, \"{\"); };",
            "struct A {\n#define F(x) int f(int x) \\\n  { return x; }\n  int y; /* int f() {} */ // int f() {}\n};",
            "#define S struct A {\nint f(int x) { return x; }\n",
            "int f(struct A *a) { if (a) { g(a); } else { int h(); } }",
            "struct A;\nint f() { return 1; }\n",
            "struct A { int x; };\nstatic inline int f(struct A a) { return g(a.x); }\n",
            "struct A { enum { ONE, TWO } k; union { int x; char y; } u; typeof(int) z; };",
        ] {
            assert!(!has_member_functions(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_made_to_be_slow_takes_no_longer() {
        let begun = std::time::Instant::now();
        for part in ["struct {", "struct a(", "(", "struct A { f", "/*", "#\\\n", "'", "{ int f("] {
            assert!(!has_member_functions(part.repeat(2_000_000 / part.len()).as_bytes()), "{part}");
        }
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}
