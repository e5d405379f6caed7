package main

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	release   = "watch"
	namespace = "kafka"
)

func values(file string) (map[string]any, error) {
	found := map[string]any{}
	if file == "" {
		return found, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return found, yaml.Unmarshal(text, &found)
}

// lintChart is `helm lint`.
func lintChart(directory, file string) (any, error) {
	given, err := values(file)
	if err != nil {
		return nil, err
	}
	messages := []string{}
	for _, message := range lint.All(directory, given, namespace, true).Messages {
		messages = append(messages, message.Error())
	}
	return messages, nil
}

// renderChart is `helm template`: values are checked against the chart's schema, and notes are left out.
func renderChart(directory, file string) (any, error) {
	given, err := values(file)
	if err != nil {
		return nil, err
	}
	chart, err := loader.Load(directory)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range files {
		if ext := filepath.Ext(name); ext == ".yaml" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	text := strings.Builder{}
	for _, name := range names {
		text.WriteString("\n---\n" + files[name])
	}
	return objects([]byte(text.String()))
}

// buildDirectory is `kustomize build`, which Argo CD and Flux run.
func buildDirectory(directory string) (any, error) {
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, err
	}
	text, err := found.AsYaml()
	if err != nil {
		return nil, err
	}
	return objects(text)
}
