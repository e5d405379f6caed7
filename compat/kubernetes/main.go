// Command kubernetes judges what examples/serve gives to Kubernetes, with the code of the programs that would read it.
//
//	kubernetes lint CHART [VALUES]      Helm's lint: its messages
//	kubernetes render CHART [VALUES]    Helm's templates: the objects
//	kubernetes build DIRECTORY          Kustomize's build: the objects
//	kubernetes objects FILE             the objects of a file
//	kubernetes argo-health SCRIPT FILE  Argo CD's health of an object, by a script in Lua
//	kubernetes flux-health RULES FILE   Flux's health of an object, by the healthCheckExprs of a Kustomization
//
// VALUES is a file in YAML. Each answer is JSON on standard output; what is wrong is said on standard error, with
// status 1. Objects are decoded by the types of Kubernetes itself, Flux and the Prometheus operator: a field that they do
// not have is wrong.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	answer, err := judge(os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(words []string) (any, error) {
	words = append(words, "", "", "")
	verb, first, second := words[0], words[1], words[2]
	switch verb {
	case "lint":
		return lintChart(first, second)
	case "render":
		return renderChart(first, second)
	case "build":
		return buildDirectory(first)
	case "objects":
		text, err := os.ReadFile(first)
		if err != nil {
			return nil, err
		}
		return objects(text)
	case "argo-health":
		return argoHealth(first, second)
	case "flux-health":
		return fluxHealth(first, second)
	}
	return nil, fmt.Errorf("there is no %q", verb)
}
