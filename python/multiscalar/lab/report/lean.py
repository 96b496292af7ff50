"""The same picture in a third of the bytes: what matplotlib says over and over in an SVG is said once.

Inline SVGs share one document, so ids and classes bear the figure's salt. Linear in the text; written for matplotlib's
output and no other.
"""

from __future__ import annotations

import re

__all__ = ["lean"]


def lean(text: str, salt: str) -> str:
    """The SVG with its own short ids, one class per style, the page's font and coordinates of two decimals."""
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r"\s*\n\s*", " ", text)
    text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
    text = re.sub(r'font: [^;"]*?([\d.]+)px [^;"]*', r"font-size: \1px", text)  # matplotlib before 3.11
    text = re.sub(r" ?font-family: [^;\"]*;", "", text)
    text = re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
    text = text.replace("xlink:href=", "href=")
    for step in (_no_bare_groups, _one_path, _shared_styles):
        text = step(text)
    return _classes(_own_ids(text, salt), salt)


def _own_ids(text: str, salt: str) -> str:
    """Only ids that something refers to, numbered and prefixed so that figures do not collide in one document."""
    used = dict.fromkeys(re.findall(r'(?:href="|url\()#([\w-]+)', text))
    short = {name: f"{salt}-{i}" for i, name in enumerate(used)}

    def keep(match: re.Match[str]) -> str:
        return f' id="{short[match[1]]}"' if match[1] in short else ""

    text = re.sub(r'\s+id="([^"]*)"', keep, text)
    return re.sub(r'(href="|url\()#([\w-]+)', lambda match: f"{match[1]}#{short[match[2]]}", text)


def _no_bare_groups(text: str) -> str:
    """Groups without an attribute change nothing: they go, with the end tags that are theirs."""
    kept: list[bool] = []

    def tag(match: re.Match[str]) -> str:
        if match[0] == "</g>":
            return "</g>" if kept.pop() else ""
        kept.append(match[0] != "<g>")
        return match[0] if kept[-1] else ""

    return re.sub(r"<g(?: [^>]*)?>|</g>", tag, text)


def _one_path(text: str) -> str:
    """Opaque lines or bars of one style that follow each other, such as error bars, are one path of many parts."""
    line = r'<path d="[^"]*"(?P<rest> clip-path="[^"]*" style="(?![^"]*opacity)[^"]*"/>)'

    def joined(match: re.Match[str]) -> str:
        parts = (part.strip() for part in re.findall(r' d="([^"]*)"', match[0]))
        return f'<path d="{" ".join(parts)}"{match["rest"]}'

    return re.sub(rf'{line}(?:<path d="[^"]*"(?P=rest))+', joined, text)


def _shared_styles(text: str) -> str:
    """Markers of one series take their style from the group around them."""

    def lift(match: re.Match[str]) -> str:
        style = match["style"]
        return f'<g {match["clip"]} style="{style}">{match["uses"]}'.replace(f' style="{style}"/>', "/>")

    first = r'<use [^>]*?style="(?P<style>[^"]*)"/>'
    more = r'<use [^>]*?style="(?P=style)"/>'
    return re.sub(rf'<g (?P<clip>clip-path="[^"]*")>(?P<uses>{first}(?:{more})*)', lift, text)


def _classes(text: str, salt: str) -> str:
    """Each style once, as a class in the figure's own style sheet."""
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        return f'{match[1]}class="{names.setdefault(match[2], f"{salt}-c{len(names)}")}"'

    text = re.sub(r'(<[^<>]* )style="([^"]*)"', name, text)
    sheet = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return text.replace("</style>", f"{sheet}</style>", 1)
