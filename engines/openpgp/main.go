// Program openpgp is the engine that checks Helm's provenance files (NAME-VERSION.tgz.prov): the keyring and the file are
// below /package, and its answer says who signed, and what. README.md tells what it checks, and what the host does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"helm.sh/helm/v4/pkg/provenance"
)

// Files of the package.
const (
	keyringFile = "keyring"
	provFile    = "chart.prov"
)

type input struct {
	Data struct {
		Now int64 `json:"now"` // seconds since 1970
	} `json:"data"`
}

type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Data       result `json:"data"`
}

type result struct {
	Result  string            `json:"result"` // Ok or Err
	Message string            `json:"message,omitempty"`
	Files   map[string]string `json:"files"`
	Exports *answer           `json:"exports,omitempty"`
}

// generate reads one MistInput and writes one MistResult. A file that proves nothing is a result, and no failure.
func generate(in io.Reader, out io.Writer, root string) error {
	return json.NewEncoder(out).Encode(document{
		APIVersion: "mistletoe.dev/v1", Kind: "MistResult", Data: resultOf(in, root)})
}

func resultOf(in io.Reader, root string) (r result) {
	defer func() {
		if cause := recover(); cause != nil {
			r = result{Result: "Err", Message: fmt.Sprintf("the OpenPGP engine failed: %v", cause)}
		}
	}()
	var asked input
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return result{Result: "Err", Message: fmt.Sprintf("the input can't be read: %v", err)}
	}
	prov, err := os.ReadFile(filepath.Join(root, provFile))
	if err != nil {
		return result{Result: "Err", Message: err.Error()}
	}
	ring, err := readKeyring(filepath.Join(root, keyringFile))
	if err != nil {
		return result{Result: "Ok", Files: map[string]string{},
			Exports: &answer{Fault: badKeyring, Detail: err.Error()}}
	}
	checked := verify(ring, prov, time.Unix(asked.Data.Now, 0))
	return result{Result: "Ok", Files: map[string]string{}, Exports: &checked}
}

// readKeyring takes what Helm takes: OpenPGP packets, armored blocks of them, GnuPG's keybox.
func readKeyring(path string) (openpgp.EntityList, error) {
	signatory, err := provenance.NewFromKeyring(path, "")
	if err != nil {
		return nil, err
	}
	if len(signatory.KeyRing) == 0 {
		return nil, fmt.Errorf("it holds no key")
	}
	return signatory.KeyRing, nil
}
