"""The kernel: the only maker of proofs. It is small, plain, and imports nothing of compiler, search or JAX.

`docs/proved.md` says what *proved* means, what is trusted, and what is not.
"""
