package main

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"helm.sh/helm/v4/pkg/provenance"
)

// Fault is what is wrong with a provenance file or a keyring; the host has words for each. README.md lists them.
type Fault string

const (
	badKeyring        Fault = "badKeyring"
	notSigned         Fault = "notSigned"
	textOutside       Fault = "textOutside"
	damaged           Fault = "damaged"
	severalSignatures Fault = "severalSignatures"
	otherKind         Fault = "otherKind"
	weakHash          Fault = "weakHash"
	weakKey           Fault = "weakKey"
	unknownKey        Fault = "unknownKey"
	notForSigning     Fault = "notForSigning"
	wrongSignature    Fault = "wrongSignature"
	fromFuture        Fault = "fromFuture"
	expiredSignature  Fault = "expiredSignature"
	expiredKey        Fault = "expiredKey"
	revokedKey        Fault = "revokedKey"
	badText           Fault = "badText"
)

// answer is what the host gets. With a fault, the signer is known only as far as the signature got.
type answer struct {
	Fault    Fault             `json:"fault,omitempty"`
	Detail   string            `json:"detail,omitempty"` // the library's own words
	Signer   *signer           `json:"signer,omitempty"`
	Metadata *metadata         `json:"metadata,omitempty"` // of the chart, as it was signed
	Files    map[string]string `json:"files,omitempty"`    // name: "sha256:…"
}

type signer struct {
	KeyID       string   `json:"keyId"`                 // that the signature names
	Fingerprint string   `json:"fingerprint,omitempty"` // of the primary key; absent: no key of the keyring
	SigningKey  string   `json:"signingKey,omitempty"`  // fingerprint of the key that signed, perhaps a subkey
	Identities  []string `json:"identities,omitempty"`
	Algorithm   string   `json:"algorithm,omitempty"`
	Hash        string   `json:"hash,omitempty"`
	SignedAt    int64    `json:"signedAt,omitempty"`    // seconds since 1970
	Certificate []byte   `json:"certificate,omitempty"` // the key's own packets
}

type metadata struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

const (
	clockSkew       = 5 * time.Minute // the clock of whoever signs may be a little ahead
	minRSABits      = 2048
	maxIdentities   = 20
	maxCertificate  = 64 << 10
	maxIdentityText = 300
)

// Hashes that a signature may be made of; SHA-1 and MD5 can be given the same digest for two texts.
var strongHashes = []crypto.Hash{
	crypto.SHA256, crypto.SHA384, crypto.SHA512, crypto.SHA3_256, crypto.SHA3_512,
}

// verify checks the clear-signed text of a .prov file with the keys of a ring, as of now.
func verify(ring openpgp.EntityList, prov []byte, now time.Time) answer {
	block, rest := clearsign.Decode(prov)
	if block == nil {
		return answer{Fault: notSigned}
	}
	// Decode skips what stands before the message; whoever reads the file takes it for signed.
	start := []byte("-----BEGIN PGP SIGNED MESSAGE-----")
	if !bytes.HasPrefix(bytes.TrimSpace(prov), start) || len(bytes.TrimSpace(rest)) > 0 {
		return answer{Fault: textOutside}
	}
	sig, fault, detail := onlySignature(block.ArmoredSignature.Body)
	if fault != "" {
		return answer{Fault: fault, Detail: detail}
	}
	a := answer{Signer: &signer{
		KeyID:    fmt.Sprintf("%016X", *sig.IssuerKeyId),
		Hash:     sig.Hash.String(),
		SignedAt: sig.CreationTime.Unix(),
	}}
	if !slices.Contains(strongHashes, sig.Hash) {
		return a.failed(weakHash, sig.Hash.String())
	}
	key, fault, err := signedBy(ring, sig, block.Bytes)
	if key != nil {
		a.describe(*key)
	}
	if fault != "" {
		return a.failed(fault, text(err))
	}
	if isWeak(key.PublicKey) {
		return a.failed(weakKey, a.Signer.Algorithm)
	}
	if fault := outdated(key, sig, now); fault != "" {
		return a.failed(fault, "")
	}
	a.Metadata = &metadata{}
	sums := &provenance.SumCollection{}
	if err := provenance.ParseMessageBlock(block.Plaintext, a.Metadata, sums); err != nil {
		a.Metadata = nil
		return a.failed(badText, err.Error())
	}
	a.Files = sums.Files
	return a
}

func (a answer) failed(fault Fault, detail string) answer {
	a.Fault, a.Detail = fault, detail
	return a
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// onlySignature reads the one signature packet that there must be.
func onlySignature(armored io.Reader) (*packet.Signature, Fault, string) {
	packets := packet.NewReader(armored)
	var only *packet.Signature
	for {
		next, err := packets.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, damaged, err.Error()
		}
		sig, ok := next.(*packet.Signature)
		if !ok {
			return nil, damaged, "it holds something else than a signature"
		}
		if only != nil {
			return nil, severalSignatures, ""
		}
		only = sig
	}
	switch {
	case only == nil:
		return nil, damaged, "it holds no signature"
	case only.IssuerKeyId == nil:
		return nil, damaged, "it names no key"
	case only.SigType != packet.SigTypeText && only.SigType != packet.SigTypeBinary:
		return nil, otherKind, ""
	}
	return only, "", ""
}

