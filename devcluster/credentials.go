package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"mistletoe.dev/devcluster/internal/home"
	"mistletoe.dev/devcluster/internal/pki"
)

// Users of a cluster, apart from Kubernetes' own.
const (
	userAdmin      = "devcluster-admin"      // the kubeconfigs; group system:masters
	userLimited    = "devcluster-limited"    // may do nothing until RBAC says so
	userSupervisor = "devcluster-supervisor" // readiness checks, nodes, storage classes
	userKwok       = "devcluster-kwok"
	userDNS        = "devcluster-dns" // CoreDNS, of a real node
)

// account is a row of the static token file.
type account struct {
	user, group string
	kubeconfig  string // its file
}

func accounts(dir home.Dir) []account {
	const masters = "system:masters"
	return []account{
		{userAdmin, masters, dir.TokenKubeconfig()},
		{userLimited, "devcluster-limited", dir.LimitedKubeconfig()},
		{userSupervisor, masters, dir.Internal("supervisor.kubeconfig")},
		{userKwok, masters, dir.Internal("kwok.kubeconfig")},
		{"system:kube-controller-manager", "", dir.Internal("kube-controller-manager.kubeconfig")},
		{"system:kube-scheduler", "", dir.Internal("kube-scheduler.kubeconfig")},
	}
}

// writeCredentials makes certificates, keys, tokens and kubeconfigs. What is there of
// the CA and the service account key is used again. A real node has accounts of its own.
func writeCredentials(name home.Name, dir home.Dir, server string, ofNode []account, now time.Time) error {
	ca, err := pki.LoadOrCreate(dir.CACert(), dir.CAKey(), "devcluster-ca", now)
	if err != nil {
		return err
	}
	if err := pki.CreateKeyPair(dir.Internal("service-account.key"), dir.Internal("service-account.pub")); err != nil {
		return err
	}
	err = ca.IssueServer(dir.Internal("server.crt"), dir.Internal("server.key"), "kube-apiserver",
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)}, now)
	if err != nil {
		return err
	}
	if err := ca.IssueClient(dir.AdminCert(), dir.AdminKey(), userAdmin, []string{"system:masters"}, now); err != nil {
		return err
	}
	// By it the API server asks our kubelet for logs.
	if err := ca.IssueClient(dir.Internal("kubelet-client.crt"), dir.Internal("kubelet-client.key"), "kube-apiserver", nil, now); err != nil {
		return err
	}
	var tokens strings.Builder
	for _, a := range append(accounts(dir), ofNode...) {
		token := newToken()
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, a.user, a.user, a.group)
		if err := writeKubeconfig(a.kubeconfig, name, server, ca.CertPEM, a.user, &clientcmdapi.AuthInfo{Token: token}); err != nil {
			return err
		}
	}
	if err := os.WriteFile(dir.Internal("tokens.csv"), []byte(tokens.String()), 0o600); err != nil {
		return err
	}
	cert, err := os.ReadFile(dir.AdminCert())
	if err != nil {
		return err
	}
	key, err := os.ReadFile(dir.AdminKey())
	if err != nil {
		return err
	}
	return writeKubeconfig(dir.Kubeconfig(), name, server, ca.CertPEM, userAdmin,
		&clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

func writeKubeconfig(file string, name home.Name, server string, ca []byte, user string, auth *clientcmdapi.AuthInfo) error {
	cluster := "devcluster-" + string(name)
	k := clientcmdapi.NewConfig()
	k.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	k.AuthInfos[user] = auth
	k.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	k.CurrentContext = cluster
	b, err := clientcmd.Write(*k)
	if err != nil {
		return err
	}
	return home.WriteFile(file, b, 0o600)
}

func newToken() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
