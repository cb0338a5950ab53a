//! Secrets that stay: the host derives each from the release's seed and from names.
//!
//! The same release gets the same secret on every install, upgrade and dry run. It changes only when its name changes, or
//! its form (kind, length, alphabet), and `mistctl` refuses such an upgrade unless `--rotate-secrets` asks for it. A
//! secret more, or in another order, changes none of the others.
//!
//! ```
//! use mistletoe::secret;
//!
//! let password = secret::password("db")?;
//! assert_eq!(password.len(), 24);
//! let pin = secret::Password::new("pin").length(8).alphabet("0123456789").get()?;
//! assert!(pin.bytes().all(|c| c.is_ascii_digit()));
//! # Ok::<(), mistletoe::Error>(())
//! ```
//!
//! A name is up to 128 letters, digits, `-`, `_`, `.` and `/`; each form of a secret needs a name of its own. Don't print
//! secrets or put them into [messages](crate::MistOutput::set_message): those are shown to people.
//!
//! Only ABI `v1` has a host to ask: for `wasm32-unknown-unknown` every function here gives an error that says so.
//! Natively, in a package's own tests, stand-ins of the right form take their place.

use std::fmt;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{finite, host};

/// A text that no log should show: formatted with `{:?}` it is `***`, and it can't be formatted with `{}`.
///
/// It is written and read as the text that it is, so it fits into inputs and objects.
#[derive(Clone, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// The text itself, for the Secret that it goes into.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// A user with a password that stays, to be handed to the package that makes it and to those that log in as it.
///
/// ```
/// use mistletoe::secret::User;
///
/// let user = User::create_secure("mariadb/mic-a")?;
/// assert_eq!(user.username, "mic-a");
/// assert_eq!(format!("{user:?}"), r#"User { username: "mic-a", password: *** }"#);
/// # Ok::<(), mistletoe::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct User {
    /// The name to log in with.
    pub username: String,
    /// 32 letters and digits.
    pub password: SecretText,
}

impl User {
    /// The user that the last part of `secret` names; `secret` is the name of its password, which `--rotate-secrets` takes.
    ///
    /// # Errors
    ///
    /// The name isn't one of a secret.
    pub fn create_secure(secret: &str) -> anyhow::Result<Self> {
        let username = secret.rsplit('/').next().unwrap_or(secret).to_owned();
        let password = Password::new(secret).length(32).get();
        Ok(Self { username, password: password.with_context(|| format!("can't create the user {secret}"))?.into() })
    }
}

/// A text that changes when `content` does, for an annotation that rolls Pods: 32 hexadecimal digits of its SHA-256.
///
/// Anybody who may read the annotation could try guesses against it, so there should be something in `content` that
/// can't be guessed, such as a password that the host made.
///
/// # Errors
///
/// The content can't be serialised.
pub fn fingerprint(content: &impl Serialize) -> anyhow::Result<String> {
    finite::check(content).context("can't take the fingerprint")?;
    let text = serde_json::to_vec(content).context("can't take the fingerprint")?;
    Ok(hex_of(&Sha256::digest(&text)[..16]))
}

/// The SHA-256 of a text, in hexadecimal: the form in which some servers take passwords.
pub fn sha256(text: &str) -> String {
    hex_of(&Sha256::digest(text))
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A password of 24 letters and digits; [`Password`] for others.
pub fn password(name: &str) -> anyhow::Result<String> {
    Password::new(name).get()
}

/// `length` letters and digits (4 to 1024).
pub fn alphanumeric(name: &str, length: usize) -> anyhow::Result<String> {
    value(json!({ "op": "secret.get", "name": name, "kind": "alphanumeric", "length": length }))
}

/// `length` lower-case hexadecimal digits (4 to 1024).
pub fn hex(name: &str, length: usize) -> anyhow::Result<String> {
    value(json!({ "op": "secret.get", "name": name, "kind": "hex", "length": length }))
}

/// `length` random bytes (4 to 1024), as text in base64.
pub fn base64(name: &str, length: usize) -> anyhow::Result<String> {
    value(json!({ "op": "secret.get", "name": name, "kind": "base64", "length": length }))
}

/// `length` random bytes (4 to 1024).
pub fn bytes(name: &str, length: usize) -> anyhow::Result<Vec<u8>> {
    let text = value(json!({ "op": "secret.get", "name": name, "kind": "bytes", "length": length }))?;
    decode_base64(&text).ok_or_else(|| anyhow::anyhow!("the host's answer is no base64"))
}

/// A random UUID (version 4).
pub fn uuid(name: &str) -> anyhow::Result<String> {
    value(json!({ "op": "secret.get", "name": name, "kind": "uuid" }))
}

/// A key pair, as PEM (PKCS #8 and SubjectPublicKeyInfo).
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPair {
    /// The private key.
    pub private_key: String,
    /// The public key.
    pub public_key: String,
}

/// An Ed25519 key pair; not in native tests.
pub fn ed25519(name: &str) -> anyhow::Result<KeyPair> {
    key(name, "ed25519")
}

/// An ECDSA key pair on P-256; not in native tests.
pub fn ecdsa(name: &str) -> anyhow::Result<KeyPair> {
    key(name, "ecdsa")
}

/// A class of characters that a password may have to contain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// a to z
    Lower,
    /// A to Z
    Upper,
    /// 0 to 9
    Digit,
    /// Anything else in the alphabet.
    Symbol,
}

