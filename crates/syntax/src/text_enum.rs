//! Enums whose variants each have a text, and lists of words.

/// Defines an enum and a method that returns the text of a variant.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident by $method:ident {
        $($(#[$of:meta])* $variant:ident = $text:literal),* $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$of])* $variant),* }

        impl $name {
            #[allow(dead_code)]
            $vis const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Returns its text in results.
            $vis fn $method(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
    };
}

pub use named;

/// True if a list of words, separated by blanks, has a word.
pub fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}
