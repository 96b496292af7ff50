"""One emitter per language: a `Curve` in, the text of a generated file out."""
