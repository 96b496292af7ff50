package main

// One workload in gnark-crypto's own form, generic over the curve, and how a sample of it is taken.

import (
	"math/big"
	"os"
	"runtime"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"golang.org/x/sys/unix"
)

// loaded is a workload whose curve is no longer a type parameter.
type loaded interface {
	size() int
	sample(scope string, n, threads int) (sample, any, error)
	same(a, b any) bool
	affine(sum any) affine
}

type workload[A any, F, E limbs, P affinePoint[A, E], PF element[F], PE element[E]] struct {
	curve                curve[A, F, E]
	rawPoints, rawScalar []uint64
	form, scalarForm     string
	points               []A
	scalars              []E
	integers             []*big.Int // of the first scalar only: the n = 1 call takes no field element
}

// load reads both files and converts them.
func load[A any, F, E limbs, P affinePoint[A, E], PF element[F], PE element[E]](
	c curve[A, F, E], asked request,
) (loaded, error) {
	n := *asked.N
	points, err := words(asked.Points, n, 2*c.limbs)
	if err != nil {
		return nil, err
	}
	scalars, err := words(asked.Scalars, n, scalarLimbs)
	if err != nil {
		return nil, err
	}
	w := &workload[A, F, E, P, PF, PE]{
		curve: c, rawPoints: points, rawScalar: scalars, form: asked.Form, scalarForm: asked.ScalarForm,
	}
	w.points, w.scalars, w.integers, err = w.convert()
	return w, err
}

func (w *workload[A, F, E, P, PF, PE]) convert() ([]A, []E, []*big.Int, error) {
	n, limbs := len(w.rawScalar)/scalarLimbs, w.curve.limbs
	points, scalars, integers := make([]A, n), make([]E, n), make([]*big.Int, min(n, 1))
	scratch := make([]byte, 8*max(limbs, scalarLimbs))
	for i := range n {
		x := w.rawPoints[2*limbs*i : 2*limbs*i+limbs]
		y := w.rawPoints[2*limbs*i+limbs : 2*limbs*(i+1)]
		if !isZero(x) || !isZero(y) { // gnark-crypto's zero value (0, 0) is infinity as well
			intoX, intoY := w.curve.coordinates(&points[i])
			err := fill[F, PF](intoX, x, w.form, scratch)
			if err == nil {
				err = fill[F, PF](intoY, y, w.form, scratch)
			}
			if err != nil {
				return nil, nil, nil, badData("point %d: %v", i, err)
			}
		}
		if err := fill[E, PE](&scalars[i], w.rawScalar[scalarLimbs*i:scalarLimbs*(i+1)], w.scalarForm, scratch); err != nil {
			return nil, nil, nil, badData("scalar %d: %v", i, err)
		}
	}
	if n > 0 {
		integers[0] = PE(&scalars[0]).BigInt(new(big.Int))
	}
	return points, scalars, integers, nil
}

func (w *workload[A, F, E, P, PF, PE]) size() int { return len(w.points) }

// sample times one call. One term: ScalarMultiplication (GLV); otherwise MultiExp with NbTasks = threads.
func (w *workload[A, F, E, P, PF, PE]) sample(scope string, n, threads int) (sample, any, error) {
	sum := P(new(A))
	points, scalars, integers := w.points, w.scalars, w.integers
	wall, cpu := time.Now(), cpuTime()
	var err error
	if scope == "end-to-end" {
		points, scalars, integers, err = w.convert()
	}
	if err == nil {
		if n == 1 {
			sum.ScalarMultiplication(&points[0], integers[0])
		} else {
			_, err = sum.MultiExp(points[:n], scalars[:n], ecc.MultiExpConfig{NbTasks: threads})
		}
	}
	taken := sample{CPUNs: cpuTime() - cpu, WallNs: time.Since(wall).Nanoseconds()}
	if err != nil {
		return sample{}, nil, err
	}
	return taken, sum, nil
}

func (w *workload[A, F, E, P, PF, PE]) same(a, b any) bool { return a.(P).Equal((*A)(b.(P))) }

func (w *workload[A, F, E, P, PF, PE]) affine(sum any) affine {
	point := sum.(P)
	if point.IsInfinity() {
		return affine{X: "0x0", Y: "0x0", IsInfinity: true}
	}
	return text(point.Marshal())
}

// cpuTime is the CPU time of the whole process, garbage collector included, in nanoseconds.
func cpuTime() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return now.Nano()
}

// measure takes warm-ups and samples of the first n terms.
func measure(w loaded, asked request) (outcome, error) {
	n, threads := w.size(), asked.Threads
	if asked.N != nil {
		n = *asked.N
	}
	if threads <= 0 {
		threads = runtime.NumCPU()
	}
	if asked.Scope == "end-to-end" && n != w.size() {
		return outcome{}, usage("end-to-end samples cover the whole load: load the prefix itself")
	}
	runtime.GOMAXPROCS(threads)
	answer := outcome{OK: true, Agree: true, Where: "cpu", Samples: []sample{}, Evidence: map[string]any{
		"pid": os.Getpid(), "threads_asked": threads,
	}}
	var first any
	for turn := range asked.Warmups + asked.Repeats {
		taken, sum := sample{}, any(nil)
		if n > 0 {
			var err error
			if taken, sum, err = w.sample(asked.Scope, n, threads); err != nil {
				return outcome{}, err
			}
			if first == nil {
				first = sum
			}
			answer.Agree = answer.Agree && w.same(first, sum)
		}
		if turn >= asked.Warmups {
			answer.Samples = append(answer.Samples, taken)
		}
	}
	answer.Result = affine{X: "0x0", Y: "0x0", IsInfinity: true}
	if first != nil {
		answer.Result = w.affine(first)
	}
	return answer, nil
}
