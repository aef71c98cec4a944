//! Answers about code, asked as an agent asks: by the tools.

#![allow(clippy::unwrap_used)]

mod back_dated;
mod beyond;
mod borderline;
mod broken;
mod callees;
mod clauses;
mod configurations;
mod constructors;
mod destructured;
mod dispatch;
mod disturbed;
mod embedded;
mod families;
mod fields;
mod implicit;
mod implicit_callers;
mod inactive;
mod judged;
mod kept;
mod lies;
mod litter;
mod made;
mod made_by_macros;
mod marked;
mod matches;
mod matches_in_macros;
mod matches_judged;
mod namespaces;
mod no_judge;
mod outside;
mod overridden;
mod places;
mod places_of_c;
mod predecessor;
mod projects;
mod qualified;
mod quoted;
mod revision;
mod servers;
mod silent;
mod structural;
mod unsearched;
mod worktree;
mod wrong_use;
