package main

import (
	"mistletoe.dev/devcluster/internal/home"
)

// Arguments of the components. Notes say what isn't plain from Kubernetes' manuals.

func apiserverArgs(dir home.Dir, socket, audit string) []string {
	args := []string{
		"--etcd-servers=unix://" + socket,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		// A loopback address is no legal Endpoint: Service "kubernetes" stays without.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + dir.Internal("server.crt"), "--tls-private-key-file=" + dir.Internal("server.key"),
		"--client-ca-file=" + dir.CACert(),
		"--kubelet-certificate-authority=" + dir.CACert(),
		"--kubelet-client-certificate=" + dir.Internal("kubelet-client.crt"), "--kubelet-client-key=" + dir.Internal("kubelet-client.key"),
		// Where our kubelet listens, for fake nodes; their internal one is what Pods see, and nothing answers there. A
		// real node has only that one.
		"--kubelet-preferred-address-types=ExternalIP,InternalIP",
		"--token-auth-file=" + dir.Internal("tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		// The verifier reads public keys only, the signer PKCS#8.
		"--service-account-key-file=" + dir.Internal("service-account.pub"),
		"--service-account-signing-key-file=" + dir.Internal("service-account.key"),
		"--allow-privileged=true",
		"--shutdown-delay-duration=0s",
	}
	if audit != auditOff {
		args = append(args,
			"--audit-policy-file="+dir.Internal("audit-policy.yaml"),
			"--audit-log-path="+dir.Audit(),
			// A request is answered only when its line is written: who counts after the
			// answer counts right.
			"--audit-log-mode=blocking-strict",
			"--audit-log-maxsize=0",
		)
	}
	return args
}

func controllerManagerArgs(dir home.Dir) []string {
	return []string{
		"--kubeconfig=" + dir.Internal("kube-controller-manager.kubeconfig"),
		"--secure-port=0", "--leader-elect=false",
		"--service-account-private-key-file=" + dir.Internal("service-account.key"),
		"--root-ca-file=" + dir.CACert(),
		"--cluster-signing-cert-file=" + dir.CACert(), "--cluster-signing-key-file=" + dir.CAKey(),
		"--use-service-account-credentials=true",
		"--kube-api-qps=500", "--kube-api-burst=1000",
		// These two run in the supervisor, see namespace_controller.go.
		"--controllers=*,-namespace-controller,-garbage-collector-controller",
	}
}

func schedulerArgs(dir home.Dir) []string {
	return []string{
		"--kubeconfig=" + dir.Internal("kube-scheduler.kubeconfig"),
		"--secure-port=0", "--leader-elect=false",
		"--kube-api-qps=500", "--kube-api-burst=1000",
	}
}

func kwokArgs(dir home.Dir, besideReal bool) []string {
	args := []string{
		"--config=" + dir.Internal("kwok.yaml"),
		"--kubeconfig=" + dir.Internal("kwok.kubeconfig"),
		"--node-lease-duration-seconds=40",
		"--cidr=10.244.0.0/16", "--node-ip=" + nodeIP,
	}
	if besideReal {
		return append(args, "--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+fakeAnnotation+"=fake")
	}
	return append(args, "--manage-all-nodes=true")
}
