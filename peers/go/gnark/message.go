package main

// The messages of the peer protocol: one JSON object a line (docs/peers/protocol.md).

import (
	"encoding/json"
	"fmt"
)

// request is any request; Do says which fields count.
type request struct {
	Do         string         `json:"do"`
	Curve      string         `json:"curve"`
	Group      string         `json:"group"`
	N          *int           `json:"n"`
	Points     string         `json:"points"`
	Scalars    string         `json:"scalars"`
	Form       string         `json:"form"`
	ScalarForm string         `json:"scalar_form"`
	Path       string         `json:"path"`
	Scope      string         `json:"scope"`
	Warmups    int            `json:"warmups"`
	Repeats    int            `json:"repeats"`
	Threads    int            `json:"threads"`
	Options    map[string]any `json:"options"`
}

// parse reads a request over the protocol's defaults.
func parse(line []byte) (request, error) {
	asked := request{
		Group: "g1", Form: "canonical", ScalarForm: "canonical",
		Path: "cpu", Scope: "resident-bases", Repeats: 1, Threads: 1,
	}
	err := json.Unmarshal(line, &asked)
	return asked, err
}

// failure is an answer of the form {"error": {"kind", "message"}}.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (f failure) Error() string { return f.Message }

func usage(format string, args ...any) error {
	return failure{"usage", fmt.Sprintf(format, args...)}
}

func unsupported(format string, args ...any) error {
	return failure{"unsupported", fmt.Sprintf(format, args...)}
}

func badData(format string, args ...any) error {
	return failure{"data", fmt.Sprintf(format, args...)}
}

// sample holds both clocks of one call, in nanoseconds; CPU time is that of the whole process.
type sample struct {
	WallNs int64 `json:"wall_ns"`
	CPUNs  int64 `json:"cpu_ns"`
}

// affine is a sum: canonical coordinates in hex.
type affine struct {
	X          string `json:"x"`
	Y          string `json:"y"`
	IsInfinity bool   `json:"is_infinity"`
}

// outcome answers run.
type outcome struct {
	OK       bool           `json:"ok"`
	Samples  []sample       `json:"samples"`
	Result   affine         `json:"result"`
	Agree    bool           `json:"agree"`
	Where    string         `json:"where"`
	Evidence map[string]any `json:"evidence"`
}
