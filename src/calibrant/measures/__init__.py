"""How far: one file per family, one function per measure, what proves it beside it."""
