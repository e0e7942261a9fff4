"""The papers' tables and figures, computed again: one module a paper, each says how it compares."""
