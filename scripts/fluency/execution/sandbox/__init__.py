"""The sandbox: a command runs in a fresh container without network, as a user who may write nothing that matters."""
