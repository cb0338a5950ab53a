// A small web server: a Deployment and its Service. A package is a program that reads one JSON document from standard
// input and prints objects. If it ends with another code than 0, what it wrote to standard error is the reason.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// inputs are as mistletoe.yaml describes them; the host has checked them and put the defaults in.
type inputs struct {
	Name        string `json:"name"`
	Replicas    int    `json:"replicas"`
	Image       string `json:"image"`
	ServiceType string `json:"serviceType"`
}

type object map[string]any

func main() {
	var document struct {
		Data inputs `json:"data"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&document); err != nil {
		fail("can't read the input: %v", err)
	}
	// JSON is YAML, so a List of objects may be either.
	list := object{"apiVersion": "v1", "kind": "List", "items": []object{
		deployment(document.Data),
		service(document.Data),
	}}
	if err := json.NewEncoder(os.Stdout).Encode(list); err != nil {
		fail("can't print the objects: %v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func deployment(in inputs) object {
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   object{"name": in.Name, "labels": labels(in)},
		"spec": object{
			"replicas": in.Replicas,
			"selector": object{"matchLabels": labels(in)},
			"template": object{
				"metadata": object{"labels": labels(in)},
				"spec": object{
					"securityContext": object{
						"runAsNonRoot":   true,
						"seccompProfile": object{"type": "RuntimeDefault"},
					},
					"containers": []object{{
						"name":           "web",
						"image":          in.Image,
						"ports":          []object{{"name": "http", "containerPort": 8080}},
						"readinessProbe": object{"httpGet": object{"path": "/", "port": "http"}},
						"securityContext": object{
							"allowPrivilegeEscalation": false,
							"capabilities":             object{"drop": []string{"ALL"}},
						},
						"resources": object{
							"requests": object{"cpu": "10m", "memory": "16Mi"},
							"limits":   object{"memory": "64Mi"},
						},
					}},
				},
			},
		},
	}
}

func service(in inputs) object {
	return object{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   object{"name": in.Name, "labels": labels(in)},
		"spec": object{
			"type":     in.ServiceType,
			"selector": labels(in),
			"ports":    []object{{"name": "http", "port": 80, "targetPort": "http"}},
		},
	}
}

// labels find the Pods: a Deployment's selector can't change, so these stay as they are for ever.
func labels(in inputs) object {
	return object{"app.kubernetes.io/name": "my-package", "app.kubernetes.io/instance": in.Name}
}
