package main

import (
	"context"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// argoHealth runs a script in gopher-lua as Argo CD does: without libraries that reach files or programs, the object in
// the global obj, a table with status and message as the answer.
func argoHealth(script, file string) (any, error) {
	object := map[string]any{}
	if err := read(file, &object); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	state.SetGlobal("obj", inLua(state, object))
	if err := state.DoString(string(text)); err != nil {
		return nil, err
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("the script returns no table")
	}
	return map[string]string{
		"status":  lua.LVAsString(answer.RawGetString("status")),
		"message": lua.LVAsString(answer.RawGetString("message")),
	}, nil
}

func inLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(inLua(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, inLua(state, item))
		}
		return table
	}
	return lua.LNil
}

// fluxHealth evaluates expressions as Flux's kustomize-controller does.
func fluxHealth(rules, file string) (any, error) {
	expressions := kustomize.HealthCheckExpressions{}
	if err := read(rules, &expressions); err != nil {
		return nil, err
	}
	object := map[string]any{}
	if err := read(file, &object); err != nil {
		return nil, err
	}
	evaluator, err := cel.NewStatusEvaluator(&expressions)
	if err != nil {
		return nil, err
	}
	found, err := evaluator.Evaluate(context.Background(), &unstructured.Unstructured{Object: object})
	if err != nil {
		return nil, err
	}
	return map[string]string{"status": found.Status.String()}, nil
}
