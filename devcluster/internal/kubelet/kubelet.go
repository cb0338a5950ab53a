// Package kubelet serves container logs as the kubelets of real nodes do, so that the API server's pods/log, and
// with it `kubectl logs`, works. kwok plays the rest of the node; no container ever ran, so the text is what an
// annotation of the Pod says.
package kubelet

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Annotations of a Pod; each may end in ".CONTAINER" to be about one container.
const (
	LogAnnotation         = "mistletoe.dev/dev-log"
	PreviousLogAnnotation = "mistletoe.dev/dev-previous-log" // default: LogAnnotation
)

// followInterval is how often a followed Pod is looked at.
const followInterval = 200 * time.Millisecond

// Pods looks a Pod up.
type Pods func(ctx context.Context, namespace, name string) (*corev1.Pod, error)

// Handler answers GET /containerLogs/NAMESPACE/POD/CONTAINER with the query parameters previous, tailLines,
// limitBytes and follow; the words of its refusals are the kubelet's.
func Handler(pods Pods) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		get := func() (*corev1.Pod, error) { return pods(r.Context(), r.PathValue("namespace"), r.PathValue("pod")) }
		pod, err := get()
		if err != nil {
			code := http.StatusInternalServerError
			if apierrors.IsNotFound(err) {
				code = http.StatusNotFound
			}
			http.Error(w, err.Error(), code)
			return
		}
		container := r.PathValue("container")
		query := r.URL.Query()
		text, err := logOf(pod, container, query.Get("previous") == "true")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		part, err := cut([]byte(text), query.Get("tailLines"), query.Get("limitBytes"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Write(part)
		if query.Get("follow") == "true" {
			follow(r.Context(), w, get, container)
		}
	})
	return mux
}

// follow holds the answer open while the container runs.
func follow(ctx context.Context, w http.ResponseWriter, get func() (*corev1.Pod, error), container string) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	for {
		pod, err := get()
		if err != nil {
			return
		}
		if s := statusOf(pod, container); s == nil || s.State.Running == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(followInterval):
		}
	}
}

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

// logOf is what a container wrote; an error if it did not run.
func logOf(pod *corev1.Pod, container string, previous bool) (string, error) {
	s := statusOf(pod, container)
	if s == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	current := annotation(pod, LogAnnotation, container)
	before := annotation(pod, PreviousLogAnnotation, container)
	if before == "" {
		before = current
	}
	ended := s.LastTerminationState.Terminated != nil
	switch {
	case previous && !ended:
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous:
		return before, nil
	case s.State.Waiting != nil && ended: // between two runs there is the log of the last
		return before, nil
	case s.State.Waiting != nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, waitingWords(s.State.Waiting.Reason))
	}
	return current, nil
}

func waitingWords(reason string) string {
	switch reason {
	case "ImagePullBackOff", "ErrImagePull":
		return "trying and failing to pull image"
	}
	return reason
}

func annotation(pod *corev1.Pod, name, container string) string {
	text, ok := pod.Annotations[name+"."+container]
	if !ok {
		text = pod.Annotations[name]
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// cut takes the last lines, and of those the first bytes, as the kubelet does.
func cut(text []byte, tailLines, limitBytes string) ([]byte, error) {
	if tailLines != "" {
		n, err := strconv.Atoi(tailLines)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("tailLines is %q", tailLines)
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		if len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}
		if len(lines) > n {
			lines = lines[len(lines)-n:]
		}
		text = bytes.Join(lines, nil)
	}
	if limitBytes != "" {
		n, err := strconv.Atoi(limitBytes)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("limitBytes is %q", limitBytes)
		}
		text = text[:min(n, len(text))]
	}
	return text, nil
}

// Server is a running server; only who has a certificate of the cluster's CA may ask it.
type Server struct {
	Port     int
	listener net.Listener
	server   *http.Server
}

// NewServer serves on a TCP listener, which it closes at its end. certFile and keyFile are the server's, caFile signs
// its clients.
func NewServer(listener net.Listener, pods Pods, certFile, keyFile, caFile string) (*Server, error) {
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in %s", caFile)
	}
	ln := tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    authorities, ClientAuth: tls.RequireAndVerifyClientCert,
		MinVersion: tls.VersionTLS12,
	})
	return &Server{Port: ln.Addr().(*net.TCPAddr).Port, listener: ln,
		server: &http.Server{Handler: Handler(pods), ReadHeaderTimeout: 10 * time.Second}}, nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.server.Close() })
	defer stop()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
