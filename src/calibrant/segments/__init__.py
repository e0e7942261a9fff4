"""Parts of the rows: by named columns."""
