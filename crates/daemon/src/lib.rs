//! one process per project.
