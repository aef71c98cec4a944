//! Fields that ask for a secret, by the words of their names. Answers are stored and a model reads them, so such fields are
//! refused. This catches what is meant well; no list of words stops who wants to ask.

use super::{Field, FieldKind};

/// Words that name a secret, alone or in a row.
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

/// The secret that a field asks for, if its name says so. A number, a yes or an option tells none.
pub(super) fn asked(field: &Field) -> Option<&'static str> {
    let takes_text = matches!(field.kind, FieldKind::Text | FieldKind::Multiline) || field.other;
    // A PIN is a number.
    let is_number = matches!(field.kind, FieldKind::Integer | FieldKind::Number);
    let names = [words(&field.id), words(&field.label)];
    let is_named = |secret: &&&str| {
        let secret = format!(" {secret} ");
        names.iter().any(|name| name.contains(&secret))
    };
    let asks =
        |secret: &&&str| takes_text || is_number && matches!(**secret, "pin" | "otp" | "cvv" | "cvc" | "card number");
    SECRETS.iter().filter(asks).find(is_named).copied()
}

/// The words of a name between single spaces, with one at each end: `apiKey`, `API-Key` and `api_key` are the same.
fn words(name: &str) -> String {
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

    fn says(id: &str, label: &str, kind: FieldKind) -> Option<&'static str> {
        asked(&Field { id: id.to_owned(), label: label.to_owned(), kind, ..Field::default() })
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
            assert_eq!(says(id, label, text), Some(secret), "{id} {label}");
        }
        for (id, label) in
            [("secretary", ""), ("tokenizer", ""), ("max_tokens", ""), ("key", "Which key?"), ("pinned", "")]
        {
            assert_eq!(says(id, label, text), None, "{id} {label}");
        }
        // What the refusal itself advises to ask.
        assert_eq!(says("done", "Is the password in the environment?", FieldKind::Boolean), None);
        assert_eq!(says("token", "Tokens at most", FieldKind::Integer), None);
        assert_eq!(says("pin", "", FieldKind::Integer), Some("pin"));
    }
}
