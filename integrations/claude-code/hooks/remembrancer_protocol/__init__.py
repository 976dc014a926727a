"""Parts of the package's protocol, copied from it word for word, for hooks that run without the package."""
