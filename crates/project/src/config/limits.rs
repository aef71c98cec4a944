//! The limits: numbers with a default and a range each.

use serde::Deserialize;

use super::ConfigError;
use super::section::File;

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $default:expr, $range:expr;)*) => {
        /// The limits. Each one has a default and a range; `[limits]` in a configuration file sets it by its name here.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default,)* }
            }
        }

        #[derive(Debug, Clone, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(super) struct LimitsTable { $($name: Option<u64>,)* }

        impl Limits {
            pub(super) fn apply(&mut self, table: &LimitsTable, file: &File<'_>) -> Result<(), ConfigError> {
                $(if let Some(value) = file.number_in_range(concat!("limits.", stringify!($name)), table.$name, $range)? {
                    self.$name = value;
                })*
                Ok(())
            }
        }
    };
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

limits! {
    /// Maximum number of connections to the daemon.
    connections: 2048, 1..=100_000;
    /// Bytes in one line of a connection.
    line_bytes: 16 * MIB, 64 * KIB..=256 * MIB;
    /// Calls that run concurrently on one connection, not counting those that only wait.
    calls_running: 64, 1..=10_000;
    /// Calls that wait on one connection: for others to run first, and as many again for an event.
    calls_waiting: 1024, 1..=100_000;
    /// Live sessions of the project.
    sessions: 8, 1..=1000;
    /// Evaluations queued in one session.
    queued_evaluations: 16, 1..=10_000;
    /// Memory limit of one session's processes in bytes; 0 for three quarters of the machine's memory.
    session_memory: 0, 0..=u64::MAX;
    /// Bytes of a session's output kept in memory.
    output_memory: 4 * MIB, 64 * KIB..=1024 * MIB;
    /// Bytes of a session's output kept in its file.
    output_file: 256 * MIB, MIB..=1024 * 1024 * MIB;
    /// Bytes of the daemon's logs.
    log_bytes: 16 * MIB, 64 * KIB..=1024 * MIB;
}
