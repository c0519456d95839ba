"""Models of other tools (CRFsuite, Wapiti, CRF++), read and written."""
