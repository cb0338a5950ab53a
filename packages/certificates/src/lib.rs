//! TLS certificates of an install, made of keys that the host derives.
//!
//! Each install has an authority of its own, which signs nothing else. Its private key is in no object: the host derives
//! it again for each render. Keys are ECDSA on P-256, and signatures are deterministic (RFC 6979), so that the same release
//! gets the same certificates until its secrets are rotated or its clock is moved on. How to renew them: `docs/secrets.md`.

mod profile;
mod server;

use std::net::IpAddr;
use std::str::FromStr as _;
use std::time::{Duration, SystemTime};

use mistletoe::secret::{SecretText, ecdsa, sha256};
use mistletoe::{Error, ErrorContext as _};
use p256::ecdsa::{DerSignature, SigningKey};
use p256::pkcs8::DecodePrivateKey as _;
use x509_cert::SubjectPublicKeyInfo;
use x509_cert::builder::{Builder as _, CertificateBuilder};
use x509_cert::der::EncodePem as _;
use x509_cert::der::asn1::{Ia5String, OctetString};
use x509_cert::der::pem::LineEnding;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::time::{Time, Validity};

use profile::Profile;
pub use profile::Usage;
pub use server::{ServerTls, service_names, tls_secret};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an authority is valid. What it signs ends sooner.
const AUTHORITY_DAYS: u32 = 3650;
/// The longest life of a certificate that is signed here.
pub const MOST_DAYS: u32 = AUTHORITY_DAYS;

/// An authority, and the time that it sees.
pub struct Authority {
    name: Name,
    key: SigningKey,
    certificate: String,
    now: SystemTime,
}

/// A certificate and its key, as PEM.
pub struct Issued {
    pub certificate: String,
    pub key: SecretText,
}

/// The subject and purpose of a certificate.
pub struct Request<'a> {
    /// The subject's common name.
    pub common_name: &'a str,
    pub usage: Usage,
    /// DNS names, and IP addresses as text.
    pub names: &'a [String],
    pub days: u32,
}

impl Authority {
    /// The authority of an install, as of the release's clock: its key is the secret `tls/ca`.
    ///
    /// # Errors
    ///
    /// The host gives no keys.
    pub fn of(install: &str) -> Result<Self, Error> {
        Self::new(install, &ecdsa("tls/ca")?.private_key, SystemTime::now())
    }

    /// As [`of`](Self::of), with a key (PKCS #8, PEM) and a time of the caller's.
    ///
    /// # Errors
    ///
    /// The key can't be read.
    pub fn new(install: &str, key: &str, now: SystemTime) -> Result<Self, Error> {
        let name = name(&format!("{install} CA"))?;
        let key = signing_key(key)?;
        let validity = validity(now, AUTHORITY_DAYS)?;
        let profile = Profile { issuer: name.clone(), subject: name.clone(), usage: None };
        let serial = serial(&format!("{install} {validity:?}"))?;
        let builder = CertificateBuilder::new(profile, serial, validity, public_key(&key)?)?;
        let certificate = builder.build::<_, DerSignature>(&key)?.to_pem(LineEnding::LF)?;
        Ok(Self { name, key, certificate, now })
    }

    /// The authority's own certificate as PEM, by which clients check the others.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Signs a certificate whose key is the host's secret of that name.
    ///
    /// # Errors
    ///
    /// The host gives no keys, or a name can't be in a certificate.
    pub fn issue(&self, secret: &str, request: &Request) -> Result<Issued, Error> {
        self.sign(ecdsa(secret)?.private_key, request)
    }

    /// As [`issue`](Self::issue), with a key (PKCS #8, PEM) of the caller's.
    ///
    /// # Errors
    ///
    /// The key can't be read, or a name can't be in a certificate.
    pub fn sign(&self, key: String, request: &Request) -> Result<Issued, Error> {
        let Request { common_name, usage, names, days } = request;
        let public = public_key(&signing_key(&key)?)?;
        let validity = validity(self.now, (*days).min(MOST_DAYS))?;
        let serial = serial(&format!("{common_name} {usage:?} {names:?} {validity:?} {public:?}"))?;
        let profile = Profile { issuer: self.name.clone(), subject: name(common_name)?, usage: Some(*usage) };
        let mut builder = CertificateBuilder::new(profile, serial, validity, public)?;
        if !names.is_empty() {
            let names = names.iter().map(|name| alternative_name(name)).collect::<Result<_, _>>()?;
            builder.add_extension(&SubjectAltName(names))?;
        }
        let certificate = builder.build::<_, DerSignature>(&self.key)?.to_pem(LineEnding::LF)?;
        Ok(Issued { certificate, key: key.into() })
    }
}

fn signing_key(pem: &str) -> Result<SigningKey, Error> {
    // The parser's own words could hold parts of the key.
    SigningKey::from_pkcs8_pem(pem).map_err(|_| Error::msg("the host's key isn't one on P-256 in PEM"))
}

fn public_key(key: &SigningKey) -> Result<SubjectPublicKeyInfo, Error> {
    Ok(SubjectPublicKeyInfo::from_key(key.verifying_key())?)
}

fn name(common_name: &str) -> Result<Name, Error> {
    // RFC 5280: a common name has at most 64 characters. Clients look at the alternative names.
    let short: String = common_name.chars().take(64).collect();
    Name::from_str(&format!("CN={short}")).with_context(|| format!("`{short}` can't be the name of a certificate"))
}

fn alternative_name(name: &str) -> Result<GeneralName, Error> {
    Ok(match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => GeneralName::IpAddress(OctetString::new(address.octets())?),
        Ok(IpAddr::V6(address)) => GeneralName::IpAddress(OctetString::new(address.octets())?),
        Err(_) => GeneralName::DnsName(
            Ia5String::new(name).with_context(|| format!("`{name}` can't be a DNS name in a certificate"))?,
        ),
    })
}

/// From an hour ago, for servers whose clock is late.
fn validity(now: SystemTime, days: u32) -> Result<Validity, Error> {
    let begin = now - Duration::from_secs(60 * 60);
    Ok(Validity::new(Time::try_from(begin)?, Time::try_from(now + DAY * days)?))
}

/// A number that changes with the content, as two certificates of one authority must have different ones.
fn serial(content: &str) -> Result<SerialNumber, Error> {
    let digest = sha256(content);
    let mut bytes = [0x40; 16];
    for (byte, digits) in bytes.iter_mut().zip(digest.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits)?;
        *byte = u8::from_str_radix(digits, 16)?;
    }
    // Positive, and of the same length always.
    bytes[0] = bytes[0] & 0x3f | 0x40;
    Ok(SerialNumber::new(&bytes)?)
}

#[cfg(test)]
mod tests;
