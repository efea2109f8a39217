"""Find one-shot shell requests in a user's own agent transcripts, and draft tasks from them.

Everything happens on this machine: files are read, a folder is written, nothing is sent anywhere.
"""
