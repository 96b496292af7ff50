// Command gnark is the peer of gnark-crypto: MultiExp on G1, in the peer protocol on stdin and stdout.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

const library = "github.com/consensys/gnark-crypto"

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	out := json.NewEncoder(os.Stdout)
	var held loaded
	for lines.Scan() {
		asked, err := parse(lines.Bytes())
		if err != nil {
			err = usage("not a request: %v", err)
		}
		var answer any
		if err == nil {
			answer, err = guarded(asked, &held)
		}
		if err != nil {
			answer = map[string]any{"error": described(err)}
		}
		if out.Encode(answer) != nil || asked.Do == "bye" {
			return
		}
	}
}

func described(err error) failure {
	if known, ok := err.(failure); ok {
		return known
	}
	return failure{"library", err.Error()}
}

// guarded turns a panic of the library into an answer.
func guarded(asked request, held *loaded) (answer any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = failure{"panic", fmt.Sprint(panicked)}
		}
	}()
	switch asked.Do {
	case "hello":
		return hello(), nil
	case "load":
		return doLoad(asked, held)
	case "run":
		return doRun(asked, *held)
	case "bye":
		return map[string]any{"ok": true}, nil
	}
	return nil, usage("unknown request %q", asked.Do)
}

func hello() map[string]any {
	return map[string]any{
		"ok": true, "name": "gnark", "version": version(),
		"curves": []string{"bn254", "bls12-377", "bls12-381"}, "groups": []string{"g1"},
		"devices": []string{"cpu"}, "paths": []string{"cpu"},
		"scopes": []string{"resident-bases", "end-to-end"}, "options": []string{},
		"timed": "G1Affine.MultiExp with NbTasks = threads over []G1Affine and []fr.Element, to an affine point; " +
			"n = 1: G1Affine.ScalarMultiplication of a big.Int",
	}
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == library {
				return module.Version
			}
		}
	}
	return "unknown"
}
