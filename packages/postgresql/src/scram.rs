//! Passwords as the server stores them: SCRAM-SHA-256 of RFC 5802 and RFC 7677, in PostgreSQL's form
//! (https://www.postgresql.org/docs/current/catalog-pg-authid.html). Neither the file with the users nor a log of statements
//! can hold a password then.

use hmac::{Hmac, KeyInit as _, Mac as _};
use mistletoe::secret::SecretText;
use sha2::{Digest as _, Sha256};

/// PostgreSQL's own number.
const ITERATIONS: u32 = 4096;

type Block = [u8; 32];

/// Of letters, digits and punctuation in ASCII, which SASLprep leaves as they are.
pub fn verifier(password: &SecretText, salt: &[u8]) -> String {
    let salted = salted_password(password.reveal().as_bytes(), salt);
    let stored_key: Block = Sha256::digest(hmac(&salted, &[b"Client Key"])).into();
    let server_key = hmac(&salted, &[b"Server Key"]);
    format!("SCRAM-SHA-256${ITERATIONS}:{}${}:{}", base64(salt), base64(&stored_key), base64(&server_key))
}

/// A user's salt: another one for each, and not to be guessed before the user has logged in once.
pub fn salt(of_install: &[u8], username: &str) -> [u8; 16] {
    let digest = hmac(of_install, &[username.as_bytes()]);
    std::array::from_fn(|i| digest[i])
}

/// Hi() of RFC 5802.
fn salted_password(password: &[u8], salt: &[u8]) -> Block {
    let mut block = hmac(password, &[salt, &1_u32.to_be_bytes()]);
    let mut result = block;
    for _ in 1..ITERATIONS {
        block = hmac(password, &[&block]);
        for (byte, other) in result.iter_mut().zip(block) {
            *byte ^= other;
        }
    }
    result
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Block {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_keys_of_the_rfc_s_example() {
        // RFC 7677, 3: user "user", password "pencil". The server's signature over this exchange, made with the key.
        let salt = [0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81];
        let verifier = verifier(&"pencil".into(), &salt);
        assert!(verifier.starts_with("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"), "{verifier}");
        let server_key = hmac(&salted_password(b"pencil", &salt), &[b"Server Key"]);
        assert!(verifier.ends_with(&base64(&server_key)));
        let exchange = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                        s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        assert_eq!(base64(&hmac(&server_key, &[exchange.as_bytes()])), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn each_user_has_a_salt_of_its_own() {
        assert_ne!(salt(b"install", "a"), salt(b"install", "b"));
        assert_ne!(salt(b"install", "a"), salt(b"other", "a"));
    }

    #[test]
    fn writes_base64() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
