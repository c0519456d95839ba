"""Files: text in pieces, data formats, containers of arrays, atomic writes."""