/// A password with its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Password(Value);

impl Password {
    /// 24 letters and digits, until told otherwise.
    pub fn new(name: &str) -> Self {
        Self(json!({ "op": "secret.get", "name": name, "kind": "password" }))
    }

    /// How many characters, 4 to 1024.
    pub fn length(mut self, length: usize) -> Self {
        self.0["length"] = length.into();
        self
    }

    /// Which characters: at least two from `!` to `~`, each once.
    pub fn alphabet(mut self, alphabet: &str) -> Self {
        self.0["alphabet"] = alphabet.into();
        self
    }

    /// At least one character of each class; the alphabet must have them.
    pub fn require(mut self, classes: &[Class]) -> Self {
        self.0["require"] = classes
            .iter()
            .map(|class| match class {
                Class::Lower => "lower",
                Class::Upper => "upper",
                Class::Digit => "digit",
                Class::Symbol => "symbol",
            })
            .collect();
        self
    }

    /// Asks for it.
    pub fn get(self) -> anyhow::Result<String> {
        value(self.0)
    }
}

fn value(request: Value) -> anyhow::Result<String> {
    text(&host::ask(&request)?, "value")
}

fn key(name: &str, kind: &str) -> anyhow::Result<KeyPair> {
    let answer = host::ask(&json!({ "op": "secret.get", "name": name, "kind": kind }))?;
    Ok(KeyPair { private_key: text(&answer, "value")?, public_key: text(&answer, "publicKey")? })
}

fn text(answer: &Value, key: &str) -> anyhow::Result<String> {
    answer[key].as_str().map(str::to_owned).ok_or_else(|| anyhow::anyhow!("the host's answer has no `{key}`"))
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_stand_ins_have_the_right_form() {
        assert_eq!(password("db").unwrap(), password("db").unwrap());
        assert_ne!(password("db").unwrap(), password("api").unwrap());
        assert_eq!(hex("db", 10).unwrap().len(), 10);
        assert_eq!(alphanumeric("db", 11).unwrap().len(), 11);
        assert_eq!(uuid("db").unwrap().len(), 36);
        for length in 4..12 {
            assert_eq!(bytes("db", length).unwrap().len(), length);
        }
        let strong = Password::new("db").length(8).alphabet("abAB12.").require(&[Class::Symbol, Class::Digit]).get();
        assert!(strong.as_ref().unwrap().contains('.') && strong.unwrap().contains('1'));
        assert!(ed25519("db").unwrap_err().to_string().contains("no host here"));
    }

    #[test]
    fn a_user_has_the_name_that_ends_its_secret_s_name() {
        let user = User::create_secure("redis/mic-b").unwrap();
        assert_eq!((user.username.as_str(), user.password.reveal().len()), ("mic-b", 32));
        assert_ne!(user, User::create_secure("mariadb/mic-b").unwrap());
        assert_eq!(json!(user)["password"], user.password.reveal());
        assert!(!format!("{user:?}").contains(user.password.reveal()));
    }

    #[test]
    fn fingerprints_follow_the_content() {
        // printf '"abc"' | sha256sum
        assert_eq!(fingerprint(&"abc").unwrap(), "6cc43f858fbb763301637b5af970e2a4");
        assert_ne!(fingerprint(&"abd").unwrap(), fingerprint(&"abc").unwrap());
        // FIPS 180-2, B.1
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn reads_base64() {
        let cases: [(&str, &[u8]); 5] =
            [("", b""), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("+/+/", &[0xfb, 0xff, 0xbf])];
        for (text, expected) in cases {
            assert_eq!(decode_base64(text).unwrap(), expected);
        }
        assert_eq!(decode_base64("a b"), None);
    }
}
