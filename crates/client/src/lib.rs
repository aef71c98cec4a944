//! find or start the daemon, and speak to it.