// signedBy finds the key of the ring that made the signature. A key with an error is one that didn't.
func signedBy(ring openpgp.EntityList, sig *packet.Signature, signed []byte) (*openpgp.Key, Fault, error) {
	var named []openpgp.Key
	for _, key := range ring.KeysById(*sig.IssuerKeyId) {
		// A key's identifier is 64 bits, of which a second key can be made.
		if len(sig.IssuerFingerprint) == 0 || bytes.Equal(sig.IssuerFingerprint, key.PublicKey.Fingerprint) {
			named = append(named, key)
		}
	}
	if len(named) == 0 {
		return nil, unknownKey, nil
	}
	var failure error
	for _, key := range named {
		hash, err := sig.PrepareVerify()
		if err != nil {
			return nil, damaged, err
		}
		// The lines of a clear-signed text end in CR LF already, which is all that a signature of text asks for.
		hash.Write(signed)
		if err := key.PublicKey.VerifySignature(hash, sig); err != nil {
			failure = err
			continue
		}
		if key.SelfSignature == nil || !key.SelfSignature.FlagsValid || !key.SelfSignature.FlagSign {
			return &key, notForSigning, nil
		}
		return &key, "", nil
	}
	return nil, wrongSignature, failure
}

func isWeak(key *packet.PublicKey) bool {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		bits, err := key.BitLength()
		return err != nil || bits < minRSABits-1
	case packet.PubKeyAlgoDSA, packet.PubKeyAlgoElGamal:
		return true
	}
	return false
}

// outdated tells why key and signature don't count now: the checks of openpgp.CheckDetachedSignature, which says them
// by way of errors without their order.
func outdated(key *openpgp.Key, sig *packet.Signature, now time.Time) Fault {
	if sig.CreationTime.After(now.Add(clockSkew)) {
		return fromFuture
	}
	if sig.CreationTime.After(now) {
		now = sig.CreationTime
	}
	own, identity := key.Entity.PrimarySelfSignature()
	bySubkey := key.PublicKey != key.Entity.PrimaryKey
	if key.Entity.Revoked(now) || (bySubkey && key.Revoked(now)) || (identity != nil && identity.Revoked(now)) {
		return revokedKey
	}
	if own == nil || key.Entity.PrimaryKey.KeyExpired(own, now) || own.SigExpired(now) ||
		(bySubkey && (key.PublicKey.KeyExpired(key.SelfSignature, now) || key.SelfSignature.SigExpired(now))) {
		return expiredKey
	}
	// A subkey must have agreed to belong to that key.
	if bySubkey && (key.SelfSignature.EmbeddedSignature == nil || key.SelfSignature.EmbeddedSignature.SigExpired(now)) {
		return notForSigning
	}
	if sig.SigExpired(now) {
		return expiredSignature
	}
	// It was made before its key was.
	if sig.CreationTime.Before(key.PublicKey.CreationTime) {
		return wrongSignature
	}
	for _, each := range []*packet.Signature{sig, own, key.SelfSignature} {
		for _, notation := range each.Notations {
			if notation.IsCritical {
				return otherKind
			}
		}
	}
	return ""
}

func (a *answer) describe(key openpgp.Key) {
	s := a.Signer
	s.Fingerprint = fingerprint(key.Entity.PrimaryKey)
	s.SigningKey = fingerprint(key.PublicKey)
	s.Algorithm = algorithm(key.PublicKey)
	for name, identity := range key.Entity.Identities {
		if len(identity.Revocations) == 0 {
			s.Identities = append(s.Identities, name[:min(len(name), maxIdentityText)])
		}
	}
	slices.Sort(s.Identities)
	s.Identities = s.Identities[:min(len(s.Identities), maxIdentities)]
	var certificate bytes.Buffer
	if err := key.Entity.Serialize(&certificate); err == nil && certificate.Len() <= maxCertificate {
		s.Certificate = certificate.Bytes()
	}
}

func fingerprint(key *packet.PublicKey) string {
	return fmt.Sprintf("%X", key.Fingerprint)
}

func algorithm(key *packet.PublicKey) string {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSASignOnly:
		bits, _ := key.BitLength()
		return fmt.Sprintf("RSA %d", bits)
	case packet.PubKeyAlgoDSA:
		return "DSA"
	case packet.PubKeyAlgoECDSA:
		curve, _ := key.Curve()
		return fmt.Sprintf("ECDSA %s", curve)
	case packet.PubKeyAlgoEdDSA, packet.PubKeyAlgoEd25519:
		return "Ed25519"
	case packet.PubKeyAlgoEd448:
		return "Ed448"
	}
	return fmt.Sprintf("algorithm %d", key.PubKeyAlgo)
}
