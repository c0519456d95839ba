"""The first module that local workers import. Ctrl-C reaches every process of a terminal. Workers ignore it, because
the calling process still needs them to evaluate the best weights."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
