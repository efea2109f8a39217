"""Programs for those who work on this project."""

import signal
import sys

if sys.argv[0] == "-m":  # Ctrl-C during the imports that follow would show a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
