use p256::ecdsa::signature::Verifier as _;
use p256::pkcs8::EncodePrivateKey as _;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem as _, Encode as _};
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier,
};

use super::*;

fn key(number: u8) -> String {
    SigningKey::from_slice(&[number; 32]).unwrap().to_pkcs8_pem(LineEnding::LF).unwrap().to_string()
}

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

const NOW: u64 = 1_767_225_600;

fn authority() -> Authority {
    Authority::new("db", &key(1), time(NOW)).unwrap()
}

fn server(authority: &Authority, names: &[&str], days: u32) -> Certificate {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let request = Request { common_name: "db", usage: Usage::Server, names: &names, days };
    Certificate::from_pem(authority.sign(key(2), &request).unwrap().certificate).unwrap()
}

fn is_signed_by(certificate: &Certificate, key: &str) -> bool {
    let signature = DerSignature::try_from(certificate.signature().raw_bytes()).unwrap();
    let signed = certificate.tbs_certificate().to_der().unwrap();
    signing_key(key).unwrap().verifying_key().verify(&signed, &signature).is_ok()
}

fn extension<'a, E: x509_cert::der::Decode<'a> + x509_cert::der::oid::AssociatedOid>(
    certificate: &'a Certificate,
) -> Option<E> {
    certificate.tbs_certificate().get_extension::<E>().ok().flatten().map(|(_, extension)| extension)
}

#[test]
fn the_authority_signs_itself_and_what_it_issues() {
    let authority = authority();
    let root = Certificate::from_pem(authority.certificate()).unwrap();
    let server = server(&authority, &["db.prod.svc", "127.0.0.1"], 30);
    assert!(is_signed_by(&root, &key(1)) && is_signed_by(&server, &key(1)));
    assert!(!is_signed_by(&server, &key(2)));
    assert_eq!(root.tbs_certificate().subject(), root.tbs_certificate().issuer());
    assert_eq!(root.tbs_certificate().subject(), server.tbs_certificate().issuer());
    assert_eq!(
        extension::<SubjectKeyIdentifier>(&root).unwrap().0,
        extension::<AuthorityKeyIdentifier>(&server).unwrap().key_identifier.unwrap()
    );
}

#[test]
fn only_the_authority_may_sign() {
    let authority = authority();
    let root = Certificate::from_pem(authority.certificate()).unwrap();
    assert!(extension::<BasicConstraints>(&root).unwrap().ca);
    assert!(extension::<KeyUsage>(&root).unwrap().key_cert_sign());
    assert!(extension::<ExtendedKeyUsage>(&root).is_none());
    let server = server(&authority, &[], 30);
    assert!(!extension::<BasicConstraints>(&server).unwrap().ca);
    assert!(!extension::<KeyUsage>(&server).unwrap().key_cert_sign());
}

#[test]
fn names_and_addresses_are_what_they_are() {
    let names = extension::<SubjectAltName>(&server(&authority(), &["db.prod.svc", "10.0.0.1", "::1"], 30)).unwrap().0;
    assert!(matches!(&names[0], GeneralName::DnsName(name) if name.as_str() == "db.prod.svc"));
    assert!(matches!(&names[1], GeneralName::IpAddress(address) if address.as_bytes() == [10, 0, 0, 1]));
    assert!(matches!(&names[2], GeneralName::IpAddress(address) if address.as_bytes().len() == 16));
}

#[test]
fn a_certificate_lives_as_long_as_it_is_asked_to_and_no_longer_than_the_authority() {
    let root = Certificate::from_pem(authority().certificate()).unwrap();
    let end =
        |certificate: &Certificate| certificate.tbs_certificate().validity().not_after.to_unix_duration().as_secs();
    assert_eq!(end(&server(&authority(), &[], 30)), NOW + 30 * 24 * 60 * 60);
    assert_eq!(end(&server(&authority(), &[], u32::MAX)), end(&root));
}

#[test]
fn equal_requests_give_equal_certificates_and_others_have_another_number() {
    let (a, b) = (server(&authority(), &["a"], 30), server(&authority(), &["a"], 30));
    assert_eq!(a, b);
    for other in [
        server(&authority(), &["b"], 30),
        server(&authority(), &["a"], 31),
        server(&Authority::new("db", &key(1), time(NOW + 1)).unwrap(), &["a"], 30),
    ] {
        assert_ne!(other.tbs_certificate().serial_number(), a.tbs_certificate().serial_number());
    }
    assert_eq!(a.tbs_certificate().serial_number().as_bytes().len(), 16);
}

#[test]
fn a_renewed_authority_still_vouches_for_older_certificates() {
    let old = server(&authority(), &["a"], 30);
    let renewed = Authority::new("db", &key(1), time(NOW + 1_000_000)).unwrap();
    assert_ne!(renewed.certificate(), authority().certificate());
    let root = Certificate::from_pem(renewed.certificate()).unwrap();
    assert!(is_signed_by(&old, &key(1)));
    assert_eq!(root.tbs_certificate().subject(), old.tbs_certificate().issuer());
}

#[test]
fn a_name_that_no_certificate_can_have_is_named() {
    let names = ["bücher".to_owned()];
    let request = Request { common_name: "db", usage: Usage::Server, names: &names, days: 1 };
    let error = authority().sign(key(2), &request).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("bücher"), "{error}");
    let error = authority().sign("no key".into(), &request).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("isn't one on P-256"), "{error}");
}
