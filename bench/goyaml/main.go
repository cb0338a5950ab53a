// goyaml measures sigs.k8s.io/yaml, which kubectl and Helm read and write YAML with: MB/s over one file.
//
//	goyaml FILE SECONDS
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"
)

func rate(size int, seconds float64, work func()) float64 {
	work()
	began, runs := time.Now(), 0
	for time.Since(began).Seconds() < seconds {
		work()
		runs++
	}
	return float64(size) * float64(runs) / time.Since(began).Seconds() / 1e6
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	if err != nil {
		panic(err)
	}
	var value any
	fmt.Printf("parse %.1f\n", rate(len(text), seconds, func() {
		if err := yaml.Unmarshal(text, &value); err != nil {
			panic(err)
		}
	}))
	fmt.Printf("print %.1f\n", rate(len(text), seconds, func() {
		if _, err := yaml.Marshal(value); err != nil {
			panic(err)
		}
	}))
}
