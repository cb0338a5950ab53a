// floor is the least that an operation can cost: a bare client that does it to COUNT ConfigMaps in parallel over HTTP/2,
// without discovery, without a look at what is there and without a record.
//
//	floor apply|list|delete KUBECONFIG NAMESPACE COUNT [WORKERS]
//
// apply writes each of them, delete removes each of them, list reads all in one request.
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

func usage() {
	fmt.Fprintln(os.Stderr, "usage: floor apply|list|delete KUBECONFIG NAMESPACE COUNT [WORKERS]")
	os.Exit(2)
}

type client struct {
	http *http.Client
	base string // the collection
}

func (c *client) send(method, url, body string) []byte {
	request, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	fail(err)
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	request.Header.Set("User-Agent", "floor")
	response, err := c.http.Do(request)
	fail(err)
	answer, err := io.ReadAll(response.Body)
	fail(err)
	response.Body.Close()
	if response.StatusCode > 201 {
		fail(fmt.Errorf("%s %s: %s: %s", method, url, response.Status, answer))
	}
	return answer
}

func (c *client) apply(i int) {
	name := fmt.Sprintf("cm-%d", i)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"key":"value %d"}}`, name, i)
	c.send(http.MethodPatch, c.base+"/"+name+"?fieldManager=floor", body)
}

func (c *client) remove(i int) {
	c.send(http.MethodDelete, fmt.Sprintf("%s/cm-%d", c.base, i), "")
}

func main() {
	if len(os.Args) < 5 {
		usage()
	}
	config, err := os.ReadFile(os.Args[2])
	fail(err)
	count, err := strconv.Atoi(os.Args[4])
	fail(err)
	workers := 32
	if len(os.Args) > 5 {
		workers, err = strconv.Atoi(os.Args[5])
		fail(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(decoded(config, "certificate-authority-data"))
	certificate, err := tls.X509KeyPair(decoded(config, "client-certificate-data"), decoded(config, "client-key-data"))
	fail(err)
	c := &client{
		http: &http.Client{Transport: &http.Transport{
			ForceAttemptHTTP2: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}},
		}},
		base: field(config, "server") + "/api/v1/namespaces/" + os.Args[3] + "/configmaps",
	}
	var work func(int)
	switch os.Args[1] {
	case "apply":
		work = c.apply
	case "delete":
		work = c.remove
	case "list":
		c.send(http.MethodGet, c.base, "")
		return
	default:
		usage()
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
}
