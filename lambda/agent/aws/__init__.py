"""The signed call: a small client for the four AWS services that the function uses, and for other servers over HTTP."""
