//! Curves and their points.

