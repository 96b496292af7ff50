package main

// load and run, with the checks that come before them.

import "time"

func doLoad(asked request, held *loaded) (any, error) {
	*held = nil
	if asked.Group != "g1" {
		return nil, unsupported("group %q: this peer has g1", asked.Group)
	}
	if asked.N == nil || *asked.N < 0 {
		return nil, usage("load needs n, at least 0")
	}
	started := time.Now()
	var err error
	switch asked.Curve {
	case "bn254":
		*held, err = load(bn254, asked)
	case "bls12-377":
		*held, err = load(bls12377, asked)
	case "bls12-381":
		*held, err = load(bls12381, asked)
	default:
		return nil, unsupported("curve %q", asked.Curve)
	}
	if err != nil {
		*held = nil
		return nil, err
	}
	return map[string]any{"ok": true, "ns": time.Since(started).Nanoseconds()}, nil
}

func doRun(asked request, held loaded) (any, error) {
	switch {
	case held == nil:
		return nil, usage("nothing is loaded")
	case asked.Path != "cpu":
		return nil, unsupported("path %q: this peer has cpu", asked.Path)
	case asked.Scope != "resident-bases" && asked.Scope != "end-to-end":
		return nil, unsupported("scope %q", asked.Scope)
	case len(asked.Options) > 0:
		return nil, unsupported("options: this peer has none")
	case asked.Repeats < 1 || asked.Warmups < 0:
		return nil, usage("repeats is at least 1, warmups at least 0")
	case asked.N != nil && (*asked.N < 0 || *asked.N > held.size()):
		return nil, usage("n is not within the %d terms loaded", held.size())
	}
	return measure(held, asked)
}
