"""The embedded model: a real language model on this machine, behind the same Messages API as any other.

It needs no key and costs nothing. `weights` fetches the model's file and trusts only its hash, `server`
runs it behind POST /v1/messages on loopback for as long as the run lasts.
"""
