//! Inline object types in TypeScript: their members belong to them alone.

use expect_test::expect;

use crate::projects;

#[test]
fn members_of_a_type_within_another() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "config.ts",
        "interface Config {\n  server: { host: string; port: number };\n  host: string;\n}\n\
         class Failed { constructor(readonly status: number) {}\n  json(): { status: number; text: string } { throw this; }\n}\n\
         function shown(config: Config, failed: Failed) {\n  config.host;\n  config.server.host;\n  failed.status;\n\
         \x20 failed.json().status;\n}\n\
         const made: Config = { server: { host: 'a', port: 1 }, host: 'b' };\n",
    );
    let said = ["Config.host", "Config.server.host", "Failed.status"].map(|name| judged.verdicts("find_uses", name));
    expect![[r#"
        Config.host final
          config.ts:2 binding refuted -
          config.ts:9 field_read confirmed config.ts:3
          config.ts:10 field_read refuted -
          config.ts:14 field_write refuted -
          config.ts:14 field_write confirmed config.ts:3
        Config.server.host final
          config.ts:3 binding refuted -
          config.ts:9 field_read refuted -
          config.ts:10 field_read confirmed config.ts:2
          config.ts:14 field_write confirmed config.ts:2
          config.ts:14 field_write refuted -
        Failed.status final
          config.ts:6 binding refuted -
          config.ts:11 field_read confirmed config.ts:5
          config.ts:12 field_read refuted -
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn what_only_a_class_itself_has() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "users.ts",
        "interface Options { limit?: number; log?: number }\n\
         class Users { constructor(private readonly log: number) {} go() { return this.log; } }\n\
         function one(options: Options) { return options.log; }\n",
    );
    let Some(script) = projects::javascript() else { return };
    script.write(
        "client.js",
        "class Client {\n  #count = 0;\n  #load() { this.#count++; }\n  get count() { return this.#count; }\n\
         \x20 load() { this.#load(); }\n}\nnew Client().count;\n",
    );
    let said = [
        judged.verdicts("find_uses", "Users.log"),
        script.verdicts("find_uses", "Client.#count"),
        script.verdicts("find_uses", "#load"),
        script.verdicts("find_uses", "Client.count"),
    ];
    expect![[r#"
        Users.log final
          users.ts:1 binding refuted -
          users.ts:2 field_read confirmed users.ts:2
          users.ts:3 field_read refuted -
        Client.#count final
          client.js:3 field_write confirmed client.js:2
          client.js:4 field_read confirmed client.js:2
        #load final
          client.js:5 call confirmed client.js:3
        Client.count final
          client.js:7 value confirmed client.js:4
    "#]]
    .assert_eq(&said.concat());
}

#[test]
fn what_a_class_may_be_given_for() {
    let Some(judged) = projects::typescript() else { return };
    judged.write(
        "parser.ts",
        "interface Tool { parse(text: string): string; label: string }\n\
         class Json {\n  skip(c: string) { if (c === '{') { this.label = ': {'; } }\n  parse(text: string) { return text; }\n\
         \x20 label = 'json';\n}\nfunction run(tool: Tool) { return tool.parse('x'); }\nrun(new Json());\n\
         class Repo { constructor(private opts: { table: string }) {}\n  table() { return this.opts.table; }\n}\n",
    );
    let said = [judged.verdicts("find_callers", "Json.parse"), judged.verdicts("find_uses", "Repo.table")];
    expect![[r#"
        Json.parse open
          parser.ts:7 call undecided -
        Repo.table final
          parser.ts:9 binding refuted -
          parser.ts:10 value refuted -
    "#]]
    .assert_eq(&said.concat());
}
