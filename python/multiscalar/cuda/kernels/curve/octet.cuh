// Point arithmetic by eight neighbouring lanes, for the tails of an MSM where latency counts and not throughput.
//
// A homogeneous point is spread over an octet: lane 0 holds X, lane 2 Y, lane 4 Z; what the other lanes hold is ignored.
// The complete formulas have two levels of independent products, so an addition or a doubling takes the time of two
// products and a few shuffles: about a fifth of what one lane needs. All 32 lanes of the warp must call together.
//
// Cost: 2M deep (6 and 6 products for an addition, 4 and 4 for a doubling).
// Source: Renes, Costello, Batina, eprint 2015/1060, algorithms 7 and 9 (a = 0). The doubling is regrouped so that each
// lane needs one small multiple: with s = Y^2, t = Z^2, Y3 = (s - 9bt)(s + 3bt) + 24b s t = (s + 9bt)^2 - 108 b^2 t^2.

constexpr u32 WARP = 0xffffffffu;

static __device__ __forceinline__ u32 lane_id() { return threadIdx.x & 31; }
static __device__ __forceinline__ int octet_lane() { return threadIdx.x & 7; }

// A table of eight small numbers, indexed by lane: four bits each, lane 0 lowest.
static __device__ __forceinline__ int by_lane(u32 table) { return int(table >> (4 * octet_lane()) & 15u); }

static __device__ __forceinline__ Fe fe_from_lane(const Fe& a, int lane) {
    Fe r;
    shuffle_words<curve::N>(r.v, a.v, lane, 8);
    return r;
}

static __device__ __forceinline__ Fe octet_infinity() { return octet_lane() == 2 ? fe_one() : fe_zero(); }

// Octets whose sum came out as (0, 0, 0) add by the chord, see `projective_add_chord`; the others keep r.
static __device__ __forceinline__ Fe octet_repair(const Fe& r, const Fe& p, const Fe& q) {
    u32 zeros = __ballot_sync(WARP, is_zero(r));
    u32 coordinates = 0x15u << (lane_id() & 24);  // lanes 0, 2, 4 of this octet
    bool failed = (zeros & coordinates) == coordinates;
    if (!__any_sync(WARP, failed)) return r;
    Projective sum = {fe_from_lane(p, 0), fe_from_lane(p, 2), fe_from_lane(p, 4)};
    Projective other = {fe_from_lane(q, 0), fe_from_lane(q, 2), fe_from_lane(q, 4)};
    if (failed) projective_add_chord(sum, other);
    int lane = octet_lane();
    return fe_select(failed, lane == 0 ? sum.x : lane == 2 ? sum.y : sum.z, r);
}

static __device__ __forceinline__ Fe octet_add(const Fe& p, const Fe& q) {
    int lane = octet_lane();
    // Level 1: XX, YY, ZZ, (X+Y)(X+Y), (Y+Z)(Y+Z), (X+Z)(X+Z) in lanes 0 to 5.
    bool sum = lane >= 3;
    int left = by_lane(0x00020420), right = by_lane(0x00442000);
    Fe a = fe_from_lane(p, left), b = fe_from_lane(q, left);
    a = fe_select(sum, add(a, fe_from_lane(p, right)), a);
    b = fe_select(sum, add(b, fe_from_lane(q, right)), b);
    Fe t = mul(a, b);
    // xy, yz, xz in lanes 3 to 5.
    Fe cross = add(fe_from_lane(t, by_lane(0x00010000)), fe_from_lane(t, by_lane(0x00221000)));
    t = fe_select(sum, sub(t, cross), t);
    // 3xx, yy, 3b zz, xy, yz, 3b xz.
    bool times_b = lane == 2 || lane == 5;
    Fe multiple = mul_small(t, lane == 0 ? 3 : curve::B3);
    if (curve::B_NEGATIVE) multiple = fe_select(times_b, sub(fe_zero(), multiple), multiple);
    t = fe_select(times_b || lane == 0, multiple, t);
    // yy - 3b zz in lane 1, yy + 3b zz in lane 2.
    Fe other = fe_from_lane(t, by_lane(0x00000120));
    t = fe_select(lane == 1, sub(t, other), fe_select(lane == 2, add(t, other), t));
    // Level 2: X = xy minus - yz xz', Y = plus minus + xx3 xz', Z = yz plus + xx3 xy.
    Fe product = mul(fe_from_lane(t, by_lane(0x00040243)), fe_from_lane(t, by_lane(0x00325151)));
    other = fe_from_lane(product, lane ^ 1);
    Fe r = fe_select(lane == 0, sub(product, other), add(product, other));
    return curve::HAS_ORDER_TWO ? octet_repair(r, p, q) : r;
}

