//! Byte encodings: the libraries' own bytes both ways, every format round, hostile bytes, and the subgroup check.

use multiscalar_core::codec::{CodecError, Format, decode, encode, point_size};
use multiscalar_core::curve::{Affine, CurveParams, tables};
use multiscalar_core::field::{Field, Limbs, PrimeField};
use multiscalar_core::msm::{Check, Engines, first_outside_subgroup};

trait Curve: CurveParams<Field: PrimeField + Engines> {}
impl<C: CurveParams<Field: PrimeField + Engines>> Curve for C {}

/// The formats and forms that a curve has.
fn forms<C: Curve>() -> impl Iterator<Item = (Format, bool)> {
    let pairs = Format::ALL.into_iter().flat_map(|format| [(format, false), (format, true)]);
    pairs.filter(|&(format, compressed)| point_size::<C>(format, compressed).is_ok())
}

fn multiple<C: Curve>(k: i64) -> Affine<C> {
    multiple_of(&Affine::GENERATOR, k)
}

fn multiple_of<C: Curve>(point: &Affine<C>, k: i64) -> Affine<C> {
    let product = point.mul_limbs(&[k.unsigned_abs()]).to_affine();
    if k < 0 { -product } else { product }
}

/// snarkVM's generator of BLS12-377, which is not arkworks'.
fn snarkvm_generator<C: Curve>() -> Affine<C> {
    let compressed = "66db6f1030f91f0f1824381daad6321c43739c828b3d8d69f75711a97a2d524c3d54201c61a85ca1b3835901b6a29400";
    decode(Format::SnarkVm, true, &bytes_of(compressed), Check::Subgroup, None).unwrap()[0]
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// The libraries' bytes decode to the right point and are what we write.
fn foreign_bytes<C: Curve>() {
    let mut seen = 0;
    for line in include_str!("../data/encodings.txt").lines().filter(|line| line.starts_with(&format!("{} ", C::NAME)))
    {
        let [_, format, form, k, hex] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (format, compressed) = (Format::from_name(format).unwrap(), form == "compressed");
        let (k, bytes) = (k.parse().unwrap(), bytes_of(hex));
        let point =
            if format == Format::SnarkVm { multiple_of(&snarkvm_generator::<C>(), k) } else { multiple::<C>(k) };
        assert_eq!(decode(format, compressed, &bytes, Check::Subgroup, None), Ok(vec![point]), "{line}");
        assert_eq!(encode(format, compressed, &[point]).unwrap(), bytes, "{line}");
        seen += 1;
    }
    assert!(seen >= 12);
}

fn round_trips<C: Curve>() {
    let points: Vec<_> = (-20..20).map(multiple::<C>).collect();
    for (format, compressed) in forms::<C>() {
        let bytes = encode(format, compressed, &points).unwrap();
        assert_eq!(bytes.len(), points.len() * point_size::<C>(format, compressed).unwrap());
        assert_eq!(decode(format, compressed, &bytes, Check::Curve, None).unwrap(), points, "{format:?} {compressed}");
        assert_eq!(decode::<C>(format, compressed, &[], Check::Curve, None), Ok(vec![]));
        let length = decode::<C>(format, compressed, &bytes[1..], Check::Curve, None);
        assert!(matches!(length, Err(CodecError::Length { .. })));
    }
}

/// Several blocks, on several threads; a flag that is up ends the call.
fn many_points<C: Curve>() {
    let points: Vec<_> = (0..1500).map(|i| multiple::<C>(i % 7)).collect();
    let (format, compressed) = (Format::Gnark, true);
    let mut bytes = encode(format, compressed, &points).unwrap();
    assert_eq!(decode(format, compressed, &bytes, Check::Curve, None).unwrap(), points);
    let stop = core::sync::atomic::AtomicBool::new(true);
    assert_eq!(decode::<C>(format, compressed, &bytes, Check::Curve, Some(&stop)), Err(CodecError::Cancelled));
    let size = bytes.len() / points.len();
    for index in [1400, 600, 1] {
        bytes[index * size..(index + 1) * size].fill(0xff);
        let error = decode::<C>(format, compressed, &bytes, Check::Curve, None).unwrap_err();
        assert!(error.to_string().contains(&format!("point {index} ")), "{error}");
    }
}

/// Every byte of an encoding changed in several ways: what is still accepted encodes to just those bytes.
fn accepted_bytes_are_canonical<C: Curve>() {
    for (format, compressed) in forms::<C>() {
        for point in [multiple::<C>(3), -multiple::<C>(3), Affine::INFINITY] {
            let bytes = encode(format, compressed, &[point]).unwrap();
            for at in 0..bytes.len() {
                for change in [1u8, 0x20, 0x40, 0x80, 0xc0] {
                    let mut changed = bytes.clone();
                    changed[at] ^= change;
                    if let Ok(points) = decode::<C>(format, compressed, &changed, Check::Curve, None) {
                        assert_eq!(encode(format, compressed, &points).unwrap(), changed, "{format:?} {compressed}");
                        assert_ne!(points, vec![point]);
                    }
                }
            }
        }
    }
}

/// Random bytes never panic, and nothing that is accepted is off the curve.
fn noise<C: Curve>() {
    let mut state = 0x1234_5678_9abc_def1u64;
    for (format, compressed) in forms::<C>() {
        let size = point_size::<C>(format, compressed).unwrap();
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..size)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state as u8
                })
                .collect();
            if let Ok(points) = decode::<C>(format, compressed, &bytes, Check::Curve, None) {
                assert!(points[0].is_on_curve());
            }
        }
    }
}

