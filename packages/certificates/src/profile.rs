//! Which extensions a certificate has.

use x509_cert::builder::{Result, profile::BuilderProfile};
use x509_cert::certificate::TbsCertificate;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::Name;
use x509_cert::spki::SubjectPublicKeyInfoRef;

/// id-kp-serverAuth and id-kp-clientAuth of RFC 5280, 4.2.1.12.
const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// The side of a connection that shows the certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Usage {
    Server,
    Client,
    /// Members of a cluster, which call one another.
    Peer,
}

/// Of an authority if it has no usage.
pub struct Profile {
    pub issuer: Name,
    pub subject: Name,
    pub usage: Option<Usage>,
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        key: SubjectPublicKeyInfoRef<'_>,
        issuer_key: SubjectPublicKeyInfoRef<'_>,
        certificate: &TbsCertificate,
    ) -> Result<Vec<Extension>> {
        let subject = certificate.subject();
        let mut extensions: Vec<Extension> = Vec::new();
        let (constraints, key_usage) = match self.usage {
            None => (
                BasicConstraints { ca: true, path_len_constraint: Some(0) },
                KeyUsages::KeyCertSign | KeyUsages::CRLSign,
            ),
            Some(_) => (BasicConstraints { ca: false, path_len_constraint: None }, KeyUsages::DigitalSignature.into()),
        };
        extensions.push(constraints.to_extension(subject, &extensions)?);
        extensions.push(KeyUsage(key_usage).to_extension(subject, &extensions)?);
        if let Some(usage) = self.usage {
            let purposes = match usage {
                Usage::Server => vec![SERVER_AUTH],
                Usage::Client => vec![CLIENT_AUTH],
                Usage::Peer => vec![SERVER_AUTH, CLIENT_AUTH],
            };
            extensions.push(ExtendedKeyUsage(purposes).to_extension(subject, &extensions)?);
        }
        extensions.push(SubjectKeyIdentifier::try_from(key)?.to_extension(subject, &extensions)?);
        let authority = SubjectKeyIdentifier::try_from(issuer_key)?;
        let authority = AuthorityKeyIdentifier { key_identifier: Some(authority.0), ..Default::default() };
        extensions.push(authority.to_extension(subject, &extensions)?);
        Ok(extensions)
    }
}
