"""The embedded model: a real language model on this machine, behind the chat wire like any other.

It needs no key and costs nothing. `weights` fetches the model's file and trusts only its hash, `server`
runs llama.cpp's own server with it on loopback for as long as the run lasts.
"""
