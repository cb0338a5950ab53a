// The package of the conformance table, in Go; its siblings are in the other languages.
package main

import (
	"errors"
	"fmt"
	"math"

	mistletoe "mistletoe.dev/sdk/go"
)

type port struct {
	Name string `json:"name" pattern:"^[a-z]+$"`
	Port int    `json:"port" minimum:"1" maximum:"65535"`
	// The host fills it in.
	Protocol string `json:"protocol" enum:"TCP,UDP" default:"TCP"`
}

type backend struct {
	Host string `json:"host"`
	Port int    `json:"port" minimum:"1" default:"5432"`
}

type inputs struct {
	Name     string            `json:"name" doc:"The name of the release"`
	Replicas int               `json:"replicas" minimum:"0" maximum:"100" default:"2"`
	Message  string            `json:"message" maxLength:"40" default:"hello"`
	Ports    []port            `json:"ports" default:"[{\"name\":\"http\",\"port\":80,\"protocol\":\"TCP\"}]"`
	Labels   map[string]string `json:"labels" default:"{}"`
	Level    string            `json:"level" enum:"low,high" default:"low"`
	Fail     string            `json:"fail" default:""`
	Call     bool              `json:"call" default:"false"`
	Backend  *backend          `json:"backend"`
	Values   any               `json:"values,omitempty"`
}

type object = map[string]any

func main() { mistletoe.Run(generate) }

func generate(in inputs) (*mistletoe.Output, error) {
	mistletoe.Infof("%s is rendered", in.Name)
	switch in.Fail {
	case "nan":
		return mistletoe.NewOutput().WithObject("x.yaml", object{"spec": object{"replicas": math.NaN()}}), nil
	case "yaml":
		content, err := mistletoe.ToYAML(object{"spec": object{"replicas": math.NaN()}})
		return mistletoe.NewOutput().WithFile("x.yaml", content), err
	case "infinity":
		return mistletoe.NewOutput().WithExports(object{"size": math.Inf(-1)}), nil
	}
	if err := failAsTold(in); err != nil {
		return nil, err
	}
	secret, err := secrets(in.Name)
	if err != nil {
		return nil, err
	}
	output := mistletoe.NewOutput().
		WithObject("web/deployment.yaml", deployment(in)).
		WithObject("web/service.yaml", service(in)).
		WithObject("secret.yaml", secret).
		WithObject("values.yaml", object{
			"apiVersion": "example.com/v1",
			"kind":       "Anything",
			"metadata":   object{"name": in.Name},
			"spec": object{
				"values": in.Values, "message": in.Message, "backend": in.Backend,
				"numbers": []float64{100000.0, 2.5, -0.00001, 1e-7, 1e20, 1e21},
			},
		}).
		After("Deployment/"+in.Name, "Secret/"+in.Name).
		WithMessage(fmt.Sprintf("Merry Christmas, %s ❄", in.Name)).
		WithExports(object{"host": in.Name, "ports": len(in.Ports)})
	if in.Call {
		called, err := mistletoe.Call("called", object{"size": in.Replicas})
		if err != nil {
			return nil, err
		}
		output.WithFilesFrom("called", called)
	}
	return output, nil
}

func failAsTold(in inputs) error {
	var err error
	switch in.Fail {
	case "":
	case "cause":
		err = fmt.Errorf("can't make the Service: %w", errors.New("no port"))
	case "secret":
		_, err = mistletoe.Password("not a name!")
	case "undeclared":
		_, err = mistletoe.Call("nobody", object{})
	case "called":
		_, err = mistletoe.Call("called", object{"size": -1})
	default:
		err = fmt.Errorf("it fails: %s", in.Fail)
	}
	return err
}

func deployment(in inputs) object {
	labels := object{"app": in.Name}
	return object{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   object{"name": in.Name, "labels": in.Labels, "annotations": object{"level": in.Level}},
		"spec": object{
			"replicas": in.Replicas,
			"selector": object{"matchLabels": labels},
			"template": object{
				"metadata": object{"labels": labels},
				"spec": object{"containers": []object{{
					"name":      "web",
					"image":     "registry.example/web:1.2",
					"args":      []string{"--port=80", "-v", "", "a: b", "yes", "0777", "1e3", "12:30:45"},
					"command":   []string{"sh", "-c", "set -e\nexec web\n"},
					"resources": object{"requests": object{"cpu": "250m", "memory": "64Mi"}, "limits": object{}},
					"env":       []object{},
				}}},
			},
		},
	}
}

func service(in inputs) object {
	return object{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   object{"name": in.Name},
		"spec":       object{"selector": object{"app": in.Name}, "ports": in.Ports},
	}
}

func secrets(name string) (object, error) {
	password, err1 := mistletoe.Password("db")
	pin, err2 := mistletoe.PasswordWith("pin", mistletoe.PasswordOptions{Length: 8, Alphabet: "0123456789", Require: []mistletoe.Class{mistletoe.Digit}})
	token, err3 := mistletoe.Hex("token", 40)
	salt, err4 := mistletoe.Base64("salt", 16)
	id, err5 := mistletoe.UUID("id")
	key, err6 := mistletoe.Ed25519("key")
	return object{
		"apiVersion": "v1",
		"kind":       "Secret",
		"metadata":   object{"name": name},
		"stringData": object{"password": password, "pin": pin, "token": token, "salt": salt, "id": id, "key": key.PrivateKey},
	}, errors.Join(err1, err2, err3, err4, err5, err6)
}
