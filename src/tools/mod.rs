//! Other programs as values: what is asked of them, and what they print.
