-- The tables of version 1, as they were made, with some mail in them.
CREATE TABLE space (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE agent (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES space,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    module TEXT NOT NULL DEFAULT '',
    intent TEXT NOT NULL DEFAULT '',
    branch TEXT NOT NULL DEFAULT '',
    alias TEXT,
    registered_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    host TEXT,
    worktree TEXT,
    fence INTEGER NOT NULL,
    UNIQUE (space, name)
);
CREATE INDEX agent_role ON agent (space, role);
CREATE UNIQUE INDEX agent_alias ON agent (space, alias) WHERE alias IS NOT NULL;

-- One small row a mailbox, apart from its agent since every message changes it. free0 to free3 count what could be
-- handed out, by priority; leased what is in hand; bytes what both take.
CREATE TABLE mailbox (
    agent INTEGER PRIMARY KEY REFERENCES agent,
    seq INTEGER NOT NULL,
    tip INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    free0 INTEGER NOT NULL,
    free1 INTEGER NOT NULL,
    free2 INTEGER NOT NULL,
    free3 INTEGER NOT NULL,
    leased INTEGER NOT NULL
);

CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES space,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    UNIQUE (space, name)
);
CREATE TABLE member (
    grouping INTEGER NOT NULL REFERENCES groups,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (grouping, kind, name)
) WITHOUT ROWID;

CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    public TEXT NOT NULL UNIQUE,
    space INTEGER NOT NULL REFERENCES space,
    kind INTEGER NOT NULL,
    sender TEXT NOT NULL,
    addresses TEXT NOT NULL,
    content TEXT NOT NULL,
    priority INTEGER NOT NULL,
    at INTEGER NOT NULL,
    thread TEXT NOT NULL,
    reply_to TEXT,
    metadata TEXT NOT NULL,
    key TEXT,
    hash BLOB
);
CREATE INDEX message_thread ON message (thread);
CREATE UNIQUE INDEX message_key ON message (space, sender, key) WHERE key IS NOT NULL;

-- A message's place in a mailbox. state: 0 stored, 1 hinted, 2 fetched, 3 read, 4 acked, 5 rejected, 6 dead.
CREATE TABLE delivery (
    agent INTEGER NOT NULL REFERENCES agent,
    seq INTEGER NOT NULL,
    message INTEGER NOT NULL REFERENCES message,
    priority INTEGER NOT NULL,
    at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    session TEXT,
    token INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    hinted_at INTEGER,
    fetched_at INTEGER,
    fetched_by TEXT,
    read_at INTEGER,
    settled_at INTEGER,
    note TEXT,
    PRIMARY KEY (agent, seq)
) WITHOUT ROWID;
CREATE INDEX delivery_message ON delivery (message);
CREATE INDEX delivery_free ON delivery (agent, priority, seq) WHERE state < 3 AND session IS NULL;
CREATE INDEX delivery_lease ON delivery (session) WHERE session IS NOT NULL;

CREATE TABLE hint (
    message INTEGER NOT NULL REFERENCES message,
    agent INTEGER NOT NULL REFERENCES agent,
    rung TEXT NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT,
    PRIMARY KEY (message, agent, rung)
) WITHOUT ROWID;

-- What was purged and may not come back, and the record of purges.
CREATE TABLE tomb (
    public TEXT PRIMARY KEY,
    space INTEGER NOT NULL,
    sender TEXT NOT NULL,
    key TEXT,
    hash BLOB
) WITHOUT ROWID;
CREATE UNIQUE INDEX tomb_key ON tomb (space, sender, key) WHERE key IS NOT NULL;
CREATE TABLE purge (
    id INTEGER PRIMARY KEY,
    space INTEGER NOT NULL,
    at INTEGER NOT NULL,
    before INTEGER NOT NULL,
    messages INTEGER NOT NULL
);

-- Words in, message ids out. Brought up after commits; `indexed` says how far.
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
CREATE TABLE indexed (id INTEGER PRIMARY KEY CHECK (id = 1), message INTEGER NOT NULL);
INSERT INTO indexed VALUES (1, 0);

PRAGMA application_id = 0x686f626d;
PRAGMA user_version = 1;

INSERT INTO space VALUES (1, 'test');
INSERT INTO agent (id, space, name, role, registered_at, seen_at, host, worktree, fence) VALUES
    (1, 1, 'ann', 'dev', 1, 1, 'here', '/w/ann', 1),
    (2, 1, 'bob', 'dev', 1, 1, 'here', '/w/bob', 1);
INSERT INTO mailbox VALUES (1, 1, 1, 300, 0, 1, 0, 0, 0), (2, 2, 2, 300, 0, 0, 0, 0, 1);
INSERT INTO message VALUES
    (1, 'msg_00000000000000000000000001', 1, 0, 'ann', '["bob"]', 'the question', 1, 10,
        'msg_00000000000000000000000001', NULL, '{}', NULL, NULL),
    (2, 'msg_00000000000000000000000002', 1, 0, 'bob', '["ann"]', 'the answer', 1, 20,
        'msg_00000000000000000000000001', 'msg_00000000000000000000000001', '{}', NULL, NULL),
    (3, 'msg_00000000000000000000000003', 1, 0, 'ann', '["bob"]', 'in hand', 1, 30,
        'msg_00000000000000000000000003', NULL, '{}', NULL, NULL),
    (4, 'msg_00000000000000000000000004', 1, 0, 'ann', '["bob"]', 'deleted since', 1, 40,
        'msg_00000000000000000000000004', NULL, '{}', NULL, NULL);
INSERT INTO delivery (agent, seq, message, priority, at, bytes, state, session, token, attempts, read_at) VALUES
    (2, 1, 1, 1, 10, 300, 3, NULL, NULL, 1, 1795000000000),
    (1, 1, 2, 1, 20, 300, 0, NULL, NULL, 0, NULL),
    (2, 2, 3, 1, 30, 300, 2, 'gone', 7, 1, NULL);
INSERT INTO words (rowid, text) VALUES (1, 'the question'), (2, 'the answer'), (3, 'in hand');
DELETE FROM message WHERE id = 4;
UPDATE indexed SET message = 4;
