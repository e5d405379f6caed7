package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	flux "github.com/fluxcd/kustomize-controller/api/v1"
	source "github.com/fluxcd/source-controller/api/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubernetes "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Of Argo CD's types there are none: its module brings the whole of Kubernetes with it.
var untyped = map[string]bool{"argoproj.io/v1alpha1": true, "kustomize.config.k8s.io/v1beta1": true}

func types() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apps.AddToScheme, batch.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme,
		flux.AddToScheme, source.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// objects are the documents of a text, each decoded by its type without anything left over.
func objects(text []byte) (any, error) {
	scheme, err := types()
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	found := []map[string]any{}
	documents := kubernetes.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &object); err != nil {
			return nil, err
		}
		if len(object) == 0 {
			continue
		}
		if version, _ := object["apiVersion"].(string); !untyped[version] {
			if _, _, err := decoder.Decode(document, nil, nil); err != nil {
				return nil, fmt.Errorf("%v: %w", object["kind"], err)
			}
		}
		found = append(found, object)
	}
}
