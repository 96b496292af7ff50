"""Sizes as users write them: `1025`, `2^10`, lists, ranges by octaves such as `2^8..2^18`, and presets."""

from __future__ import annotations

from ..settings import parse_size

__all__ = ["PRESETS", "parse_sizes", "size_text"]

PRESETS: dict[str, tuple[int, ...]] = {
    "small": (2**7,),
    "medium": (2**15,),
    "large": (2**20,),
    # The eight sizes around snarkVM's cutoff of 1,024 (first story).
    "boundary": (512, 1024, 1025, 2048, 4096, 8192, 16384, 65536),
}


def parse_sizes(text: str) -> list[int]:
    """Sizes in the order written, without repeats.

    Raises ValueError naming the part that is not understood; `a..b` doubles from a and always includes b.
    """
    sizes: list[int] = []
    for part in text.split(","):
        low, dots, high = part.strip().partition("..")
        sizes.extend(_octaves(_size(low), _size(high)) if dots else [_size(low)])
    return list(dict.fromkeys(sizes))


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except (ValueError, TypeError):
        raise ValueError(f"{text!r} is not a size; write 1025, 2^10, 2^10,2^16 or 2^8..2^18") from None


def _octaves(low: int, high: int) -> list[int]:
    if not 1 <= low <= high:
        raise ValueError(f"range {low}..{high} must rise from at least 1")
    sizes = []
    while low < high:
        sizes.append(low)
        low *= 2
    return [*sizes, high]


def size_text(n: int) -> str:
    """`2^k` for powers of two from 2^5 up, the grouped number otherwise."""
    return f"2^{n.bit_length() - 1}" if n >= 32 and n & (n - 1) == 0 else f"{n:,}"
