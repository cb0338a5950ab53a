// A small web server: a Deployment and its Service.
package main

import mistletoe "mistletoe.dev/sdk/go"

// inputs is what users may set; the host has checked it and put the defaults in.
type inputs struct {
	Name        string `json:"name" doc:"The name of the release and its objects"`
	Replicas    int    `json:"replicas" doc:"How many Pods serve" minimum:"0" maximum:"100" default:"2"`
	Image       string `json:"image" doc:"Listens on 8080 and needs no root" default:"nginxinc/nginx-unprivileged:1.29-alpine"`
	ServiceType string `json:"serviceType" doc:"How it is reached" enum:"ClusterIP,NodePort,LoadBalancer" default:"ClusterIP"`
}

type object = map[string]any

func main() { mistletoe.Run(generate) }

func generate(in inputs) (*mistletoe.Output, error) {
	return mistletoe.NewOutput().
		WithObject("deployment.yaml", deployment(in)).
		WithObject("service.yaml", service(in)), nil
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
