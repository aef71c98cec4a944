//! `pgbench`, PostgreSQL's own benchmark, writing the same rows as the mail: the floor of mail in a database.
//!
//! It writes into the daemons' own tables, in a separate space: a message, its delivery and its mailbox; for receipt and
//! acknowledgement, the delivery and the mailbox twice more; one notification per commit. It reads and checks nothing.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use testkit::Postgres;

use super::super::Samples;
use super::BODY;
use super::rush::{MAILBOXES, SENDERS};

/// The rows that a send writes.
const SENT: &str = "\
INSERT INTO message (public, space, kind, sender, addresses, content, words, priority, at, thread, reply_to, metadata, key, hash) \
VALUES ('msg_' || :client_id || '_' || :number, :space, 0, 'pgbench', '[\"box\"]', convert_to(repeat('x', :body), 'UTF8'), \
ARRAY[repeat('x', 64)], 1, 1795000000000, 'msg_' || :client_id || '_' || :number, NULL, '{}', NULL, NULL) RETURNING id AS message \\gset
UPDATE mailbox SET seq = seq + 1, tip = tip + 1, bytes = bytes + 758, free[2] = free[2] + 1 WHERE agent = :box RETURNING seq \\gset
INSERT INTO delivery (agent, seq, message, priority, at, bytes) VALUES (:box, :seq, :message, 1, 1795000000000, 758);
";

/// The rows written when a message is received and acknowledged.
const READ: &str = "\
UPDATE delivery SET session = 'run', token = 1, owner = 'pgbench', attempts = attempts + 1, state = 2, \
fetched_at = 1795000000000, fetched_by = 'run' WHERE agent = :box AND seq = :seq;
UPDATE mailbox SET free[2] = free[2] - 1, leased = leased + 1 WHERE agent = :box;
UPDATE delivery SET state = 3, session = NULL, token = NULL, owner = NULL, read_at = 1795000000000 \
WHERE agent = :box AND seq = :seq;
UPDATE mailbox SET leased = leased - 1, bytes = bytes - 758 WHERE agent = :box;
";

/// Result of a measurement.
pub(super) struct Measured {
    /// Duration of each transaction.
    pub(super) samples: Samples,
    /// Transactions per second.
    pub(super) rate: f64,
}

/// A `pgbench` run against the daemons' database.
pub(super) struct Pgbench<'a> {
    database: &'a Postgres,
    space: String,
    first: String,
}

impl Pgbench<'_> {
    /// Creates mailboxes in the tables that the daemons created.
    pub(super) fn new(database: &Postgres) -> Pgbench<'_> {
        let id = |sql: &str| database.sql(sql).trim().to_owned();
        let space = id("INSERT INTO hob_mail.space (name) VALUES ('n_pgbench') RETURNING id");
        let make = format!(
            "WITH made AS (INSERT INTO hob_mail.agent (space, name, role, registered_at, seen_at, fence) \
             SELECT {space}, 'box-' || n, 'box', 0, 0, 1 FROM generate_series(1, {MAILBOXES}) AS n RETURNING id) \
             INSERT INTO hob_mail.mailbox (agent) SELECT id FROM made"
        );
        database.sql(&make);
        let first = id(&format!("SELECT min(id) FROM hob_mail.agent WHERE space = {space}"));
        Pgbench { database, space, first }
    }

    /// Runs one sender that waits for each commit.
    pub(super) fn run_single_sender(&self, seconds: u64) -> Result<Measured> {
        self.run(SENT, 1, seconds)
    }

    /// Runs as many senders as the daemon has, and every message is read.
    pub(super) fn crowd(&self, seconds: u64) -> Result<Measured> {
        self.run(&[SENT, READ].concat(), SENDERS, seconds)
    }

    fn run(&self, rows: &str, clients: usize, seconds: u64) -> Result<Measured> {
        let dir = tempfile::tempdir()?;
        let (script, log) = (dir.path().join("script"), dir.path().join("log"));
        let text = format!(
            "\\set box :first + random(0, {MAILBOXES} - 1)\n\\set number random(0, 9223372036854775806)\nBEGIN;\n{rows}\
             SELECT pg_notify('hob_mail_pgbench', '');\nCOMMIT;\n"
        );
        std::fs::write(&script, text)?;
        let mut pgbench = self.database.client("pgbench");
        pgbench.env("PGOPTIONS", "-c search_path=hob_mail");
        pgbench.args(["--no-vacuum", "--protocol=prepared", "--log"]).arg("--log-prefix").arg(&log);
        pgbench.arg(format!("--client={clients}")).arg(format!("--jobs={}", clients.min(2)));
        pgbench.arg(format!("--time={seconds}")).arg("--file").arg(&script);
        for (name, value) in [("first", &*self.first), ("space", &self.space), ("body", &BODY.to_string())] {
            pgbench.arg(format!("--define={name}={value}"));
        }
        let output = pgbench.arg("postgres").stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        let Some(rate) = rate.filter(|_| output.status.success()) else {
            bail!("pgbench: {said}{}", String::from_utf8_lossy(&output.stderr));
        };
        let mut samples = Samples::default();
        for file in std::fs::read_dir(dir.path())? {
            let file = file?.path();
            if file != script {
                read(&std::fs::read_to_string(&file)?, &mut samples)?;
            }
        }
        Ok(Measured { samples, rate })
    }
}

/// Reads a log of transactions: client, number, microseconds, and more.
fn read(log: &str, samples: &mut Samples) -> Result<()> {
    for line in log.lines() {
        let took = line.split(' ').nth(2).and_then(|text| text.parse().ok()).context("a line of another form")?;
        samples.push(std::time::Duration::from_micros(took));
    }
    Ok(())
}

impl Measured {
    /// Combines two measurements, one before and one after the contender's.
    pub(super) fn and(mut self, other: Measured) -> Measured {
        self.samples.0.extend(other.samples.0);
        self.rate = (self.rate + other.rate) / 2.0;
        self
    }
}
