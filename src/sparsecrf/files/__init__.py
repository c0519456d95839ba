"""Files: text in pieces, the formats of data, containers of arrays, files that are whole or not there."""
