//! The guides of the documentation, each with the setup that its commands need.

use serde_json::json;
use testkit::guide::Page;
use testkit::{TestProject, has_program, has_version};

use crate::fresh;

/// Writes the blocks of a language into files, in their order.
fn write_blocks(project: &TestProject, text: &str, language: &str, files: &[&str]) {
    let kind = format!("{language}\n");
    let blocks = text.split("\n```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(&kind));
    for (file, block) in files.iter().zip(blocks) {
        project.write(file, &format!("{block}\n"));
    }
}

#[test]
fn questions() {
    let page = Page {
        text: include_str!("../../../../docs/guide/ask.md"),
        skip: &[
            "hob questions --watch",
            "hob answer q_7k2mx --choose",
            "hob ask confirm 'Deploy to production?' && ./deploy",
        ],
        before: &[
            ("hob questions", "hob ask confirm 'Deploy to production?' --wait 0 || test $? = 6"),
            ("hob ask wait \"$id\"", "hob answer \"$id\" --yes --note 'keep the tag'"),
        ],
        instead: &[
            (
                "id=",
                "id=$(hob ask confirm 'Deploy to production?' --wait 0 --json | grep -o 'q_[a-z0-9]*' | head -n 1)",
            ),
            ("hob ask wait \"$id\"", "hob ask wait \"$id\""),
        ],
    };
    page.follow(fresh(), "true");
}

#[test]
fn cure() {
    let text = include_str!("../../../../docs/guide/cure.md");
    let page = Page { text, skip: &["hob cure check shapes.cure", "hob mcp cure"], ..Page::default() };
    let project = fresh();
    write_blocks(&project, text, "cure", &["shapes.cure", "lamp.cure"]);
    page.follow(project, "true");
}

#[test]
fn work() {
    let page = Page {
        text: include_str!("../../../../docs/guide/work.md"),
        skip: &["gh auth login"],
        before: &[
            ("hob work", "git checkout -q -b gh-12/parser 2>/dev/null; echo 2 > a; mkdir -p nodes; touch nodes/one"),
            ("hob work --all", "git worktree add -q ../review"),
            (
                "hob brief",
                "hob quickstart --name planner --role lead; (cd ../review; hob quickstart --name review2 --role dev; \
                 hob send --to planner hi); for title in 'Deploy to production?' 'Which store?'; do hob ask confirm \"$title\" --wait 0; done; true",
            ),
            ("hob brief --end", "hob inbox --take"),
        ],
        ..Page::default()
    };
    page.follow(fresh(), "echo 1 > a");
}

#[test]
fn walks_over_code() {
    if !has_program("tsc") || !has_program("node") {
        return;
    }
    let text = include_str!("../../../../docs/guide/explore.md");
    let page = Page {
        text,
        // Each run has another name, and a model ranks none here.
        skip: &["hob scout 'What breaks if I add a variant to Shape?' --record"],
        before: &[("hob scout --diff", "sed -i 's/radius .. 2/radius * shape.radius/' src/geo.ts")],
        ..Page::default()
    };
    let project = fresh();
    project.write("package.json", r#"{"name": "shapes", "type": "module", "devDependencies": {"vitest": "^2"}}"#);
    let options = json!({"strict": true, "target": "es2022", "module": "nodenext"});
    project.write("tsconfig.json", &json!({"compilerOptions": options, "include": ["src"]}).to_string());
    project.write("README.md", "# Shapes\n\nA `Shape` is a circle or a square.\n");
    let test = "import { expect, test } from \"vitest\";\nimport { total, unit } from \"./total.js\";\n\n\
                test(\"the total of one\", () => { expect(total([unit()])).toBe(1); });\n";
    project.write("src/total.test.ts", test);
    write_blocks(&project, text, "ts", &["src/geo.ts", "src/total.ts"]);
    page.follow(project, "true");
}

#[test]
fn mail() {
    let page = Page {
        text: include_str!("../../../../docs/guide/mail.md"),
        skip: &[
            "$ hob send 'The parser is ready.' --to reviewer --priority high",
            "sudo -u postgres",
            "hob init\nhob status --json",
            "hob import thrum",
        ],
        before: &[(
            "hob inbox --take",
            "(cd ../project; hob send 'The parser is ready.' --to reviewer --priority high); hob wait",
        )],
        ..Page::default()
    };
    page.follow(fresh(), "true");
}

#[test]
fn nodes() {
    let page = Page {
        text: include_str!("../../../../docs/guide/nodes.md"),
        skip: &["hob node record"],
        before: &[
            ("hob node check", "sed -i 's/{{ text/{{ txt/' nodes/summarize.node.md"),
            ("hob node usage", "sed -i 's/{{ txt/{{ text/' nodes/summarize.node.md"),
        ],
        ..Page::default()
    };
    page.follow(fresh(), "true");
}

#[test]
fn repls() {
    if !has_program("python3") || !has_version("ghci", "9.0") {
        return;
    }
    let text = include_str!("../../../../docs/guide/repl.md");
    let page = Page {
        text,
        skip: &["hob call repl_start --session app", "$ hob call repl_start --session pager"],
        before: &[
            ("hob call repl_reload", "test ! -e Area.hs || sed -i 's/pi . x/pi * r/' Area.hs"),
            (
                "hob call repl_reload --targets",
                "mkdir ../area; cd ../area; git init -q .; hob eval --profile ghci 1; \
                 printf 'module Area where\\narea :: Double -> Double\\narea r = pi * x * r\\n' > Area.hs",
            ),
            ("hob trust", "cp ../project/wide.toml hob.toml"),
        ],
        ..Page::default()
    };
    let project = fresh();
    write_blocks(&project, text, "toml", &["wide.toml"]);
    let files = "mkdir src; echo > src/shop.py; echo '[project]' > pyproject.toml; echo 'x = 1' > setup.py; echo line > lines.txt";
    page.follow(project, files);
}

#[test]
fn hooks() {
    let text = include_str!("../../../../docs/guide/hooks.md");
    let page = Page {
        text,
        before: &[
            ("hob hooks install", "mkdir ~/.claude; cat [1-4].toml > hob-policy.toml"),
            ("hob policy check", "test ! -e next.toml || cat 1.toml 3.toml 4.toml > hob-policy.toml"),
            ("hob hooks log", "hob hook PreToolUse --agent claude < cat.json | tee answer.json; grep deny answer.json"),
            ("hob policy explain", "sed 's/Bash/Read/; s/\"command\":\"cat /\"file_path\":\"/' cat.json > event.json"),
            ("hob policy try", "cp hob-policy.toml next.toml"),
        ],
        ..Page::default()
    };
    let project = fresh();
    write_blocks(&project, text, "toml", &["1.toml", "2.toml", "3.toml", "4.toml", "tests.toml"]);
    project.write("hob-policy.toml", &project.read("1.toml"));
    let event = json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": project.root(),
                       "permission_mode": "default", "tool_input": {"command": "cat .env"}});
    project.write("cat.json", &event.to_string());
    page.follow(project, "true");
}

#[test]
fn start() {
    if !has_program("python3") || !has_version("ghci", "9.0") {
        return;
    }
    let page = Page {
        text: include_str!("../../../../docs/start.md"),
        // `hob init` and `hob doctor` depend on the terminal, and on the programs of this machine.
        skip: &["$ hob init", "$ hob doctor"],
        before: &[("mkdir shop", "cd .."), ("git add hob.toml", "hob init --agent claude")],
        // The page shows what a person sees at a terminal.
        instead: &[("hob inbox", "NO_COLOR=1 script -qec 'hob inbox --take' /dev/null | tr -d '\\r'")],
    };
    page.follow(fresh(), "true");
}
