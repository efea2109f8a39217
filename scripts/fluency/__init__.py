"""Agent Shell Fluency Eval.

Does a model write a working one-shot command more often in PowerShell 7 than in Bash?
"""

__version__ = "0.1.0"
