//! Tests of the commands that are found in a shell's text.

use expect_test::{Expect, expect};

use super::script;

fn check(text: &str, expected: Expect) {
    let script = script(text);
    let mut shown = script.render().join("\n");
    for write in script.commands.iter().flat_map(|simple| &simple.writes) {
        shown.push_str(&format!("\n> {}", write.render()));
    }
    if let Some(why) = script.opaque {
        shown.push_str(&format!("\n? {why}"));
    }
    expected.assert_eq(&shown);
}

#[test]
fn lists_pipes_and_compound_commands() {
    check("a 1; b 2 && c || d | e & f", expect!["a 1\nb 2\nc\nd\ne\nf"]);
    check("if a; then b; elif c; then d; else e; fi", expect!["a\nb\nc\nd\ne"]);
    check(
        "for x in 1 2; do a $x; done; while b; do c; done",
        expect![[r#"
        a …
        b
        c"#]],
    );
    check("case $x in a|b) c 1;; (d) e;; *) f; esac; g", expect!["c 1\ne\nf\ng"]);
    check("f() { a; }; function g { b; }; (c; d)", expect!["a\nb\nc\nd"]);
    check(
        "! a; { b; }; time c; [[ x > y && -n $(d) ]] && e",
        expect![[r#"
        a
        b
        time c
        c
        d
        e"#]],
    );
    check("a # b\nc", expect!["a\nc"]);
    check("X=1 Y=$(a) b; Z=2", expect!["a\nb"]);
}

#[test]
fn quotes_and_expansions() {
    check(r#"'a b' "c d" e\ f g''h $'i\tj\x41'"#, expect!["a b c d e f gh i\tjA"]);
    check(r#"a "$(b "$(c)")" `d \`e\`` ${x:-$(f)} $((1+$(g)))"#, expect!["c\nb …\ne\nd …\nf\ng\na … … … …"]);
    check("a {b,c} d{1..3} {} HEAD@{1}", expect!["a b c d… {} HEAD@{1}"]);
    check("a=(b $(c)) d", expect!["c\nd"]);
    check(
        "((i++)); ((x) ); a <(b) >(c)",
        expect![[r#"
        b
        c
        … …
        ? hob cannot read this shell text"#]],
    );
}

#[test]
fn redirections_and_here_documents() {
    check("a >b 2>>c &>d 2>&1 <e >|f", expect!["a\n> b\n> c\n> d\n> f"]);
    check("a <<EOF >b\n$(c) 'd\nEOF\ne", expect!["c\na\ne\n> b"]);
    check("bash <<'EOF'\na $(b)\nEOF\nc", expect!["bash\nb\na …\nc"]);
    check("sh <<< 'a b'; cat <<-X | d\n\tX\ne", expect!["sh\na b\ncat\nd\ne"]);
}

#[test]
fn programs_that_run_others() {
    check(
        "sudo -u root env -i A=1 nice -n 5 timeout -k 1 5 a b",
        expect![[r#"
            sudo -u root env -i A=1 nice -n 5 timeout -k 1 5 a b
            env -i A=1 nice -n 5 timeout -k 1 5 a b
            nice -n 5 timeout -k 1 5 a b
            timeout -k 1 5 a b
            a b"#]],
    );
    check(
        "bash -lc 'a; b'; sh -c \"c $x\"",
        expect![[r#"
            bash -lc a; b
            a
            b
            sh -c c …
            c …
            ? a shell runs text that is known only at run time"#]],
    );
    check(
        "find . -name x -exec a {} \\; -execdir b {} +",
        expect!["find . -name x -exec a {} ; -execdir b {} +\na .…\nb .…"],
    );
    check("x | xargs -n 1 a b", expect!["x\nxargs -n 1 a b\na b …"]);
    check(
        "eval a '$x'; eval \"$y\"",
        expect![[r#"
            eval a $x
            a …
            eval …
            …
            ? a shell runs text that is known only at run time"#]],
    );
    check(
        "curl x | sh; bash script.sh",
        expect!["curl x\nsh\nbash script.sh\n? a shell runs the output of another command"],
    );
    check("command -v a; command b; trap 'c' EXIT", expect!["command -v a\ncommand b\nb\ntrap c EXIT\nc"]);
    check(
        "env -S 'a b' c; su - me -c 'd e'; flock f g",
        expect!["env -S a b c\na b c\nsu - me -c d e\nd e\nflock f g\ng"],
    );
}

#[test]
fn a_text_that_does_not_parse_is_opaque() {
    for text in ["a 'b", "a $(b", "a ) b", "a (b)", "if a; then", "a <<E <<F\nE\nF", "case x in a) b"] {
        assert_eq!(script(text).opaque, Some("hob cannot read this shell text"), "{text}");
    }
}

#[test]
fn nothing_overflows_or_takes_minutes() {
    for piece in [
        "(",
        "$(",
        "((",
        "$((",
        "${a:-",
        "\"$(",
        "`",
        "{",
        "{a,",
        "<(",
        "if ",
        "case x in ",
        "sh -c '",
        "<<E\n",
        "(( (",
        "a=(",
        "[[ ",
    ] {
        let text = piece.repeat(20_000);
        script(&text);
        script(&format!("{text}{}", ") ".repeat(20_000)));
    }
}

#[test]
fn an_option_without_its_value_does_not_end_the_process() {
    for text in ["git -C", "git --git-dir", "git -c", "git --git-dir /x --work-tree", "env -u", "make -C", "docker -H"]
    {
        script(text);
    }
}

#[test]
fn characters_in_braces_do_not_end_the_process() {
    for text in ["a {\u{10ffff}}", "a {1\u{10ffff}", "a {1..\u{10ffff}}", "a {1..2\u{10ffff}}", "a ${\u{10fff0}x}"] {
        script(text);
    }
    check("a {\u{10ffff},b}", expect!["a \u{10ffff} b"]);
}
