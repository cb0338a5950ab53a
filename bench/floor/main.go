// floor is the least that an install can cost: a bare client that applies COUNT ConfigMaps in parallel over HTTP/2,
// without discovery, without a look at what is there and without a record. It prints the seconds of the writes.
//
//	floor KUBECONFIG NAMESPACE COUNT [WORKERS]
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// field reads one base64 or plain scalar of a kubeconfig with a single cluster and user, as devcluster writes it.
func field(config []byte, name string) string {
	found := regexp.MustCompile(name + `:\s*"?([^"\s]+)"?`).FindSubmatch(config)
	if found == nil {
		fail(fmt.Errorf("the kubeconfig has no %s", name))
	}
	return string(found[1])
}

func decoded(config []byte, name string) []byte {
	bytes, err := base64.StdEncoding.DecodeString(field(config, name))
	fail(err)
	return bytes
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: floor KUBECONFIG NAMESPACE COUNT [WORKERS]")
		os.Exit(2)
	}
	config, err := os.ReadFile(os.Args[1])
	fail(err)
	count, err := strconv.Atoi(os.Args[3])
	fail(err)
	workers := 32
	if len(os.Args) > 4 {
		workers, err = strconv.Atoi(os.Args[4])
		fail(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decoded(config, "certificate-authority-data"))
	certificate, err := tls.X509KeyPair(decoded(config, "client-certificate-data"), decoded(config, "client-key-data"))
	fail(err)
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}},
	}}
	base := field(config, "server") + "/api/v1/namespaces/" + os.Args[2] + "/configmaps/"

	began := time.Now()
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				name := fmt.Sprintf("floor-%d", i)
				body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"key":"value %d"}}`, name, i)
				request, err := http.NewRequest(http.MethodPatch, base+name+"?fieldManager=floor", bytes.NewBufferString(body))
				fail(err)
				request.Header.Set("Content-Type", "application/apply-patch+yaml")
				request.Header.Set("User-Agent", "floor")
				response, err := client.Do(request)
				fail(err)
				answer, err := io.ReadAll(response.Body)
				fail(err)
				response.Body.Close()
				if response.StatusCode > 201 {
					fail(fmt.Errorf("%s: %s", response.Status, answer))
				}
			}
		})
	}
	group.Wait()
	fmt.Printf("%.4f\n", time.Since(began).Seconds())
}
