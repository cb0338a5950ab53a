package main

import "fmt"

// Whose requests the audit log holds. Each request gives one line when it is answered
// (stage ResponseComplete), a watch also one when it begins (ResponseStarted).
const (
	auditClients = "clients" // all but the cluster's own components'
	auditAll     = "all"
	auditOff     = "off"
)

func checkAudit(s string) error {
	switch s {
	case auditClients, auditAll, auditOff:
		return nil
	}
	return usagef("--audit is clients, all or off, not %q", s)
}

// auditPolicy is the policy file for a choice of --audit other than off.
func auditPolicy(choice string) string {
	own := ""
	if choice == auditClients {
		own = fmt.Sprintf(`
- level: None
  users: [%q, %q, %q, "system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system", "system:nodes"]`, userSupervisor, userKwok, userDNS)
	}
	return fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:%s
- level: Metadata
`, own)
}
