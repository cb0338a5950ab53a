package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func files(t *testing.T) (cert, key string) {
	d := t.TempDir()
	return filepath.Join(d, "ca.crt"), filepath.Join(d, "ca.key")
}

func TestAuthorityIsUsedAgainUntilItEndsSoon(t *testing.T) {
	cert, key := files(t)
	pem := func(at time.Time) string {
		a, err := LoadOrCreate(cert, key, "ca", at)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.CertPEM)
	}
	first := pem(now)
	if pem(now.AddDate(0, 10, 0)) != first {
		t.Error("a good authority was replaced")
	}
	if pem(now.AddDate(0, 11, 15)) == first {
		t.Error("an authority that ends soon was kept")
	}
}

func TestDamagedAuthorityIsReplaced(t *testing.T) {
	cert, key := files(t)
	if _, err := LoadOrCreate(cert, key, "ca", now); err != nil {
		t.Fatal(err)
	}
	_, otherKey := files(t)
	if _, err := LoadOrCreate(filepath.Join(t.TempDir(), "x"), otherKey, "ca", now); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(otherKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "noise": []byte("noise"), "another's key": foreign} {
		if err := os.WriteFile(key, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrCreate(cert, key, "ca", now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := load(cert, key, now); err != nil {
			t.Errorf("%s: the new one: %v", name, err)
		}
	}
}

func TestIssuedCertificatesAreGoodForTheirUse(t *testing.T) {
	cert, key := files(t)
	a, err := LoadOrCreate(cert, key, "ca", now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CertPEM)
	d := t.TempDir()
	c, k := filepath.Join(d, "c"), filepath.Join(d, "k")
	leaf := func() *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(c, k)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}

	if err := a.IssueServer(c, k, "server", []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}, now); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if _, err := leaf().Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := a.IssueClient(c, k, "me", []string{"g1", "g2"}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := leaf().Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if s := leaf().Subject; s.CommonName != "me" || len(s.Organization) != 2 {
		t.Errorf("subject %v", s)
	}
	if info, err := os.Stat(k); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode: %v, %v", info.Mode(), err)
	}
}