/// The index in an error is that of the first bad point.
fn first_bad_point<C: Curve>() {
    let points: Vec<_> = (1..10).map(multiple::<C>).collect();
    for (format, compressed) in forms::<C>() {
        let size = point_size::<C>(format, compressed).unwrap();
        let mut bytes = encode(format, compressed, &points).unwrap();
        let mut bad = encode(format, compressed, &[points[0]]).unwrap();
        let zcash = format == Format::Arkworks && C::CODECS.contains(&"zcash");
        let little = matches!(format, Format::Arkworks | Format::SnarkVm | Format::Icicle) && !zcash;
        // x = p, the first integer that is no coordinate, under the same flags.
        let mut modulus: Vec<u8> = C::Field::MODULUS.as_ref().iter().flat_map(|limb| limb.to_le_bytes()).collect();
        if !little {
            modulus.reverse();
        }
        let start = bad.len() % modulus.len();
        let flags = if C::Field::BITS % 64 > 61 { 0xc0 } else { 0xe0 };
        let top = if little { modulus.len() - 1 } else { 0 };
        modulus[top] |= bad[start + top] & flags;
        bad[start..start + modulus.len()].copy_from_slice(&modulus);
        for index in [7, 4] {
            bytes[index * size..(index + 1) * size].copy_from_slice(&bad);
        }
        let error = decode::<C>(format, compressed, &bytes, Check::Curve, None).unwrap_err();
        assert_eq!(error, CodecError::Coordinate { index: 4 }, "{format:?} {compressed}");
    }
}

macro_rules! every_curve {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            foreign_bytes::<tables::$name::G1>();
            round_trips::<tables::$name::G1>();
            accepted_bytes_are_canonical::<tables::$name::G1>();
            noise::<tables::$name::G1>();
            first_bad_point::<tables::$name::G1>();
            many_points::<tables::$name::G1>();
        }
    )*};
}

every_curve!(bn254, bls12_377, bls12_381);

/// Known answers that need no other library: the generator in the form everybody quotes, and infinity's spellings.
#[test]
fn quoted_encodings() {
    use tables::bls12_381::G1;
    let generator = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb";
    let bytes = bytes_of(generator);
    assert_eq!(decode::<G1>(Format::Zcash, true, &bytes, Check::Subgroup, None), Ok(vec![Affine::GENERATOR]));
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    assert!(decode::<G1>(Format::Zcash, true, &reversed, Check::Curve, None).is_err());
    let mut infinity = [0; 48];
    assert!(decode::<G1>(Format::Zcash, true, &infinity, Check::Curve, None).is_err());
    infinity[0] = 0xc0;
    assert_eq!(decode::<G1>(Format::Zcash, true, &infinity, Check::Curve, None), Ok(vec![Affine::INFINITY]));
    infinity[47] = 1;
    assert_eq!(
        decode::<G1>(Format::Zcash, true, &infinity, Check::Curve, None),
        Err(CodecError::Infinity { index: 0 })
    );
}

/// Bytes of one format read as another: refused, or at least never the same point.
#[test]
fn formats_are_not_confused() {
    use tables::bls12_377::G1;
    let point = multiple::<G1>(5);
    for (written, compressed) in forms::<G1>() {
        let bytes = encode(written, compressed, &[point]).unwrap();
        for (read, form) in forms::<G1>().filter(|&(read, form)| form == compressed && read != written) {
            let same_bytes = encode(read, form, &[point]).unwrap() == bytes;
            let decoded = decode::<G1>(read, form, &bytes, Check::Subgroup, None);
            assert_eq!(decoded == Ok(vec![point]), same_bytes, "{written:?} as {read:?}");
        }
    }
    let unsupported = decode::<G1>(Format::Zcash, true, &[], Check::Curve, None).unwrap_err();
    assert_eq!(unsupported.to_string(), "the compressed form of zcash is not defined for bls12-377");
    assert!(matches!(point_size::<G1>(Format::Icicle, true), Err(CodecError::Unsupported { .. })));
}

/// Points of the curve with small x, most of them outside the subgroup, and multiples of the generator.
fn subgroup<C: Curve>() {
    let roots = multiscalar_core::field::SquareRoot::<C::Field>::new();
    let small = |value: u64| {
        let mut limbs = <C::Field as Field>::Limbs::ZERO;
        limbs.as_mut()[0] = value;
        C::Field::from_canonical(limbs).unwrap()
    };
    let with_x = |x: C::Field| roots.sqrt(x.square() * x + C::B).map(|y| Affine::<C> { x, y });
    let strays: Vec<_> = (0..24).map(small).filter_map(with_x).collect();
    assert!(strays.len() > 5);
    for stray in &strays {
        let expected = if stray.mul_limbs(C::Scalar::MODULUS.as_ref()).is_infinity() { None } else { Some(0) };
        assert_eq!(first_outside_subgroup(core::slice::from_ref(stray), 1), expected);
    }
    let cofactor_cleared: Vec<_> = strays.iter().map(|stray| stray.mul_limbs(C::COFACTOR).to_affine()).collect();
    let mut points: Vec<_> =
        (-3..700).map(multiple::<C>).chain(cofactor_cleared).chain((1..700).map(multiple::<C>)).collect();
    assert_eq!(first_outside_subgroup(&points, 2), None);
    let outside = strays.iter().find(|stray| !stray.is_in_subgroup()).unwrap();
    for index in [1300, 1024, 1023, 0] {
        points[index] = *outside;
        assert_eq!(first_outside_subgroup(&points, 2), Some(index));
    }
}

#[test]
fn subgroup_of_bls_curves() {
    subgroup::<tables::bls12_377::G1>();
    subgroup::<tables::bls12_381::G1>();
}
