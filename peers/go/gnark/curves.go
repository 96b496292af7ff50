package main

// The library's curves, and the one way in which its types are filled from limbs and read as text.

import (
	"encoding/hex"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	curve377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	fp377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fp"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	curve381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fp381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	curve254 "github.com/consensys/gnark-crypto/ecc/bn254"
	fp254 "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

var (
	bn254 = curve[curve254.G1Affine, fp254.Element, fr254.Element]{
		limbs: fp254.Limbs, coordinates: func(p *curve254.G1Affine) (x, y *fp254.Element) { return &p.X, &p.Y },
	}
	bls12377 = curve[curve377.G1Affine, fp377.Element, fr377.Element]{
		limbs: fp377.Limbs, coordinates: func(p *curve377.G1Affine) (x, y *fp377.Element) { return &p.X, &p.Y },
	}
	bls12381 = curve[curve381.G1Affine, fp381.Element, fr381.Element]{
		limbs: fp381.Limbs, coordinates: func(p *curve381.G1Affine) (x, y *fp381.Element) { return &p.X, &p.Y },
	}
)

// curve is a library curve: A its G1Affine, F the coordinates in it, E its scalars. Generics do not reach into fields.
type curve[A, F, E any] struct {
	limbs       int
	coordinates func(point *A) (x, y *F)
}

// affinePoint is what every G1Affine of gnark-crypto offers.
type affinePoint[A, E any] interface {
	*A
	MultiExp(points []A, scalars []E, config ecc.MultiExpConfig) (*A, error)
	ScalarMultiplication(point *A, scalar *big.Int) *A
	Equal(other *A) bool
	IsInfinity() bool
	Marshal() []byte
}

// limbs is how gnark-crypto lays its elements out, in Montgomery form.
type limbs interface{ ~[4]uint64 | ~[6]uint64 }

// element is what every element of gnark-crypto's fields offers.
type element[F limbs] interface {
	*F
	SetBytesCanonical(bigEndian []byte) error
	BigInt(into *big.Int) *big.Int
}

// fill reads an element from its limbs. `scratch` keeps the bytes off the heap's bill: one buffer serves all elements.
func fill[F limbs, P element[F]](into P, from []uint64, form string, scratch []byte) error {
	if form == "montgomery" {
		for i, limb := range from {
			(*into)[i] = limb
		}
		return nil
	}
	raw := scratch[:8*len(from)]
	bigEndian(raw, from)
	return into.SetBytesCanonical(raw)
}

// text is an affine point as the protocol has it; Marshal writes the coordinates one after the other.
func text(marshalled []byte) affine {
	half := len(marshalled) / 2
	return affine{X: "0x" + hex.EncodeToString(marshalled[:half]), Y: "0x" + hex.EncodeToString(marshalled[half:])}
}
