// Package pki makes a cluster's certificate authority and what it signs. Files are
// PEM (keys PKCS#8), so that openssl and any TLS library read them.
//
// The authority's key is RSA of 2048 bits, as kubeadm makes it: the API server verifies
// the client's certificate anew at each request, not at each connection, and against a
// P-256 authority that was a sixth of all its work. What it signs has keys of P-256,
// which are made and used in handshakes in less time.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// renewal: a CA that ends within this time is not used again.
	renewal = 30 * 24 * time.Hour
	// authorityBits: the length of the CA's key.
	authorityBits = 2048
)

// Authority signs certificates.
type Authority struct {
	CertPEM []byte
	cert    *x509.Certificate
	key     *rsa.PrivateKey
}

// LoadOrCreate takes the authority from its two files, or makes a new one there when
// they are missing, damaged, don't belong together or end soon.
func LoadOrCreate(certFile, keyFile, commonName string, now time.Time) (*Authority, error) {
	if a, err := load(certFile, keyFile, now); err == nil {
		return a, nil
	}
	key, err := rsa.GenerateKey(rand.Reader, authorityBits)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: commonName},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if err := WriteKey(keyFile, key); err != nil {
		return nil, err
	}
	if err := writeCert(certFile, der); err != nil {
		return nil, err
	}
	return load(certFile, keyFile, now)
}

func load(certFile, keyFile string, now time.Time) (*Authority, error) {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	cb, _ := pem.Decode(certPEM)
	kb, _ := pem.Decode(keyPEM)
	if cb == nil || kb == nil {
		return nil, errors.New("not PEM")
	}
	cert, err := x509.ParseCertificate(cb.Bytes)
	if err != nil {
		return nil, err
	}
	k, err := x509.ParsePKCS8PrivateKey(kb.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := k.(*rsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("key and certificate don't belong together")
	}
	if !cert.IsCA || now.Add(renewal).After(cert.NotAfter) {
		return nil, errors.New("no CA, or it ends soon")
	}
	return &Authority{CertPEM: certPEM, cert: cert, key: key}, nil
}

// IssueServer writes a server certificate for the names and addresses.
func (a *Authority) IssueServer(certFile, keyFile, commonName string, dns []string, ips []net.IP, now time.Time) error {
	return a.issue(certFile, keyFile, now, &x509.Certificate{
		Subject: pkix.Name{CommonName: commonName}, DNSNames: dns, IPAddresses: ips,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// IssueClient writes a client certificate; Kubernetes reads user and groups from it.
func (a *Authority) IssueClient(certFile, keyFile, user string, groups []string, now time.Time) error {
	return a.issue(certFile, keyFile, now, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issue(certFile, keyFile string, now time.Time, t *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t.SerialNumber, t.NotBefore, t.NotAfter = serial(), now.Add(-time.Hour), a.cert.NotAfter
	t.KeyUsage, t.BasicConstraintsValid = x509.KeyUsageDigitalSignature, true
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("can't sign %s: %w", certFile, err)
	}
	if err := writeCert(certFile, der); err != nil {
		return err
	}
	return WriteKey(keyFile, key)
}

// CreateKeyPair writes a key and its public half, unless both are there.
func CreateKeyPair(keyFile, publicFile string) error {
	if exists(keyFile) && exists(publicFile) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := WriteKey(keyFile, key); err != nil {
		return err
	}
	return os.WriteFile(publicFile, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

// WriteKey writes a private key that only its owner may read.
func WriteKey(file string, key crypto.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

func writeCert(file string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

func exists(f string) bool { _, err := os.Stat(f); return err == nil }

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err) // crypto/rand doesn't fail on Linux
	}
	return n
}
