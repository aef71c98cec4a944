//! Refuses fields whose names ask for a secret, because answers are stored and a model reads them. This prevents mistakes, but
//! cannot stop a determined caller.

use super::{Field, FieldKind};

/// Words, or sequences of words, that name a secret.
const SECRETS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "token",
    "credential",
    "credentials",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "pin",
    "apikey",
    "api key",
    "api keys",
    "access key",
    "secret key",
    "private key",
    "signing key",
    "ssh key",
    "encryption key",
    "auth key",
    "seed phrase",
    "recovery phrase",
    "recovery code",
    "recovery codes",
    "backup code",
    "one time code",
    "verification code",
    "card number",
    "bearer",
];

/// Returns the secret that a field's name asks for. Numbers, booleans and options cannot reveal one.
pub(super) fn secret_name(field: &Field) -> Option<&'static str> {
    let takes_text = matches!(field.kind, FieldKind::Text | FieldKind::Multiline) || field.other;
    // A PIN is a number.
    let is_number = matches!(field.kind, FieldKind::Integer | FieldKind::Number);
    let names = [split_words(&field.id), split_words(&field.label)];
    let is_named = |secret: &&&str| {
        let secret = format!(" {secret} ");
        names.iter().any(|name| name.contains(&secret))
    };
    let asks =
        |secret: &&&str| takes_text || is_number && matches!(**secret, "pin" | "otp" | "cvv" | "cvc" | "card number");
    SECRETS.iter().filter(asks).find(is_named).copied()
}

/// Splits a name into words between single spaces, with one at each end: `apiKey`, `API-Key` and `api_key` are equal.
fn split_words(name: &str) -> String {
    let mut words = String::from(" ");
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        if c.is_alphanumeric() {
            words.extend(c.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
        before = c;
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_word(id: &str, label: &str, kind: FieldKind) -> Option<&'static str> {
        secret_name(&Field { id: id.to_owned(), label: label.to_owned(), kind, ..Field::default() })
    }

    #[test]
    fn secrets_are_known_by_words_and_not_by_letters() {
        let text = FieldKind::Text;
        for (id, label, secret) in [
            ("password", "", "password"),
            ("x", "Your API-Key", "api key"),
            ("apiKey", "", "api key"),
            ("x", "GitHub token:", "token"),
            ("db_pwd", "", "pwd"),
            ("x", "The SSH key", "ssh key"),
        ] {
            assert_eq!(secret_word(id, label, text), Some(secret), "{id} {label}");
        }
        for (id, label) in
            [("secretary", ""), ("tokenizer", ""), ("max_tokens", ""), ("key", "Which key?"), ("pinned", "")]
        {
            assert_eq!(secret_word(id, label, text), None, "{id} {label}");
        }
        // The question that the error message recommends.
        assert_eq!(secret_word("done", "Is the password in the environment?", FieldKind::Boolean), None);
        assert_eq!(secret_word("token", "Tokens at most", FieldKind::Integer), None);
        assert_eq!(secret_word("pin", "", FieldKind::Integer), Some("pin"));
    }
}
