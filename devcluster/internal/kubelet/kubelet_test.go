package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mistletoe.dev/devcluster/internal/pki"
)

var (
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended   = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
)

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func pod(state, last corev1.ContainerState, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", Annotations: annotations},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: state, LastTerminationState: last}}}}
}

func only(p *corev1.Pod) Pods {
	return func(_ context.Context, namespace, name string) (*corev1.Pod, error) {
		if namespace != p.Namespace || name != p.Name {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
		}
		return p, nil
	}
}

func ask(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestLogsAreWhatTheAnnotationsSay(t *testing.T) {
	both := map[string]string{LogAnnotation: "one\ntwo\nthree", PreviousLogAnnotation: "before"}
	none := corev1.ContainerState{}
	for _, c := range []struct {
		name        string
		state, last corev1.ContainerState
		annotations map[string]string
		query       string
		code        int
		text        string
	}{
		{"running", running, none, both, "", 200, "one\ntwo\nthree\n"},
		{"ended", ended, none, both, "", 200, "one\ntwo\nthree\n"},
		{"tail", running, none, both, "?tailLines=2", 200, "two\nthree\n"},
		{"a longer tail", running, none, both, "?tailLines=9", 200, "one\ntwo\nthree\n"},
		{"no tail", running, none, both, "?tailLines=0", 200, ""},
		{"limit", running, none, both, "?tailLines=2&limitBytes=3", 200, "two"},
		{"a bad number", running, none, both, "?tailLines=x", 400, "tailLines"},
		{"previous", running, ended, both, "?previous=true", 200, "before\n"},
		{"previous, as the present", running, ended, map[string]string{LogAnnotation: "a"}, "?previous=true", 200, "a\n"},
		{"no previous", running, none, both, "?previous=true", 400, `previous terminated container "main" in pod "p" not found`},
		{"between two runs", waiting("CrashLoopBackOff"), ended, both, "", 200, "before\n"},
		{"before the first", waiting("ImagePullBackOff"), none, both, "", 400, "waiting to start: trying and failing to pull image"},
		{"of one container", running, none, map[string]string{LogAnnotation: "all", LogAnnotation + ".main": "mine"}, "", 200, "mine\n"},
		{"without annotation", running, none, nil, "", 200, ""},
	} {
		code, text := ask(t, Handler(only(pod(c.state, c.last, c.annotations))), "/containerLogs/n/p/main"+c.query)
		if code != c.code || !strings.Contains(text, c.text) || code == 200 && text != c.text {
			t.Errorf("%s: %d %q", c.name, code, text)
		}
	}
}

func TestWhatIsNotThere(t *testing.T) {
	h := Handler(only(pod(running, corev1.ContainerState{}, nil)))
	for path, want := range map[string]int{
		"/containerLogs/n/q/main": 404, "/containerLogs/n/p/other": 400, "/exec/n/p/main": 404, "/containerLogs/n/p": 404,
	} {
		if code, text := ask(t, h, path); code != want {
			t.Errorf("%s: %d %q", path, code, text)
		}
	}
	broken := Handler(func(context.Context, string, string) (*corev1.Pod, error) { return nil, errors.New("no server") })
	if code, _ := ask(t, broken, "/containerLogs/n/p/main"); code != 500 {
		t.Errorf("a broken lookup is %d", code)
	}
}

func TestFollowEndsWithTheContainer(t *testing.T) {
	var over atomic.Bool
	lookups := 0
	h := Handler(func(context.Context, string, string) (*corev1.Pod, error) {
		lookups++
		state := running
		if lookups > 3 {
			over.Store(true)
			state = ended
		}
		return pod(state, corev1.ContainerState{}, map[string]string{LogAnnotation: "text"}), nil
	})
	code, text := ask(t, h, "/containerLogs/n/p/main?follow=true")
	if code != 200 || text != "text\n" || !over.Load() {
		t.Errorf("%d %q after %d lookups", code, text, lookups)
	}
}

func TestOnlyCertificatesOfTheClusterMayAsk(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	now := time.Now()
	ca, err := pki.LoadOrCreate(file("ca.crt"), file("ca.key"), "ca", now)
	if err != nil {
		t.Fatal(err)
	}
	if err := ca.IssueServer(file("server.crt"), file("server.key"), "s", nil, []net.IP{net.IPv4(127, 0, 0, 1)}, now); err != nil {
		t.Fatal(err)
	}
	if err := ca.IssueClient(file("client.crt"), file("client.key"), "c", nil, now); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(listener, only(pod(running, corev1.ContainerState{}, map[string]string{LogAnnotation: "hello"})),
		file("server.crt"), file("server.key"), file("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()

	pem, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client, err := tls.LoadX509KeyPair(file("client.crt"), file("client.key"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(certificates ...tls.Certificate) (string, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certificates}}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get("https://" + server.listener.Addr().String() + "/containerLogs/n/p/main")
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	if text, err := get(client); err != nil || text != "hello\n" {
		t.Errorf("with a certificate: %q %v", text, err)
	}
	if text, err := get(); err == nil {
		t.Errorf("without a certificate: %q", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the end: %v", err)
	}
}
