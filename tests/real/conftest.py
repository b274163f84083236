"""These tests are there only where their packages are: `make test-real` installs them, `make test` passes them by."""

from importlib.util import find_spec

collect_ignore = (
    [] if find_spec("litellm") and find_spec("xllamacpp") else ["test_real_litellm.py", "test_real_llama_cpp.py"]
)