static __device__ __forceinline__ Fe octet_double(const Fe& p) {
    int lane = octet_lane();
    // Level 1: s = YY, t = ZZ, XY, YZ in lanes 0 to 3.
    Fe product = mul(fe_from_lane(p, by_lane(0x00002042)), fe_from_lane(p, by_lane(0x00004242)));
    Fe s = fe_from_lane(product, 0), t = fe_from_lane(product, 1), xy = fe_from_lane(product, 2);
    Fe nine = mul_small(t, curve::B9);
    if (curve::B_NEGATIVE) nine = sub(fe_zero(), nine);
    // Level 2: XY (s - 9bt), (s + 9bt)^2, t^2, s YZ.
    Fe plus_or_minus = fe_select(lane == 0, sub(s, nine), add(s, nine));
    Fe a = fe_select(lane == 0, xy, fe_select(lane == 1, plus_or_minus, fe_select(lane == 2, t, s)));
    Fe b = fe_select(lane <= 1, plus_or_minus, fe_select(lane == 2, t, product));
    Fe q = mul(a, b);
    u32 factor = lane == 0 ? 2 : lane == 2 ? curve::B108_FIRST : lane == 3 ? 8 : 1;
    q = mul_small(q, factor);
    if (curve::B108_SECOND != 1) q = mul_small(q, lane == 2 ? curve::B108_SECOND : 1);
    Fe r = fe_from_lane(q, by_lane(0x00030100));
    return fe_select(lane == 2, sub(r, q), r);
}

// Loads: one coordinate a lane.
static __device__ __forceinline__ Fe octet_load_projective(const u32* address) {
    int lane = octet_lane();
    return lane < 6 && (lane & 1) == 0 ? load_fe(address + (lane >> 1) * curve::N) : fe_zero();
}

static __device__ __forceinline__ void octet_store_projective(u32* address, const Fe& p) {
    int lane = octet_lane();
    if (lane < 6 && (lane & 1) == 0) store_fe(address + (lane >> 1) * curve::N, p);
}

// (X ZZZ, Y ZZ, ZZ ZZZ), one product deep; ZZ = 0 gives (0, 1, 0).
static __device__ __forceinline__ Fe octet_load_xyzz(const u32* address) {
    int lane = octet_lane();
    if (lane >= 6 || (lane & 1)) return fe_zero();
    Fe a = load_fe(address + (lane >> 1) * curve::N), b = load_fe(address + (lane == 2 ? 2 : 3) * curve::N);
    Fe r = mul(a, b);
    return lane == 2 && fe_bits(b) == 0 ? fe_one() : r;
}

// Two neighbouring points at once, each infinity unless it is `there`: the first in lanes 0, 2, 4, the second one lane above.
static __device__ __forceinline__ Fe octet_load_two_xyzz(const u32* address, bool first_there, bool second_there) {
    int lane = octet_lane(), axis = lane >> 1;
    if (lane >= 6 || !(lane & 1 ? second_there : first_there)) return axis == 1 ? fe_one() : fe_zero();
    const u32* point = address + (lane & 1) * (4 * curve::N);
    Fe a = load_fe(point + axis * curve::N), b = load_fe(point + (axis == 1 ? 2 : 3) * curve::N);
    Fe r = mul(a, b);
    return axis == 1 && fe_bits(b) == 0 ? fe_one() : r;
}

// (X Z, Y Z^2, Z^2, Z^3), with Z = 0 mod p stored as the plain zero that marks infinity. All lanes of the warp call;
// only octets with `active` store.
static __device__ __forceinline__ void octet_store_xyzz(u32* address, const Fe& p, bool active) {
    int lane = octet_lane();
    Fe z = fe_from_lane(p, 4);
    if (is_zero(z)) z = fe_zero();
    Fe first = mul(lane == 0 ? p : z, z);                             // XZ in lane 0, ZZ elsewhere
    Fe second = mul(lane == 2 ? p : z, fe_from_lane(first, 2));       // Y ZZ in lane 2, ZZZ elsewhere
    if (!active) return;
    if (lane == 0) store_fe(address, first);
    if (lane == 2) store_fe(address + curve::N, second), store_fe(address + 2 * curve::N, first);
    if (lane == 4) store_fe(address + 3 * curve::N, second);
}
