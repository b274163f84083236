"""These tests are there only where their packages are: `make test-foreign` installs them, `make test` passes them by."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("langchain_core") and find_spec("llama_index") else ["test_foreign_real.py"]
