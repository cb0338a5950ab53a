package main

import (
	"bytes"
	"compress/gzip"
	"crypto"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

var (
	made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now  = made.Add(24 * time.Hour)
)

const message = "apiVersion: v2\nname: web\nversion: 1.0.0\n\n...\nfiles:\n  web-1.0.0.tgz: sha256:00ff\n"

func config(change ...func(*packet.Config)) *packet.Config {
	c := &packet.Config{Time: func() time.Time { return made }, Algorithm: packet.PubKeyAlgoEdDSA,
		DefaultHash: crypto.SHA512}
	for _, each := range change {
		each(c)
	}
	return c
}

func entity(t *testing.T, c *packet.Config) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity("Ann", "", "ann@team.example", c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func signed(t *testing.T, text string, c *packet.Config, keys ...*packet.PrivateKey) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := clearsign.EncodeMulti(&out, keys, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// public is the ring of that key as somebody exports it.
func public(t *testing.T, entities ...*openpgp.Entity) openpgp.EntityList {
	t.Helper()
	var out bytes.Buffer
	for _, e := range entities {
		if err := e.Serialize(&out); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := openpgp.ReadKeyRing(&out)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestAGoodFileTellsWhoSignedWhat(t *testing.T) {
	ann := entity(t, config())
	got := verify(public(t, ann), signed(t, message, config(), ann.PrivateKey), now)
	if got.Fault != "" {
		t.Fatal(got.Fault, got.Detail)
	}
	if got.Signer.Fingerprint != fmt.Sprintf("%X", ann.PrimaryKey.Fingerprint) || got.Signer.SignedAt != made.Unix() ||
		got.Signer.Identities[0] != "Ann <ann@team.example>" || got.Signer.Algorithm != "Ed25519" {
		t.Error(*got.Signer)
	}
	if got.Metadata.Name != "web" || got.Metadata.Version != "1.0.0" || got.Files["web-1.0.0.tgz"] != "sha256:00ff" {
		t.Error(got.Metadata, got.Files)
	}
	ring, err := openpgp.ReadKeyRing(bytes.NewReader(got.Signer.Certificate))
	if err != nil || ring[0].PrivateKey != nil {
		t.Error("the certificate can't be read, or holds a secret", err)
	}
}

func TestWhatProvesNothing(t *testing.T) {
	ann, bob := entity(t, config()), entity(t, config())
	good := signed(t, message, config(), ann.PrivateKey)
	briefly := entity(t, config(func(c *packet.Config) { c.KeyLifetimeSecs = 3600 }))
	revoked := entity(t, config())
	if err := revoked.RevokeKey(packet.NoReason, "gone", config()); err != nil {
		t.Fatal(err)
	}
	rsa := func(bits int) *openpgp.Entity {
		return entity(t, config(func(c *packet.Config) { c.Algorithm, c.RSABits = packet.PubKeyAlgoRSA, bits }))
	}
	weak := rsa(1024)
	later := func(by time.Duration) *packet.Config {
		return config(func(c *packet.Config) { c.Time = func() time.Time { return now.Add(by) } })
	}
	for _, test := range []struct {
		name string
		ring openpgp.EntityList
		prov []byte
		want Fault
	}{
		{"empty", public(t, ann), nil, notSigned},
		{"text alone", public(t, ann), []byte(message), notSigned},
		{"a page", public(t, ann), []byte("<html></html>"), notSigned},
		{"cut", public(t, ann), good[:len(good)-60], notSigned},
		{"text before", public(t, ann), append([]byte("name: evil\n"), good...), textOutside},
		{"text after", public(t, ann), append(bytes.Clone(good), []byte("\nfiles: {}\n")...), textOutside},
		{"two messages", public(t, ann), append(append(bytes.Clone(good), '\n'), good...), textOutside},
		{"two signatures", public(t, ann, bob), signed(t, message, config(), ann.PrivateKey, bob.PrivateKey),
			severalSignatures},
		{"changed text", public(t, ann), bytes.Replace(good, []byte("00ff"), []byte("00fe"), 1), wrongSignature},
		{"another key", public(t, bob), good, unknownKey},
		{"expired key", public(t, briefly), signed(t, message, config(), briefly.PrivateKey), expiredKey},
		{"revoked key", public(t, revoked), signed(t, message, config(), revoked.PrivateKey), revokedKey},
		{"expired signature", public(t, ann),
			signed(t, message, config(func(c *packet.Config) { c.SigLifetimeSecs = 60 }), ann.PrivateKey), expiredSignature},
		{"from the future", public(t, ann), signed(t, message, later(time.Hour), ann.PrivateKey), fromFuture},
		{"a clock that is ahead", public(t, ann), signed(t, message, later(time.Minute), ann.PrivateKey), ""},
		{"SHA-1", public(t, ann), rehashed(t, ann, crypto.SHA1), weakHash},
		{"RSA 1024", public(t, weak), signed(t, message, config(), weak.PrivateKey), weakKey},
		{"no chart", public(t, ann), signed(t, "hello", config(), ann.PrivateKey), badText},
		{"no YAML", public(t, ann), signed(t, "a: [\n...\nb: {\n", config(), ann.PrivateKey), badText},
	} {
		if got := verify(test.ring, test.prov, now); got.Fault != test.want {
			t.Errorf("%s: %q (%s), wanted %q", test.name, got.Fault, got.Detail, test.want)
		} else if got.Fault != "" && (got.Files != nil || got.Metadata != nil) {
			t.Errorf("%s: it says what was signed, although it wasn't", test.name)
		}
	}
}

// rehashed is a message that is signed by way of a hash that clearsign doesn't take for new ones.
func rehashed(t *testing.T, e *openpgp.Entity, hash crypto.Hash) []byte {
	t.Helper()
	sig := &packet.Signature{Version: 4, SigType: packet.SigTypeText, PubKeyAlgo: e.PrimaryKey.PubKeyAlgo, Hash: hash,
		CreationTime: made, IssuerKeyId: &e.PrimaryKey.KeyId}
	h := hash.New()
	h.Write([]byte(strings.TrimSuffix(strings.ReplaceAll(message, "\n", "\r\n"), "\r\n")))
	plain := false // no salt, which the library has for strong hashes only
	c := config(func(c *packet.Config) { c.NonDeterministicSignaturesViaNotation = &plain })
	if err := sig.Sign(h, e.PrivateKey, c); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.SignatureType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sig.Serialize(w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return []byte(fmt.Sprintf("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\n%s%s", message, out.String()))
}

// A signature block with anything else in it, compressed without end among others, is no signature.
func TestTheSignatureBlockHoldsOneSignature(t *testing.T) {
	ann := entity(t, config())
	var zeros bytes.Buffer
	z := gzip.NewWriter(&zeros)
	z.Write(make([]byte, 64<<20))
	z.Close()
	for name, body := range map[string][]byte{
		"nothing": nil, "garbage": []byte("garbage"), "a compressed packet": append([]byte{0xc8, 0xff, 0, 0, 0xff, 0, 2}, zeros.Bytes()...),
	} {
		var out bytes.Buffer
		w, _ := armor.Encode(&out, openpgp.SignatureType, nil)
		w.Write(body)
		w.Close()
		prov := fmt.Sprintf("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n%s%s", message, out.String())
		if got := verify(public(t, ann), []byte(prov), now); got.Fault != damaged && got.Fault != notSigned {
			t.Errorf("%s: %q", name, got.Fault)
		}
	}
}

// A subkey signs for its primary key, which is the one that people know.
func TestASubkeyMaySign(t *testing.T) {
	ann := entity(t, config())
	if err := ann.AddSigningSubkey(config()); err != nil {
		t.Fatal(err)
	}
	sub := ann.Subkeys[len(ann.Subkeys)-1]
	prov := signed(t, message, config(), sub.PrivateKey)
	got := verify(public(t, ann), prov, now)
	if got.Fault != "" || got.Signer.Fingerprint != fmt.Sprintf("%X", ann.PrimaryKey.Fingerprint) ||
		got.Signer.SigningKey != fmt.Sprintf("%X", sub.PublicKey.Fingerprint) {
		t.Fatal(got.Fault, got.Signer)
	}
	if err := ann.RevokeSubkey(&ann.Subkeys[len(ann.Subkeys)-1], packet.KeyCompromised, "", config()); err != nil {
		t.Fatal(err)
	}
	if got := verify(public(t, ann), prov, now); got.Fault != revokedKey {
		t.Error(got.Fault)
	}
	// A compromised key signed nothing, whenever.
	other := entity(t, config())
	stolen := signed(t, message, config(), other.PrivateKey)
	if err := other.RevokeKey(packet.KeyCompromised, "", config()); err != nil {
		t.Fatal(err)
	}
	if got := verify(public(t, other), stolen, now); got.Fault != revokedKey {
		t.Error(got.Fault)
	}
}

// Helm's own files, in every form of keyring that it reads.
func TestHelmsFiles(t *testing.T) {
	directory := os.Getenv("HELM_DIRECTORY")
	if directory == "" {
		t.Skip("engines/openpgp/build.sh --test names Helm's module")
	}
	files := filepath.Join(directory, "pkg", "provenance", "testdata")
	prov, err := os.ReadFile(filepath.Join(files, "hashtest-1.2.3.tgz.prov"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"helm-test-key.pub", "helm-test-key.asc", "helm-test-key.kbx", "helm-mixed-keyring.pub",
		"helm-mixed-keyring.asc", "helm-mixed-keyring.kbx"} {
		ring, err := readKeyring(filepath.Join(files, name))
		if err != nil {
			t.Error(name, err)
			continue
		}
		got := verify(ring, prov, now)
		if got.Fault != "" || got.Signer.Fingerprint != "5E615389B53CA37F0EE60BD3843BBF981FC18762" ||
			got.Metadata.Name != "hashtest" ||
			got.Files["hashtest-1.2.3.tgz"] != "sha256:c6841b3a895f1444a6738b5d04564a57e860ce42f8519c3be807fb6d9bee7888" {
			t.Error(name, got.Fault, got.Signer, got.Files)
		}
	}
}

func TestTheAnswerIsAResult(t *testing.T) {
	root := t.TempDir()
	ask := func() document {
		var out bytes.Buffer
		in := strings.NewReader(fmt.Sprintf(`{"data": {"now": %d, "name": "x"}}`, now.Unix()))
		if err := generate(in, &out, root); err != nil {
			t.Fatal(err)
		}
		var got document
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	ann := entity(t, config())
	os.WriteFile(filepath.Join(root, provFile), signed(t, message, config(), ann.PrivateKey), 0o600)
	for _, bad := range []string{"", "no keys", "-----BEGIN PGP MESSAGE-----\n\naGVsbG8=\n-----END PGP MESSAGE-----\n"} {
		os.WriteFile(filepath.Join(root, keyringFile), []byte(bad), 0o600)
		if got := ask(); got.Data.Result != "Ok" || got.Data.Exports.Fault != badKeyring {
			t.Errorf("%q: %v", bad, got.Data)
		}
	}
	var ring bytes.Buffer
	ann.Serialize(&ring)
	os.WriteFile(filepath.Join(root, keyringFile), ring.Bytes(), 0o600)
	if got := ask(); got.Data.Exports == nil || got.Data.Exports.Fault != "" {
		t.Error(got.Data)
	}
}
