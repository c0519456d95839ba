"""Imported first by workers that this process starts. Ctrl-C reaches every process of a terminal; workers ignore it,
because the calling process still needs them to evaluate the best weights."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
