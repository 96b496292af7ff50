package main

import (
	"math/big"

	curvebn254 "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// bn254 binds gnark-crypto's bn254 to the peer.
var bn254 = curve[curvebn254.G1Affine, fr.Element]{
	limbs: fp.Limbs,
	point: func(x, y []uint64, form string) (point curvebn254.G1Affine, err error) {
		if form == "montgomery" {
			copy(point.X[:], x)
			copy(point.Y[:], y)
			return point, nil
		}
		var raw [fp.Bytes]byte
		bigEndian(raw[:], x)
		if err = point.X.SetBytesCanonical(raw[:]); err != nil {
			return point, err
		}
		bigEndian(raw[:], y)
		return point, point.Y.SetBytesCanonical(raw[:])
	},
	scalar: func(limbs []uint64, form string) (scalar fr.Element, whole *big.Int, err error) {
		if form == "montgomery" {
			copy(scalar[:], limbs)
		} else {
			var raw [fr.Bytes]byte
			bigEndian(raw[:], limbs)
			err = scalar.SetBytesCanonical(raw[:])
		}
		return scalar, scalar.BigInt(new(big.Int)), err
	},
	hex: func(point *curvebn254.G1Affine) affine {
		return affine{X: "0x" + point.X.Text(16), Y: "0x" + point.Y.Text(16)}
	},
}
