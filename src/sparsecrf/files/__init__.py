"""Files: reading text in pieces, data formats, containers of arrays, and atomic writes."""
