// Package kubernetes stands in for client-go's clients, which Helm imports only so that its build information names the
// version of client-go.
package kubernetes
