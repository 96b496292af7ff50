package main

// Raw operand files: scalars u64[n, 4], points u64[n, 2, L], little-endian limbs, affine, (0, 0) for infinity.

import (
	"encoding/binary"
	"io"
	"os"
)

const scalarLimbs = 4

// words reads the first n*each little-endian 64-bit words of a file.
func words(path string, n, each int) ([]uint64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, badData("%v", err)
	}
	defer file.Close()
	raw := make([]byte, n*each*8)
	if _, err := io.ReadFull(file, raw); err != nil {
		return nil, badData("%s: n = %d needs %d bytes: %v", path, n, len(raw), err)
	}
	limbs := make([]uint64, n*each)
	for i := range limbs {
		limbs[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return limbs, nil
}

// bigEndian writes limbs, least significant first, as the big-endian bytes that gnark-crypto reads.
func bigEndian(out []byte, limbs []uint64) {
	last := len(limbs) - 1
	for i, limb := range limbs {
		binary.BigEndian.PutUint64(out[8*(last-i):], limb)
	}
}

func isZero(limbs []uint64) bool {
	for _, limb := range limbs {
		if limb != 0 {
			return false
		}
	}
	return true
}
