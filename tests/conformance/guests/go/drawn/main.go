// Draws as programs do that know nothing of Mistletoe: from the system's random numbers and clock, through Go's own
// library. A password, and a key with a self-signed certificate. Inputs: name, host (told in a ConfigMap only), days.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"time"
)

type inputs struct {
	Name string
	Host string
	Days int
}

type object map[string]any

func secret(name string, data object) object {
	return object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}, "stringData": data}
}

func objects(in inputs) ([]object, error) {
	password := make([]byte, 16)
	if _, err := rand.Read(password); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: in.Name},
		NotBefore:    now,
		NotAfter:     now.AddDate(0, 0, in.Days),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	text := func(label string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: bytes}))
	}
	return []object{
		secret(in.Name, object{"password": hex.EncodeToString(password)}),
		secret(in.Name+"-tls", object{"tls.key": text("PRIVATE KEY", private), "tls.crt": text("CERTIFICATE", certificate)}),
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": in.Name}, "data": object{"host": in.Host}},
	}, nil
}

func run() error {
	document := struct{ Data inputs }{inputs{Host: "localhost", Days: 30}}
	if err := json.NewDecoder(os.Stdin).Decode(&document); err != nil {
		return err
	}
	all, err := objects(document.Data)
	if err != nil {
		return err
	}
	for _, each := range all {
		// JSON is YAML, so documents can simply follow one another.
		text, err := json.Marshal(each)
		if err != nil {
			return err
		}
		fmt.Printf("---\n%s\n", text)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
